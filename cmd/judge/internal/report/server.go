package report

import (
	"fmt"
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats"
	"hydrant/formats/verdict"
)

// server says what became of each objective.
func (p *page) server(v *verdict.Verdict) {
	p.line("The server")
	if len(v.Objectives) == 0 {
		p.line("  no objective was given (--slo)")
	}
	for _, o := range v.Objectives {
		p.objective(o)
	}
	for _, fact := range serverFacts(v) {
		p.wrap("", 2, fact)
	}
}

// serverFacts are the rates and shares that the server reached.
func serverFacts(v *verdict.Verdict) []string {
	var facts []string
	if g := v.Goodput; g != nil && g.Attainment != nil {
		limits := "ok"
		if len(g.Limits) > 0 {
			limits = strings.Join(g.Limits, ", ")
		}
		text := fmt.Sprintf("goodput (%s) %s of planned", limits, glue(rule.Figure(*g.Attainment, "share")))
		if g.Rate != nil {
			text += " · " + glue(rule.Digits(*g.Rate)+" req/s")
		}
		facts = append(facts, text)
	}
	var rates []string
	for _, r := range []struct{ id, unit string }{{"sent_rps", "req/s sent"}, {"ok_rps", "req/s ok"}, {"in_tps", "input tok/s"}, {"out_tps", "output tok/s"}} {
		if n := number(v, r.id); n != nil && n.Value != nil {
			rates = append(rates, glue(rule.Digits(*n.Value)+" "+r.unit))
		}
	}
	if len(rates) > 0 {
		facts = append(facts, strings.Join(rates, " · ")+" over "+glue(rule.Span(float64(v.Window.ToNS-v.Window.FromNS))))
	}
	if n := number(v, "failure_share"); n != nil && n.Value != nil {
		facts = append(facts, glue(rule.Figure(*n.Value, "share"))+" of the planned requests of the window failed")
	}
	return facts
}

// objective writes one objective: what it is, its result, then what it rests on.
func (p *page) objective(o verdict.Objective) {
	p.wrap("  "+spoken(o)+"  ", 30, strings.Join(append([]string{o.Result}, evidence(o)...), " · "))
	if s := outlook(o); s != "" {
		p.wrap("", 30, s)
	}
}

// spoken is an objective as people say it: "ttft p90 ≤ 500ms".
func spoken(o verdict.Objective) string {
	return strings.NewReplacer("<=", " ≤ ", ">=", " ≥ ", "):", ") ", ":", " ").Replace(o.Text)
}

// evidence lists what the decision rests on.
func evidence(o verdict.Objective) []string {
	var text []string
	add := func(s string) { text = append(text, glue(s)) }
	switch {
	case o.Rate != nil && o.Rate.Mean != nil:
		add(fmt.Sprintf("%s/s ± %s", rule.Digits(*o.Rate.Mean), rule.Digits(*o.Rate.StdErr)))
		add(fmt.Sprintf("%d batches", o.Rate.Batches))
	case o.Neff != nil:
		if o.Kind == "quantile" {
			add(quantile(o.Value, o.Infinite) + interval(o.Low, o.High))
		}
		add(fmt.Sprintf("%s of %s over", rule.Grouped(o.Misses), rule.Grouped(o.N)))
		add("n_eff " + rule.Digits(*o.Neff))
		if o.Tau != nil {
			add("tau " + rule.Digits(*o.Tau))
		}
	}
	for _, s := range o.OtherSides {
		side := s.Side + " side " + s.Result
		if o.Kind == "quantile" {
			side += " " + quantile(s.Value, s.Infinite)
		}
		add(side)
	}
	if i := o.Invariance; i != nil {
		if i.User == i.Other {
			add("user and " + i.Side + " agree")
		} else {
			text = append(text, "user "+i.User+", "+i.Side+" "+i.Other+": "+i.Text)
		}
	}
	if i := o.Independent; i != nil && i.Result != o.Result {
		add("(" + i.Result + " assuming independence)")
	}
	if o.LeftOut > 0 {
		add(rule.Grouped(o.LeftOut) + " left out")
	}
	if o.Unmeasured > 0 {
		add(rule.Grouped(o.Unmeasured) + " without a value")
	}
	return text
}

// outlook says why an objective is undecided and what would decide it.
func outlook(o verdict.Objective) string {
	s := o.Reason
	if o.Result == verdict.Inconclusive && o.ProjectedN.Valid {
		if s != "" {
			s += "; "
		}
		s += "would pass at about " + glue(rule.Grouped(o.ProjectedN.V)+" requests") + " like these"
		if o.Independent != nil && o.Independent.ProjectedN.Valid && o.Independent.ProjectedN != o.ProjectedN {
			s += fmt.Sprintf(" (%s assuming independence)", rule.Grouped(o.Independent.ProjectedN.V))
		}
	}
	return s
}

func quantile(v formats.Int, infinite bool) string {
	switch {
	case infinite:
		return "a failure"
	case !v.Valid:
		return "–"
	}
	return rule.Span(float64(v.V))
}

// interval prints the 95 % interval of a quantile.
func interval(low, high formats.Int) string {
	switch {
	case !low.Valid:
		return " (no interval)"
	case !high.Valid:
		return " (" + rule.Span(float64(low.V)) + " or more)"
	}
	return " (" + rule.Span(float64(low.V)) + "–" + rule.Span(float64(high.V)) + ")"
}

// gpus writes what each device did in the window.
func (p *page) gpus(v *verdict.Verdict) {
	if len(v.GPUs) == 0 {
		return
	}
	p.blank()
	p.line("GPU")
	for _, g := range v.GPUs {
		p.wrap(fmt.Sprintf("  %s %d", g.Host, g.Index), body, device(g))
	}
	if v.GPUNote != "" {
		p.wrap("", 2, v.GPUNote)
	}
}

// device says what one device did.
func device(g verdict.GPU) string {
	var parts []string
	silent := 0
	for _, x := range g.Values {
		switch {
		case detail(x.ID):
		case x.Value == nil:
			silent++
		default:
			parts = append(parts, glue(x.ID+" "+rule.Digits(*x.Value)))
		}
	}
	parts = append(parts, glue(rule.Grouped(g.Samples)+" samples"))
	if silent > 0 {
		parts = append(parts, glue(fmt.Sprintf("%d values not reported", silent)))
	}
	if g.Reason != "" {
		parts = append(parts, g.Reason)
	}
	return glue(g.Name) + ": " + strings.Join(parts, " · ")
}

// detail says that a value only refines another one that is shown.
func detail(id string) bool {
	for _, end := range []string{"_min", "_max", "_p50", "_p95"} {
		if strings.HasSuffix(id, end) {
			return true
		}
	}
	return false
}
