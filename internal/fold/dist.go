package fold

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// Levels are the percentiles of every distribution, in thousandths.
var Levels = [...]int64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999}

// timingMetrics returns the distributions over requests, of some rows in their order.
func (f *fold) timingMetrics(rows []int32) (metrics []summary.Metric) {
	var x []int64
	for i := range timings {
		t := &timings[i]
		x = x[:0]
		var nulls int64
		f.among(rows, func(r *rec) {
			if !r.inWindow || !t.over(r) {
				return
			}
			if v := t.value(r); v == null {
				nulls++
			} else {
				x = append(x, v)
			}
		})
		m := t.metric(t.pop)
		m.Nulls = nulls
		f.fill(&m, x)
		if t.id == "client_time" && f.sheet.lowerBound {
			m.Note = "lower bound: without kernel stamps the way from the kernel to the parser is not in it"
		}
		if t.id == "fluidity" && f.o.Fluidity == nil {
			m.Note = "no deadlines given"
		}
		metrics = append(metrics, m)
		if t.planned {
			metrics = append(metrics, f.plannedMetric(t, rows, len(x) > 0))
		}
	}
	return metrics
}

// over says whether a row belongs to the population of a timing.
func (t *timing) over(r *rec) bool {
	switch t.pop {
	case popOK:
		return r.ok()
	case popDispatched:
		return r.dispatched != null
	case popFailed:
		return !r.ok() && r.outcome != outcomePlanned && r.wasSent()
	}
	return true
}

func (t *timing) metric(pop string) summary.Metric {
	return summary.Metric{ID: t.id, Side: t.side, Unit: t.unit, Population: pop, Weighting: byRequest, Method: exact, Definition: t.formula}
}

// plannedMetric ranks every planned row, misses as +infinity. Rows that the plan
// cut short, and ok rows to which the metric cannot apply, are left out; an ok row
// that should have a value and has none is a miss.
func (f *fold) plannedMetric(t *timing, rows []int32, measured bool) summary.Metric {
	m := t.metric(popPlanned)
	var x []int64
	misses := 0
	f.among(rows, func(r *rec) {
		if !r.inWindow || r.outcome == outcomePlanned {
			return
		}
		v := t.value(r)
		switch {
		case r.ok() && v == null && t.applies != nil && !t.applies(r):
			m.Nulls++
			return
		case !r.ok() || v == null:
			v = miss
			misses++
		}
		x = append(x, v)
	})
	if !measured {
		m.Nulls += int64(len(x))
		f.fill(&m, nil)
		m.Note = "no request has a value"
		return m
	}
	f.fill(&m, x)
	if misses > 0 {
		m.Note = fmt.Sprintf("%d of %d are misses and rank as +infinity", misses, len(x))
	}
	return m
}

// fill computes a distribution from its values in the order of the rows.
func (f *fold) fill(m *summary.Metric, x []int64) {
	m.N = int64(len(x))
	f.sortedX = append(f.sortedX[:0], x...)
	slices.Sort(f.sortedX)
	s := f.sortedX
	if len(s) > 0 && s[len(s)-1] != miss {
		var all stats.Moments
		for _, v := range s {
			all.Add(v)
		}
		moments(m, &all)
	}
	for _, level := range Levels {
		m.Percentiles = append(m.Percentiles, f.percentile(level, x, s))
	}
}

// moments fills sum, mean, deviation and extremes.
func moments(m *summary.Metric, all *stats.Moments) {
	if all.N == 0 {
		return
	}
	sum := json.Number(all.Sum.String())
	m.Sum, m.Mean, m.Std = &sum, number(all.Mean()), number(all.Std())
	m.Min, m.Max = formats.Some(all.Min), formats.Some(all.Max)
}

// number boxes a finite value; NaN and infinity are null.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// percentile is the nearest rank of values x, which s holds sorted, with the ranks
// that bound it. How many requests in a row carry the information of one is taken
// from the indicator of lying above the percentile.
func (f *fold) percentile(level int64, x, s []int64) summary.Percentile {
	p := summary.Percentile{Level: level}
	n := int64(len(s))
	if floor := stats.Floor(level); n < floor {
		p.Reason = fmt.Sprintf("needs %d values, has %d", floor, n)
		return p
	}
	q := s[stats.NearestRank(n, level)-1]
	if q == miss {
		p.Infinite = true
		p.Reason = "the rank falls on a miss"
		return p
	}
	p.Value = formats.Some(q)
	f.above = f.above[:0]
	for _, v := range x {
		f.above = append(f.above, v > q)
	}
	tau, settled := stats.Tau(f.above)
	p.Tau, p.Neff = number(tau), number(float64(n)/tau)
	if !settled {
		p.Reason = "no interval: the values hang together over longer stretches than the row can show"
		return p
	}
	low, high := stats.Interval(n, level, tau)
	p.Low = formats.Some(s[low-1])
	if high > 0 && s[high-1] != miss {
		p.High = formats.Some(s[high-1])
	}
	return p
}

// sketched fills a distribution from a histogram and the exact moments beside it.
func sketched(m *summary.Metric, h *stats.Histogram, all *stats.Moments) {
	m.N = h.N()
	moments(m, all)
	values := h.Quantiles(Levels[:])
	for i, level := range Levels {
		p := summary.Percentile{Level: level}
		if floor := stats.Floor(level); m.N < floor {
			p.Reason = fmt.Sprintf("needs %d values, has %d", floor, m.N)
		} else {
			p.Value = formats.Some(values[i])
			p.Reason = "no interval: gaps of one stream move together"
		}
		m.Percentiles = append(m.Percentiles, p)
	}
	if n := h.Clamped(); n > 0 {
		m.Note = fmt.Sprintf("%d values outside 0 to 1 h count as its ends", n)
	}
}
