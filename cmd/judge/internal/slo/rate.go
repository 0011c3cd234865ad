package slo

import (
	"fmt"
	"math"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// batches is the number of equal parts of the window that a rate is decided from;
// none may be shorter than a second.
const batches = 30

// Batches is a rate objective's estimate by batch means.
type Batches struct {
	stats.Batches
	Measured   bool
	Low, High  float64 // one-sided bounds: 99 % on the side a PASS needs, 95 % on the other
	MarginPass float64 // t(0.99)·se
	MarginFail float64 // t(0.95)·se
}

// rate decides a rate objective on the window.
func (d *Decision) rate(rows Rows, limits []Limit, e Evidence) {
	if e.ToNS-e.FromNS < batches*1e9 {
		d.Reason = fmt.Sprintf("the window has %.3g s, a rate needs %d batches of at least 1 s", float64(e.ToNS-e.FromNS)/1e9, batches)
		return
	}
	counts, reason := d.counts(rows, limits, e)
	if reason != "" {
		d.Reason = reason
		return
	}
	seconds := float64(e.ToNS-e.FromNS) / 1e9 / batches
	for i := range counts {
		counts[i] /= seconds
	}
	d.judgeRate(stats.BatchMeans(counts))
}

// judgeRate compares the mean of the batches with the bound. Formula: PASS if
// m − t(0.99, k−1)·s/√k ≥ X, FAIL if m + t(0.95, k−1)·s/√k < X; mirrored for <=.
func (d *Decision) judgeRate(b stats.Batches) {
	d.Rate = Batches{Batches: b, Measured: true}
	if !b.OK {
		d.Reason = fmt.Sprintf("neighbouring batches are still alike at %d (autocorrelation %.2g, below 0.2 needed): a longer run is needed", b.K, b.Lag1)
		return
	}
	r := &d.Rate
	r.MarginPass = stats.TQuantile(0.99, float64(b.K-1)) * b.SE
	r.MarginFail = stats.TQuantile(0.95, float64(b.K-1)) * b.SE
	x := d.Objective.Bound
	var pass, fail bool
	if d.Objective.AtLeast {
		r.Low, r.High = b.Mean-r.MarginPass, b.Mean+r.MarginFail
		pass, fail = r.Low >= x, r.High < x
	} else {
		r.Low, r.High = b.Mean-r.MarginFail, b.Mean+r.MarginPass
		pass, fail = r.High <= x, r.Low > x
	}
	switch {
	case pass:
		d.Result = Pass
	case fail:
		d.Result = Fail
	default:
		d.Reason = fmt.Sprintf("the mean %.4g is within %.3g of the bound, its margin of error", b.Mean, max(r.MarginPass, r.MarginFail))
	}
}

// counts sums what the rate counts in each batch of the window.
func (d *Decision) counts(rows Rows, limits []Limit, e Evidence) ([]float64, string) {
	if d.Objective.Rate == "out_tps" {
		return tokenCounts(e)
	}
	if e.Columns == nil {
		return nil, "the summary has no per-request columns; reduce with --columns on, or judge the run itself"
	}
	counts := make([]float64, batches)
	width := (e.ToNS - e.FromNS) / batches
	add := func(at formats.Int, n int64) {
		if at.Valid && at.V >= e.FromNS && at.V < e.ToNS {
			counts[min(batches-1, (at.V-e.FromNS)/width)] += float64(n)
		}
	}
	c := e.Columns
	if d.Objective.Rate == "goodput" {
		planned, _ := rows.Good(limits)
		for _, u := range planned {
			// A row planned at the very end of the load belongs to the window.
			add(formats.Some(min(u, e.ToNS-1)), 1)
		}
		return counts, ""
	}
	unknown := 0
	for i := range c.N {
		switch d.Objective.Rate {
		case "sent_rps":
			if c.Ints["sent"][i].Or(0) == 1 {
				add(c.Ints["conn_asked_ns"][i], 1)
			}
		case "ended_rps":
			add(c.Ints["end_ns"][i], 1)
		case "ok_rps":
			if c.Strings["outcome"][i] == run.OK {
				add(c.Ints["end_ns"][i], 1)
			}
		case "in_tps":
			u, first, in := c.Ints["u_ns"][i], c.Ints["ttft_user_ns"][i], c.Ints["input_tokens"][i]
			if u.Valid && first.Valid {
				if !in.Valid {
					unknown++
				}
				add(formats.Some(u.V+first.V), in.Or(0))
			}
		}
	}
	if unknown > 0 {
		return nil, fmt.Sprintf("not measured: the server did not count the input tokens of %d requests", unknown)
	}
	return counts, ""
}

// tokenCounts spreads the tokens per second of the summary's series over the batches:
// a second that a border cuts gives each side its part.
func tokenCounts(e Evidence) ([]float64, string) {
	var s *summary.Series
	for i := range e.Series {
		if e.Series[i].ID == "out_tps" {
			s = &e.Series[i]
		}
	}
	if s == nil || s.StepNS <= 0 {
		return nil, "not measured: the summary has no series out_tps"
	}
	counts := make([]float64, batches)
	width := float64(e.ToNS-e.FromNS) / batches
	covered := 0.0
	for k, v := range s.Values {
		from := float64(s.FromNS + int64(k)*s.StepNS - e.FromNS)
		to := from + float64(s.StepNS)
		for b := max(0, int(math.Floor(from/width))); b < batches && float64(b)*width < to; b++ {
			part := min(to, float64(b+1)*width) - max(from, float64(b)*width)
			if part <= 0 {
				continue
			}
			if v == nil {
				return nil, fmt.Sprintf("not measured: second %d of series out_tps has no value", k)
			}
			covered += part
			counts[b] += *v * part / 1e9
		}
	}
	if missing := float64(e.ToNS-e.FromNS) - covered; missing > float64(s.StepNS) {
		return nil, fmt.Sprintf("not measured: series out_tps lacks %.3g s of the window", missing/1e9)
	}
	return counts, ""
}
