package report

import (
	"fmt"
	"io"
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
)

// Options say how a page is written.
type Options struct {
	Colour bool
}

// Write writes the report of v. The last line is for scripts and keeps its form.
func Write(w io.Writer, v *verdict.Verdict, o Options) error {
	p := &page{colour: o.Colour}
	p.head(v)
	p.blank()
	p.generator(v)
	p.blank()
	p.server(v)
	p.blank()
	p.checks(v)
	p.blank()
	p.latencies(v)
	p.gpus(v)
	p.blank()
	p.wrap("Not measured", body, strings.Join(v.NotMeasured, " · "))
	for _, n := range v.Notes {
		p.wrap("Note", body, n)
	}
	if len(v.Options.Changed) > 0 {
		p.wrap("Limits changed", body, changes(v.Options.Changed))
	}
	p.blank()
	p.wrap("", 0, origin(v))
	p.line(last(v))
	return p.flush(w)
}

// body is the column at which explanations start.
const body = 20

// head says the verdict, then why, then what to do next.
func (p *page) head(v *verdict.Verdict) {
	if v.Cause == nil {
		p.line(p.paint(v.Headline))
		return
	}
	text := v.Cause.Text
	if v.Cause.Check[0] != 'E' && !strings.Contains(text, v.Cause.Check) {
		text = v.Cause.Check + ": " + text
	}
	var first page
	first.wrap(v.Headline, body, text)
	line, rest, _ := strings.Cut(first.b.String(), "\n")
	p.line(p.paint(line))
	p.b.WriteString(rest)
	if v.Cause.Hint != "" {
		p.wrap("", body, sentence(v.Cause.Hint))
	}
}

// sentence ends a hint with a full stop and starts it with a capital, unless it
// starts with a flag.
func sentence(s string) string {
	if s[0] >= 'a' && s[0] <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s + "."
}

// generator says what was delivered and what it cost the client.
func (p *page) generator(v *verdict.Verdict) {
	title := "The generator delivered the plan"
	if v.Harness == verdict.Invalid {
		title = "What the generator did"
	}
	p.line(pad(title, 44) + "(evidence " + v.Tier + ": no calibration judged)")
	var all []string
	for _, o := range v.Outcomes {
		if o.N > 0 {
			all = append(all, glue(o.Name+" "+rule.Grouped(o.N)))
		}
	}
	p.wrap("", 2, glue(rule.Grouped(v.Run.Planned)+" requests planned")+": "+strings.Join(all, " · "))
	var facts []string
	for _, f := range []struct{ limit, words string }{{"B1.share", "sent"}, {"B2.p99", "lag p99"}, {"B3.windows", "windows short"}, {"B4.low", "burst ratio from"}} {
		if t := term(v, f.limit); t != nil && t.Value != nil {
			s := f.words + " " + rule.Figure(*t.Value, t.Unit)
			if t.Bound != nil {
				s += " (" + limit(*t) + ")"
			}
			facts = append(facts, glue(s))
		}
	}
	if len(facts) > 0 {
		p.wrap("", 2, strings.Join(facts, " · "))
	}
	if n := number(v, "window_min"); n != nil && n.Value != nil && *n.Value < 1 {
		p.wrap("", 2, strings.TrimSuffix("worst window "+glue(rule.Digits(*n.Value)+" of plan")+", "+n.Evidence, ", "))
	}
	p.wrap("", 2, "client "+clientCost(v))
	if load := clientLoad(v); load != "" {
		p.wrap("", 2, load)
	}
}

// term returns a number of a check by the id of its limit.
func term(v *verdict.Verdict, id string) *verdict.Term {
	for i := range v.Checks {
		for j := range v.Checks[i].Terms {
			if t := &v.Checks[i].Terms[j]; t.Limit == id {
				return t
			}
		}
	}
	return nil
}

// checks writes one line per check that was judged, and one for the rest.
func (p *page) checks(v *verdict.Verdict) {
	p.line("Checks")
	var unjudged []string
	for _, c := range v.Checks {
		if len(c.Terms) == 0 {
			unjudged = append(unjudged, c.ID)
			continue
		}
		p.check(c)
	}
	if len(unjudged) > 0 {
		p.wrap("  –   "+pad(verdict.Unknown, 9), 15, strings.Join(unjudged, " ")+": not judged in this version")
	}
}

// clientCost is the arithmetic by which a slow client caps the number.
func clientCost(v *verdict.Verdict) string {
	per, ceiling := number(v, "cpu_per_event"), number(v, "event_ceiling")
	if per == nil || per.Value == nil {
		reason := "the summary does not say"
		if per != nil {
			reason = per.Reason
		}
		return "CPU per token event not measured (" + reason + ")"
	}
	s := glue(rule.Span(*per.Value)) + " of CPU per token event"
	if ceiling != nil && ceiling.Value != nil {
		s += ", which caps it at " + glue(rule.Digits(*ceiling.Value)+" events/s")
		if n := number(v, "request_ceiling"); n != nil && n.Value != nil {
			s += " or " + glue(rule.Digits(*n.Value)+" req/s")
		}
	}
	return s
}

// clientLoad is what else is known of the client; no check judges it yet.
func clientLoad(v *verdict.Verdict) string {
	var parts []string
	for _, x := range []struct{ id, words string }{{"cpu_share", "CPU p95 %s of the busiest worker"}, {"wait_per_slice", "waits %s for a CPU at a time"},
		{"run_wait_ratio", "waits %s s for each second it runs"}} {
		if n := number(v, x.id); n != nil && n.Value != nil {
			parts = append(parts, glue(fmt.Sprintf(x.words, rule.Figure(*n.Value, n.Unit))))
		}
	}
	return strings.Join(parts, " · ")
}

func number(v *verdict.Verdict, id string) *verdict.Number {
	for i := range v.Numbers {
		if v.Numbers[i].ID == id {
			return &v.Numbers[i]
		}
	}
	return nil
}

// check writes one check: id, status, what it asks, its numbers with their limits.
func (p *page) check(c verdict.Check) {
	var parts []string
	for _, t := range c.Terms {
		if t.Value == nil || t.Status == verdict.OK && t.Unit == "count" && t.Bound != nil && *t.Bound <= 1 {
			continue // a count that has to be nothing and is nothing
		}
		s := t.Name + " " + glue(rule.Figure(*t.Value, t.Unit))
		if t.Bound != nil {
			s += fixed + glue("("+limit(t)+")")
		}
		if t.Evidence != "" && (t.Status == verdict.Bad || t.Status == verdict.Warn) {
			s += " at " + t.Evidence
		}
		parts = append(parts, s)
	}
	text := c.Title
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	switch {
	case c.Reason != "":
		text += " – " + c.Reason
	case c.Evidence != "":
		text += " – " + c.Evidence
	}
	p.wrap("  "+pad(c.ID, 4)+pad(c.Status, 9), 15, text)
}

func limit(t verdict.Term) string {
	sign := map[string]string{"<=": "≤", ">=": "≥"}[t.Op]
	return sign + " " + rule.Figure(*t.Bound, t.Unit)
}

func changes(all []verdict.Change) string {
	var out []string
	for _, c := range all {
		s := c.Limit + " " + glue(rule.Figure(c.Value, c.Unit))
		if c.Default != nil {
			s += glue(" (was " + rule.Figure(*c.Default, c.Unit) + ")")
		}
		out = append(out, s)
	}
	return strings.Join(out, " · ")
}

// origin says what was judged and what is needed to run it again.
func origin(v *verdict.Verdict) string {
	var parts []string
	add := func(s string) { parts = append(parts, glue(s)) }
	for _, in := range v.Inputs {
		add(strings.TrimSpace(in.Name + " " + digest(in.SHA256)))
	}
	r := v.Run
	for _, h := range r.ScheduleSHA256 {
		add("schedule " + digest(h))
	}
	add(fmt.Sprintf("seed %d", r.Seed))
	add("timing " + r.Timing)
	add(r.Endpoint + " of " + r.Model)
	for _, t := range r.Target {
		add(t)
	}
	add(fmt.Sprintf("%d workers on %d CPUs of %s", r.Workers, r.CPUs, r.Host))
	for _, l := range r.Labels {
		add(l)
	}
	for _, l := range r.Injected {
		add("injected " + l)
	}
	if r.Build != "" {
		add("replay by " + r.Build)
	}
	add("judge limits " + v.Options.Limits)
	return strings.Join(parts, " · ")
}

func digest(sha string) string {
	if len(sha) > 8 {
		return sha[:8]
	}
	return sha
}

// last is the line for scripts.
func last(v *verdict.Verdict) string {
	return fmt.Sprintf("HARNESS=%s TIER=%s SLO=%s CLAIM=%s", v.Harness, v.Tier, v.SLO, v.Claim)
}
