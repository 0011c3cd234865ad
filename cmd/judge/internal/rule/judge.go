package rule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hydrant/cmd/judge/internal/decide"
	"hydrant/formats"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// Exit statuses of a verdict; the table of docs/validity.md.
const (
	exitValid        = 0
	exitFail         = 1
	exitInvalid      = 4
	exitInconclusive = 5
)

// Judge evaluates every check and decides every objective, then draws the verdict. An
// error means that there is nothing to judge: a header that cannot be read, or a
// schedule that is not the one of the run.
func Judge(in Input) (*verdict.Verdict, error) {
	s, err := newState(in)
	if err != nil {
		return nil, err
	}
	if err := s.samePlan(); err != nil {
		return nil, err
	}
	checks := s.checks()
	v := &verdict.Verdict{
		Format: verdict.Format, Version: verdict.Version, Build: in.Options.Build,
		Options: verdict.Options{Limits: Limits, Short: in.Options.Short, AcceptUnproven: in.Options.AcceptUnproven,
			Evidence: cmp.Or(in.Options.Evidence, tier1), Directional: in.Options.Directional, Changed: changed(in.Options.Limits)},
		Checks: checks, KClient: s.kClient(), KServer: s.kServer(), Calibration: s.calibration(),
	}
	v.Tier, v.TierNote = s.tier()
	v.Harness, v.Unproven = harness(checks, in.Options.AcceptUnproven)
	s.facts(v)
	for i := range s.decisions {
		v.Objectives = append(v.Objectives, s.objective(i))
	}
	v.Goodput = s.goodput()
	v.SLO, v.Cause = s.conclude(checks)
	v.Claim = "slo"
	if len(s.Set) == 0 {
		v.Claim = "none"
	}
	if v.Harness == verdict.Invalid {
		v.AFortiori = s.aFortiori(v)
		v.Cause = firstCause(checks, s.asap)
	}
	if d3 := s.check("D3"); d3.Status == verdict.Bad && !isUnproven(d3) {
		unstable(v)
	}
	v.Exit = exit(v)
	v.Headline = headline(v)
	return v, nil
}

// samePlan refuses a schedule that the run was not made from: whatever was said of
// such a pair would be about neither.
func (s *state) samePlan() error {
	if s.Plan == nil {
		return nil
	}
	for _, d := range s.details {
		if len(d.ScheduleSHA256) > 0 && !slices.Equal(d.ScheduleSHA256, s.Plan.SHA256) {
			return &formats.SyntaxError{Place: s.Plan.Place, What: "schedule hash", Got: strings.Join(s.Plan.SHA256, " "),
				Want: "what the run recorded, " + strings.Join(d.ScheduleSHA256, " "),
				Help: "judge with the schedule that the run was made from"}
		}
	}
	return nil
}

// checks evaluates the whole table.
func (s *state) checks() []verdict.Check {
	var out []verdict.Check
	for _, c := range Checks() {
		out = append(out, s.check(c.ID))
	}
	return out
}

// check evaluates one check, once: some rest on others.
func (s *state) check(id string) verdict.Check {
	if r, ok := s.done[id]; ok {
		return r
	}
	c := s.table[id]
	f := newFinding(c, s.byHand)
	c.judge(s, f)
	r := f.conclude()
	if r.Required && r.Status == verdict.Unknown && !s.Options.AcceptUnproven {
		r.Status, r.Reason = verdict.Bad, unproven+r.Reason
	}
	s.done[id] = r
	return r
}

// unproven begins the reason of a required check that is BAD for want of evidence.
const unproven = "unproven: "

func isUnproven(c verdict.Check) bool {
	return c.Status == verdict.Bad && strings.HasPrefix(c.Reason, unproven)
}

// harness judges the generator: a BAD check of the groups A, B or C makes it INVALID.
func harness(checks []verdict.Check, accept bool) (string, []string) {
	result, missing := verdict.Valid, []string(nil)
	for _, c := range checks {
		if c.Status == verdict.Bad && c.ID[0] != 'D' {
			result = verdict.Invalid
		}
		if accept && c.Required && c.Status == verdict.Unknown {
			missing = append(missing, c.ID)
		}
	}
	return result, missing
}

// conclude draws the SLO statement by the order of docs/validity.md: the window, the
// backlog, the rest of group D, then the objectives.
func (s *state) conclude(checks []verdict.Check) (string, *verdict.Cause) {
	if len(s.Set) == 0 {
		return verdict.None, nil
	}
	get := func(id string) verdict.Check {
		return checks[slices.IndexFunc(checks, func(c verdict.Check) bool { return c.ID == id })]
	}
	d1, d3 := get("D1"), get("D3")
	bad := func(c verdict.Check) bool { return c.Status == verdict.Bad }
	window := len(d1.Terms) > 0 && d1.Terms[0].Status == verdict.Bad
	switch {
	case window:
		return verdict.Inconclusive, cause(d1)
	case bad(d3) && !isUnproven(d3):
		return verdict.Fail, &verdict.Cause{Check: "D3", Text: "unstable: the backlog grew, so percentiles grow with the length of the run",
			Hint: "lower the rate"}
	}
	for _, id := range []string{"D1", "D2", "D3", "D6"} {
		if c := get(id); bad(c) {
			return verdict.Inconclusive, cause(c)
		}
	}
	result := decide.Overall(s.decisions)
	for _, d := range s.decisions {
		if d.Result == result && result != decide.Pass {
			return result, s.missed(d)
		}
	}
	return result, nil
}

// missed explains an objective that did not pass.
func (s *state) missed(d decide.Decision) *verdict.Cause {
	c := &verdict.Cause{Check: d.Objective.ID()}
	name := spoken(d.Objective)
	switch {
	case d.Result == decide.Inconclusive:
		c.Text = name + " undecided: " + d.Reason
		c.Hint = "run longer with the same plan"
		if !d.Decided && d.Objective.Kind != slo.Rate {
			c.Hint = "measure what the objective needs, or leave it out"
		}
	case d.Objective.Kind == slo.Rate:
		c.Text = fmt.Sprintf("%s missed: %.4g/s ± %.2g", name, d.Rate.Mean, d.Rate.MarginFail)
	default:
		c.Text = name + " missed: "
		if d.Quantile.Valid {
			c.Text += Figure(float64(d.Quantile.V), nanoseconds)
		} else if d.Infinite {
			c.Text += "the rank falls on a failed request"
		} else {
			c.Text += fmt.Sprintf("%d of %d", d.Misses, d.N)
		}
		if x := s.scalar("sent_rps"); x.Value != nil {
			c.Text += fmt.Sprintf(" at %.3g req/s", *x.Value)
		}
		c.Text += fmt.Sprintf(" (%.3g %% of requests over, %.3g %% allowed)", 100*float64(d.Misses)/float64(d.N), 100*slo.Round(1-d.Objective.P))
	}
	return c
}

// spoken is an objective as a headline says it: "ttft p90 ≤ 500ms".
func spoken(o slo.Objective) string {
	return strings.NewReplacer("<=", " ≤ ", ">=", " ≥ ", "):", ") ", ":", " ").Replace(o.Text)
}

// exit is the status of the verdict.
func exit(v *verdict.Verdict) int {
	switch {
	case v.Harness == verdict.Invalid && v.Options.Directional && v.AFortiori != nil && v.AFortiori.SLO == verdict.Pass:
		return exitValid
	case v.Harness == verdict.Invalid && v.Options.Directional && v.AFortiori != nil:
		return exitFail
	case v.Harness == verdict.Invalid:
		return exitInvalid
	case v.SLO == verdict.Fail:
		return exitFail
	case v.SLO == verdict.Inconclusive:
		return exitInconclusive
	}
	return exitValid
}

// causal orders the checks by what causes what, so that the first BAD one is named.
// Headroom is a margin: faults that were observed come before it. A cap that delayed
// rows makes them late as well, so B6 comes before B2 then. Under --timing asap requests
// come when answers go, so a client that is slow to read is slow to send: B1 comes after
// C7.
var causal = [...]string{"A1", "A2", "A3", "A4", "C4", "C3", "C5", "C2", "B2", "B3", "B4", "B6", "B1", "C6", "C7", "C1", "C8"}

// firstCause names the earliest BAD check in causal order; those that are BAD for
// want of evidence only when nothing was observed to be wrong.
func firstCause(checks []verdict.Check, asap bool) *verdict.Cause {
	var missing []string
	order := append(slices.Clone(causal[:]), "C11") // C11 only counts where --evidence asks for it
	if asap {
		order = slices.DeleteFunc(order, func(id string) bool { return id == "B1" })
		order = slices.Insert(order, slices.Index(order, "C7")+1, "B1")
	}
	for _, id := range order {
		if t := capTerm(checks); id == "B2" && t != nil {
			return &verdict.Cause{Check: "B6", Text: "a cap (--concurrency, --sessions) delayed requests in " + Figure(*t.Value, t.Unit) + " seconds",
				Hint: "raise the cap or lower the rate; where the cap is meant, a closed loop is --closed N"}
		}
		for _, c := range checks {
			if c.ID != id || c.Status != verdict.Bad {
				continue
			}
			if !isUnproven(c) {
				return cause(c)
			}
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	for _, c := range checks {
		if c.ID == "C1" && isUnproven(c) {
			return &verdict.Cause{Check: "C1", Text: "unproven headroom: " + strings.TrimPrefix(c.Reason, unproven) + " (no evidence for " + strings.Join(missing, " ") + ")",
				Hint: "run replay with --calibrate on the same host; --accept-unproven judges without and says so in the first line"}
		}
	}
	return &verdict.Cause{Check: missing[0], Text: "the generator is unproven: no evidence for " + strings.Join(missing, " "),
		Hint: "--accept-unproven judges without it and says so in the first line"}
}

// capTerm returns the term of B6 that says that a cap delayed rows, nil when none did.
func capTerm(checks []verdict.Check) *verdict.Term {
	for _, c := range checks {
		for i := range c.Terms {
			if t := &c.Terms[i]; t.Limit == "B6.cap" && t.Status == verdict.Bad {
				return t
			}
		}
	}
	return nil
}

// cause explains a BAD check by its worst term.
func cause(c verdict.Check) *verdict.Cause {
	out := &verdict.Cause{Check: c.ID, Text: c.Title}
	for _, t := range Checks() {
		if t.ID == c.ID && t.Fault != "" {
			out.Text, out.Hint = t.Fault, t.Hint
		}
	}
	if isUnproven(c) {
		out.Text = c.ID + " (" + c.Title + ") is " + c.Reason
		out.Hint = "--accept-unproven judges without it and says so in the first line"
		return out
	}
	for _, t := range c.Terms {
		if t.Status == verdict.Bad {
			out.Text += ": " + t.Name + " " + Figure(*t.Value, t.Unit) + " (limit " + Figure(*t.Bound, t.Unit) + ")"
			if t.Evidence != "" {
				out.Text += ", " + t.Evidence
			}
			break
		}
	}
	return out
}

// headline is the first line of the report.
func headline(v *verdict.Verdict) string {
	line := v.Harness
	if v.Options.Directional && v.AFortiori != nil {
		line += " · a fortiori " + v.AFortiori.SLO
	}
	if v.Harness == verdict.Valid {
		if len(v.Unproven) > 0 {
			line += " (unproven: " + strings.Join(v.Unproven, " ") + ")"
		}
		if v.SLO != verdict.None {
			line += " · " + v.SLO
		}
		if v.Options.Short {
			line += " · not publishable"
		}
	}
	return line
}

func changed(limits []Override) []verdict.Change {
	var out []verdict.Change
	for _, o := range limits {
		c := verdict.Change{Limit: o.ID, Unit: o.Unit, Value: o.Value}
		if !math.IsNaN(o.Was) {
			c.Default = &o.Was
		}
		out = append(out, c)
	}
	return out
}
