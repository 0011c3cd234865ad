package report

import (
	"fmt"
	"slices"
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
)

// tier says what the evidence is worth and why it is not worth more.
func tier(v *verdict.Verdict) string {
	if v.TierNote == "" {
		return "(evidence " + v.Tier + ")"
	}
	return "(evidence " + v.Tier + ": " + v.TierNote + ")"
}

// generatorFacts are the lines about the client: what it delivered, what it had to
// spare, what it cost, how near it was to its own limits.
func generatorFacts(v *verdict.Verdict) []string {
	facts := []string{planned(v)}
	add := func(s string) {
		if s != "" {
			facts = append(facts, s)
		}
	}
	add(strings.Join(figures(v, delivered[:]), " · "))
	if n := number(v, "window_min"); n != nil && n.Value != nil && *n.Value < 1 {
		add(strings.TrimSuffix("worst window "+glue(rule.Digits(*n.Value)+" of plan")+", "+n.Evidence, ", "))
	}
	if spare := figures(v, resources[:]); len(spare) > 0 {
		add("client " + strings.Join(spare, " · "))
	}
	add("client " + clientCost(v))
	if s := clientShare(v); s != "" {
		add(s)
	}
	for _, i := range v.Run.Injected {
		add("slowed on purpose: " + i + " per token event")
	}
	add(calibration(v.Calibration))
	add(index("K_client", v.KClient) + " · " + index("K_server", v.KServer))
	return facts
}

// planned counts the plan and what became of it.
func planned(v *verdict.Verdict) string {
	var all []string
	for _, o := range v.Outcomes {
		if o.N > 0 {
			all = append(all, glue(o.Name+" "+rule.Grouped(o.N)))
		}
	}
	return glue(rule.Grouped(v.Run.Planned)+" requests planned") + ": " + strings.Join(all, " · ")
}

// shown is a number of the client in words. It is that of a check's term where the
// check has one, with its limit, and else that of the summary.
type shown struct {
	limit, number, words string
}

var delivered = [...]shown{
	{"B1.share", "sent_share", "sent"},
	{"B2.p99", "", "lag p99"},
	{"B2.max", "", "largest lag"},
	{"B3.windows", "", "windows short"},
	{"B4.low", "", "burst ratio from"},
	{"B4.high", "", "to"},
}

var resources = [...]shown{
	{"C2.cpu", "cpu_share", "CPU p95 of the busiest worker"},
	{"C2.host", "host_cpu_share", "of the host"},
	{"C3.slice", "wait_per_slice", "wait for a CPU"},
	{"C6.kappa", "kappa", "segments a read"},
	{"C7.p99", "recv_delay_p99", "read delay p99"},
	{"C1.headroom", "headroom", "headroom"},
}

func figures(v *verdict.Verdict, all []shown) []string {
	var out []string
	for _, f := range all {
		switch t, n := term(v, f.limit), number(v, f.number); {
		case t != nil && t.Value != nil && t.Bound != nil:
			out = append(out, f.words+" "+glue(rule.Figure(*t.Value, t.Unit)+" ("+limit(*t)+")"))
		case t != nil && t.Value != nil:
			out = append(out, f.words+" "+glue(rule.Figure(*t.Value, t.Unit)))
		case n != nil && n.Value != nil:
			out = append(out, f.words+" "+glue(rule.Figure(*n.Value, n.Unit)))
		}
	}
	return out
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

func number(v *verdict.Verdict, id string) *verdict.Number {
	i := slices.IndexFunc(v.Numbers, func(n verdict.Number) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return &v.Numbers[i]
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

// clientShare is the client's own part of the slowest answers.
func clientShare(v *verdict.Verdict) string {
	var parts []string
	for _, level := range []string{"p50", "p90", "p99"} {
		if n := number(v, "client_share_"+level); n != nil && n.Value != nil {
			parts = append(parts, glue(rule.Figure(*n.Value, "share")+" at "+level))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the client's own part of TTFT: " + strings.Join(parts, ", ")
}

// calibration says what the generator can do on this host.
func calibration(c *verdict.Calibration) string {
	if c == nil {
		return "calibration: none"
	}
	if c.Reason != "" && len(c.Headrooms) == 0 {
		return "calibration " + c.Status + ": " + c.Reason
	}
	s := "calibration " + c.Status
	if c.AgeNS.Valid {
		s += " " + glue(rule.Span(float64(c.AgeNS.V))+" before the run")
	}
	s += " on " + glue(c.Host) + " with " + glue(fmt.Sprintf("%d workers", c.Workers)) + ": "
	var parts []string
	for _, h := range c.Headrooms {
		switch {
		case h.Ceiling == nil:
			parts = append(parts, h.Rate+" no ceiling ("+h.Reason+")")
		case h.Ratio == nil:
			parts = append(parts, glue(h.Rate+" "+rule.Digits(*h.Ceiling)+"/s")+" ("+h.Reason+")")
		default:
			parts = append(parts, glue(h.Rate+" "+rule.Digits(*h.Ceiling)+"/s")+", "+glue(rule.Digits(*h.Ratio)+" x offered"))
		}
	}
	return s + strings.Join(parts, " · ")
}

// index is an index with the parts that it is the largest of.
func index(name string, i verdict.Index) string {
	if i.Value == nil {
		reason := i.Reason
		if reason == "" {
			reason = "nothing to make it from"
		}
		return name + " not measured (" + reason + ")"
	}
	var parts []string
	for _, p := range i.Parts {
		if p.Value != nil {
			parts = append(parts, glue(p.ID+" "+rule.Digits(*p.Value)))
		} else {
			parts = append(parts, glue(p.ID+" –"))
		}
	}
	s := glue(name + " " + rule.Digits(*i.Value))
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	if i.Reason != "" {
		s += ", " + i.Reason
	}
	return s
}
