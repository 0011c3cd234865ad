package decide

import (
	"fmt"

	"hydrant/internal/slo"
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

// series names the summary's series of batches of the window for each rate. Goodput
// has none: what is good depends on the objectives.
var series = map[string]string{"out_tps": "batch_out_tps", "in_tps": "batch_in_tps", "sent_rps": "batch_sent",
	"ok_rps": "batch_ok", "ended_rps": "batch_ended"}

// rate decides a rate objective on the window.
func (d *Decision) rate(rows Rows, limits []slo.Limit, e Evidence) {
	if e.ToNS-e.FromNS < batches*1e9 {
		d.Reason = fmt.Sprintf("the window has %.3g s, a rate needs %d batches of at least 1 s", float64(e.ToNS-e.FromNS)/1e9, batches)
		return
	}
	if d.Objective.Rate == "goodput" {
		d.goodput(rows, limits, e)
		return
	}
	if reason := e.Missing[d.Objective.Rate]; reason != "" {
		d.Reason = "not measured: " + reason
		return
	}
	id := series[d.Objective.Rate]
	var values []float64
	for _, s := range e.Series {
		if s.ID != id {
			continue
		}
		for _, v := range s.Values {
			if v == nil {
				d.Reason = "not measured: series " + id + " has gaps"
				return
			}
			values = append(values, *v)
		}
	}
	if len(values) != batches {
		d.Reason = fmt.Sprintf("not measured: series %s has %d batches of the window, want %d", id, len(values), batches)
		return
	}
	d.judgeRate(stats.BatchMeans(values))
}

// goodput counts the good requests of each batch by their planned time.
func (d *Decision) goodput(rows Rows, limits []slo.Limit, e Evidence) {
	if e.Columns == nil {
		d.Reason = noColumns
		return
	}
	values := make([]float64, batches)
	width := (e.ToNS - e.FromNS) / batches
	planned, _ := rows.Good(limits)
	for _, u := range planned {
		values[max(0, min(batches-1, (u-e.FromNS)/width))] += 1e9 / float64(width)
	}
	d.judgeRate(stats.BatchMeans(values))
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
