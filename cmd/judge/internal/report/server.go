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
	if g := v.Goodput; g != nil && g.Attainment != nil {
		limits := "ok"
		if len(g.Limits) > 0 {
			limits = strings.Join(g.Limits, ", ")
		}
		text := fmt.Sprintf("goodput (%s) %s of planned", limits, glue(rule.Figure(*g.Attainment, "share")))
		if g.Rate != nil {
			text += " · " + glue(rule.Digits(*g.Rate)+" req/s")
		}
		p.wrap("", 2, text)
	}
	var rates []string
	for _, r := range []struct{ id, unit string }{{"sent_rps", "req/s sent"}, {"ok_rps", "req/s ok"}, {"in_tps", "input tok/s"}, {"out_tps", "output tok/s"}} {
		if n := number(v, r.id); n != nil && n.Value != nil {
			rates = append(rates, glue(rule.Digits(*n.Value)+" "+r.unit))
		}
	}
	if len(rates) > 0 {
		p.wrap("", 2, strings.Join(rates, " · ")+" over "+glue(rule.Span(float64(v.Window.ToNS-v.Window.FromNS))))
	}
	if n := number(v, "failure_share"); n != nil && n.Value != nil {
		p.wrap("", 2, glue(rule.Figure(*n.Value, "share"))+" of the planned requests of the window failed")
	}
}

// objective writes one objective: what it is, its result, then what it rests on.
func (p *page) objective(o verdict.Objective) {
	name := strings.NewReplacer("<=", " ≤ ", ">=", " ≥ ", "):", ") ", ":", " ").Replace(o.Text)
	lead := "  " + name + "  "
	if size(lead) > 29 {
		p.line(lead)
		lead = ""
	}
	text := []string{o.Result}
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
	}
	for _, s := range o.OtherSides {
		side := s.Side + " side " + s.Result
		if o.Kind == "quantile" {
			side += " " + quantile(s.Value, s.Infinite)
		}
		add(side)
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
	p.wrap(lead, 30, strings.Join(text, " · "))
	if o.Reason != "" {
		p.wrap("", 30, o.Reason)
	}
	if o.Result == verdict.Inconclusive && o.ProjectedN.Valid {
		s := "would pass at about " + glue(rule.Grouped(o.ProjectedN.V)+" requests") + " like these"
		if o.Independent != nil && o.Independent.ProjectedN.Valid && o.Independent.ProjectedN != o.ProjectedN {
			s += fmt.Sprintf(" (%s assuming independence)", rule.Grouped(o.Independent.ProjectedN.V))
		}
		p.wrap("", 30, s)
	}
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
		return ""
	case !high.Valid:
		return " (" + rule.Span(float64(low.V)) + " or more)"
	}
	return " (" + rule.Span(float64(low.V)) + "–" + rule.Span(float64(high.V)) + ")"
}

// rows of the table of latencies: what people call it, and its metrics by side.
var rows = [...]struct {
	name, side, id string
}{
	{"TTFT", "user", "ttft_user"}, {"", "sent", "ttft_sent"}, {"", "wire", "ttft_wire"},
	{"TTFO", "user", "ttfo_user"}, {"", "sent", "ttfo_sent"}, {"", "wire", "ttfo_wire"},
	{"TPOT", "user", "tpot_user"}, {"", "wire", "tpot_wire"},
	{"ICL", "user", "icl"}, {"", "wire", "icl_wire"},
	{"E2E", "user", "e2e_user"}, {"", "sent", "e2e_sent"}, {"", "wire", "e2e_wire"},
	{"lag", "", "send_lag"},
}

// latencies writes the distributions. A level below its sample floor is "–", one that
// falls on a failed request is "fail"; neither is a number.
func (p *page) latencies(v *verdict.Verdict) {
	p.line(pad("", 11) + right("n", 9) + right("p50", 9) + right("p90", 9) + right("p99", 9) + right("p99.9", 9) + right("95 % of p99", 16) + right("n_eff", 7))
	refused, failed, pending, wires := false, false, "", 0
	for _, r := range rows {
		if r.name != "" {
			pending = r.name
		}
		m := find(v, r.id)
		if m == nil || m.N == 0 && r.side != "user" {
			if r.side == "wire" {
				wires++
			}
			continue
		}
		unit, scale := "ms", 1e6
		if r.id == "e2e_user" || r.id == "e2e_sent" || r.id == "e2e_wire" {
			unit, scale = "s", 1e9
		}
		line := pad(pending, 5) + pad(r.side, 5) + pad(unit, 2) + right(rule.Tokens(m.N), 8)
		pending = ""
		for _, k := range []int64{500, 900, 990, 999} {
			cell := "–"
			if q := at(m, k); q != nil {
				switch {
				case q.Infinite:
					cell, failed = "fail", true
				case q.Value.Valid:
					cell = rule.Digits(float64(q.Value.V) / scale)
				default:
					refused = true
				}
			}
			line += right(cell, 9)
		}
		p.line(line + tail(at(m, 990), scale))
	}
	if refused {
		p.line("–: too few requests for that level; p90 needs 64, p99 662, p99.9 6,636")
	}
	if failed {
		p.line("fail: that many of the planned requests failed; a failure ranks last")
	}
	if wires > 0 {
		p.line("wire: no kernel stamps, the sent side stands in")
	}
	if n := number(v, "client_share_p99"); n != nil && n.Value != nil {
		p.line("the client's part of the slowest 1 % of TTFT: " + rule.Figure(*n.Value, "share"))
	}
}

// tail is the interval of p99 and the number of independent requests behind it.
func tail(q *verdict.Percentile, scale float64) string {
	if q == nil || !q.Value.Valid {
		return ""
	}
	s := "no interval"
	if q.Low.Valid {
		s = rule.Digits(float64(q.Low.V)/scale) + " – "
		if q.High.Valid {
			s += rule.Digits(float64(q.High.V) / scale)
		} else {
			s += "…"
		}
	}
	s = right(s, 16)
	if q.Neff != nil {
		s += right(rule.Digits(float64(int64(*q.Neff))), 7)
	}
	return s
}

// find returns a distribution, over the planned requests where there are two.
func find(v *verdict.Verdict, id string) *verdict.Latency {
	var found *verdict.Latency
	for i := range v.Latencies {
		if l := &v.Latencies[i]; l.ID == id && (found == nil || l.Population == "planned") {
			found = l
		}
	}
	return found
}

func at(m *verdict.Latency, level int64) *verdict.Percentile {
	for i := range m.Percentiles {
		if m.Percentiles[i].Level == level {
			return &m.Percentiles[i]
		}
	}
	return nil
}

// gpus writes what each device did in the window.
func (p *page) gpus(v *verdict.Verdict) {
	if len(v.GPUs) == 0 {
		return
	}
	p.blank()
	p.line("GPU")
	for _, g := range v.GPUs {
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
		p.wrap(fmt.Sprintf("  %s %d", g.Host, g.Index), body, glue(g.Name)+": "+strings.Join(parts, " · "))
	}
	if v.GPUNote != "" {
		p.wrap("", 2, v.GPUNote)
	}
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
