package decide

import (
	"fmt"
	"slices"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// sketched decides a latency from the sketch of a summary that has no columns. A request
// in the bucket of the limit may be on either side of it: it misses where that would stand
// in the way of a PASS, and does not where it would help a FAIL. How many requests carry
// the information of one is the worst that the summary knows of any percentile. false: there is no such sketch.
func (d *Decision) sketched(e Evidence) bool {
	if e.Sums == nil || d.Objective.Limit.PerTokenNS != 0 {
		return false
	}
	id := d.Objective.Limit.ID()
	at := slices.IndexFunc(e.Sums.Spreads, func(s summary.Spread) bool { return s.ID == id })
	of := slices.IndexFunc(e.Metrics, func(m summary.Metric) bool { return m.ID == id && m.Population == "planned" })
	if at < 0 || of < 0 {
		return false
	}
	s := &e.Sums.Spreads[at]
	var w stats.Wide
	if w.Decode(s.Over, s.Under) != nil || w.N() != s.N {
		return false
	}
	sure, maybe := w.Beyond(d.Objective.Limit.BaseNS)
	d.N, d.Misses, d.LeftOut = s.N+s.Misses, s.Misses+maybe, s.Neutral
	switch {
	case d.N == 0:
		d.Reason = "no request of the window can be judged by it"
		return true
	case s.N == 0:
		d.Reason = "not measured: no request has a value"
		return true
	}
	d.Decided, d.Doubtful = true, maybe-sure
	if rank := rankOf(d.N, d.Objective.P); rank > s.N {
		d.Infinite = true
	} else {
		d.Quantile = formats.Some(min(max(w.At([]int64{rank})[0], s.Min.Or(0)), s.Max.Or(0)))
	}
	d.Tau, d.TauMisses, d.TauValues = 1, 1, 1
	if neff, ok := leastNeff(s.Neff, e.Metrics[of].Percentiles, d.Objective.P); ok {
		d.Settled = true
		d.Tau = max(1, float64(d.N)/neff)
		d.TauMisses, d.TauValues = d.Tau, d.Tau
	}
	d.weigh()
	misses := float64(s.Misses + sure)
	_, d.PFail = chances(d.Neff, misses/d.Tau, d.Objective.P)
	_, d.Independent.PFail = chances(float64(d.N), misses, d.Objective.P)
	if !d.Settled { // nothing is known of how alike neighbours are
		d.PPass, d.PFail = 1, 1
	}
	return true
}

// leastNeff is the least of the known numbers of independent requests, of all levels: the limit
// may lie at any. false when that of the next level from share p up is not known.
func leastNeff(neff []*float64, levels []summary.Percentile, p float64) (least float64, ok bool) {
	for i, l := range levels {
		if i >= len(neff) {
			break
		}
		if float64(l.Level) >= 1000*p-1e-9 && !ok {
			if ok = neff[i] != nil; !ok {
				return 0, false
			}
		}
		if neff[i] != nil && (least == 0 || *neff[i] < least) {
			least = *neff[i]
		}
	}
	return least, ok
}

// doubt adds to the reason of an open decision what the sketch leaves open.
func (d *Decision) doubt() {
	if d.Doubtful > 0 && d.Result == Inconclusive {
		d.Reason += fmt.Sprintf("; %d requests are in the bucket of the sketch that holds the limit", d.Doubtful)
	}
}
