// Package decide decides service level objectives over the per-request columns of a
// summary: All judges a set of them, by the procedure of docs/validity.md.
package decide

import (
	"fmt"
	"math"
	"sort"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// Levels of the decision: the chance of so few misses by luck that a PASS may keep,
// the chance of so many that a FAIL may keep (Holm over the objectives), and the
// number of independent requests beyond the quantile that a PASS needs (D5).
const (
	passAt = 0.01
	failAt = 0.05
	needed = 10 // unless Evidence says otherwise
)

// Result of a decision.
const (
	Pass         = "PASS"
	Fail         = "FAIL"
	Inconclusive = "INCONCLUSIVE"
)

// Evidence is what objectives are decided from.
type Evidence struct {
	Columns *summary.Columns // nil: the summary carries none
	FromNS  int64            // the steady window
	ToNS    int64
	Series  []summary.Series  // for rates
	Sums    *summary.Sums     // for latencies where there are no columns; nil: none
	Metrics []summary.Metric  // whose levels are those of Sums
	Missing map[string]string // why a rate could not be measured, by its name
	D5      float64           // independent requests beyond the quantile that a PASS needs; 0: 10
}

// noColumns is why requests cannot be counted.
const noColumns = "the summary has no per-request columns; reduce with --columns on, or judge the run itself"

// Decision is one objective with its result and all that led to it.
type Decision struct {
	Objective slo.Objective
	Limits    []slo.Limit // members of a joint objective after goodput>=… was filled in
	Result    string
	Reason    string // why INCONCLUSIVE

	N, Misses, LeftOut, Unmeasured int64
	Doubtful                       int64       // of Misses: in the bucket of the limit, where a sketch decides
	Quantile                       formats.Int // ns, of a Quantile objective
	Infinite                       bool
	Low, High                      formats.Int // 95 % interval of Quantile
	LowRank, HighRank              int64
	TauMisses, TauValues           float64
	Tau                            float64
	Settled                        bool
	Neff, Teff                     float64
	PPass, PFail                   float64
	FailBelow                      float64 // Holm's limit for PFail
	ProjectedN                     formats.Int
	Independent                    Independent
	Decided                        bool // the fields above hold something
	needed                         float64
	Rate                           Batches
}

// Independent is the same decision under the assumption that every request is
// independent of the one before, as MLPerf's early stopping has it. It is shown beside
// the decision and decides nothing.
type Independent struct {
	Result       string
	PPass, PFail float64
	ProjectedN   formats.Int
}

// D5 is the number of independent requests expected beyond the quantile, rounded so
// that 100 requests at p90 are 10 and not a hair below.
func (d Decision) D5() float64 { return slo.Round(d.Neff * (1 - d.Objective.P)) }

// D5OK reports whether the decision rests on enough independent requests to pass.
func (d Decision) D5OK() bool { return d.Settled && d.D5() >= d.needed }

// All decides every objective of the set. The miss test is corrected by Holm's
// method over the quantile, share and joint objectives of the set.
func All(set []slo.Objective, e Evidence) []Decision {
	all := make([]Decision, len(set))
	var rows Rows
	if e.Columns != nil {
		rows = NewRows(e.Columns)
	}
	for i, o := range set {
		d := &all[i]
		d.Objective, d.Result, d.Tau, d.needed = o, Inconclusive, 1, needed
		if e.D5 > 0 {
			d.needed = e.D5
		}
		d.Limits = o.Members
		if o.OfSet {
			d.Limits = slo.Limits(set)
		}
		switch {
		case o.Kind == slo.Rate:
			d.rate(rows, slo.Limits(set), e)
		case e.Columns == nil:
			if o.Kind != slo.Quantile || !d.sketched(e) {
				d.Reason = noColumns
			}
		default:
			d.sample(rows)
		}
	}
	finish(all)
	return all
}

// finish turns chances into results.
func finish(all []Decision) {
	holm(all)
	for i := range all {
		if all[i].Decided {
			all[i].conclude()
			all[i].doubt()
		}
	}
}

// sample fills everything that does not depend on the other objectives.
func (d *Decision) sample(rows Rows) {
	s := rows.sample(d.Objective, d.Limits)
	if !d.count(s) {
		return
	}
	d.estimate(s)
	d.weigh()
	if d.Objective.Kind == slo.Quantile {
		d.interval(s)
	}
}

// count takes the sample's sizes; false: nothing can be decided from it.
func (d *Decision) count(s sample) bool {
	d.N, d.Misses, d.LeftOut, d.Unmeasured = int64(len(s.miss)), s.misses, s.leftOut, s.unmeasured
	if d.N == 0 {
		d.Reason = "no request of the window can be judged by it"
		return false
	}
	if s.unmeasured > 0 && s.measured == 0 {
		d.Reason = "not measured: no request has a value"
		return false
	}
	d.Decided = true
	return true
}

// estimate finds how many rows of the sample carry the information of one.
func (d *Decision) estimate(s sample) {
	var settled bool
	d.TauMisses, d.Settled = stats.Tau(s.miss)
	d.Tau, d.TauValues = d.TauMisses, 1
	for _, above := range s.above {
		var tau float64
		tau, settled = stats.Tau(above)
		d.Settled = d.Settled && settled
		d.TauValues = max(d.TauValues, tau)
	}
	d.Tau = max(d.TauMisses, d.TauValues)
}

// weigh computes the two chances from the counts and tau.
func (d *Decision) weigh() {
	n, t, p := float64(d.N), float64(d.Misses), d.Objective.P
	d.Neff, d.Teff = n/d.Tau, t/d.Tau
	d.PPass, d.PFail = chances(d.Neff, d.Teff, p)
	d.Independent.PPass, d.Independent.PFail = chances(n, t, p)
	if q := t / n; q < 1-p {
		d.ProjectedN = projected(q, d.Tau, p)
		d.Independent.ProjectedN = projected(q, 1, p)
	}
}

// chances returns the chance of at most t misses, and of at least t, among n
// independent requests when a share 1−p of them misses in truth.
func chances(n, t, p float64) (pass, fail float64) {
	return stats.IncompleteBeta(p, n-t, t+1), stats.IncompleteBeta(1-p, t, n-t+1)
}

// projected returns the smallest number of requests that would pass at the observed
// miss rate q and the observed tau; null beyond 10^12.
func projected(q, tau, p float64) formats.Int {
	enough := func(n int64) bool {
		m := float64(n)
		return stats.IncompleteBeta(p, m*(1-q)/tau, m*q/tau+1) <= passAt
	}
	low, high := int64(0), int64(1)
	for !enough(high) {
		if high > 1e12 {
			return formats.Int{}
		}
		low, high = high, high*2
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return formats.Some(high)
}

// interval finds the quantile and its 95 % interval. The ranks are widened by the tau
// of the values alone: the limit has no part in where the quantile lies.
func (d *Decision) interval(s sample) {
	d.Quantile, d.Infinite = s.quantile, s.infinite
	tau, settled := stats.Tau(s.above[0])
	if !settled {
		return
	}
	level := thousandths(d.Objective.P)
	low, high := stats.Interval(d.N, level, tau)
	d.LowRank, d.HighRank = low, high
	at := func(rank int64) formats.Int {
		if rank < 1 || rank > int64(len(s.sorted)) {
			return formats.Int{}
		}
		return formats.Some(s.sorted[rank-1])
	}
	d.Low, d.High = at(low), at(high)
}

// holm sets FailBelow of every decided objective and marks as FAIL those that the
// step-down procedure rejects; the same for the independent twin.
func holm(all []Decision) {
	var family []int
	for i := range all {
		if all[i].Decided && all[i].Objective.Kind != slo.Rate {
			family = append(family, i)
		}
	}
	stepDown(family, func(i int) float64 { return all[i].PFail }, func(i int, below float64, reject bool) {
		all[i].FailBelow = below
		if reject {
			all[i].Result = Fail
		}
	})
	stepDown(family, func(i int) float64 { return all[i].Independent.PFail }, func(i int, _ float64, reject bool) {
		all[i].Independent.Result = Inconclusive
		if reject {
			all[i].Independent.Result = Fail
		}
	})
}

func stepDown(family []int, p func(int) float64, set func(i int, below float64, reject bool)) {
	order := append([]int(nil), family...)
	sort.SliceStable(order, func(a, b int) bool { return p(order[a]) < p(order[b]) })
	reject := true
	for k, i := range order {
		below := failAt / float64(len(order)-k)
		reject = reject && p(i) <= below
		set(i, below, reject)
	}
}

// conclude turns the chances into a result once Holm has spoken.
func (d *Decision) conclude() {
	if d.Objective.Kind == slo.Rate {
		return
	}
	n, p := float64(d.N), d.Objective.P
	if d.Independent.PPass <= passAt && slo.Round(n*(1-p)) >= d.needed {
		d.Independent.Result = Pass
	}
	if d.Result == Fail {
		return
	}
	if d.D5OK() && d.PPass <= passAt {
		d.Result = Pass
		return
	}
	rate := fmt.Sprintf("%.3g %% missed, %.3g %% allowed", 100*float64(d.Misses)/n, 100*slo.Round(1-p))
	switch {
	case !d.Settled:
		d.Reason = fmt.Sprintf("the requests are too few for the time they stay alike (tau %.3g is not settled at n = %d)", d.Tau, d.N)
	case d.D5() < d.needed:
		d.Reason = fmt.Sprintf("too few independent requests: n_eff·(1−p) = %.3g, at least %.3g needed, which takes about %.0f requests",
			d.D5(), d.needed, math.Ceil(slo.Round(d.needed*d.Tau/(1-p))))
	case d.ProjectedN.Valid:
		d.Reason = rate + ": not proven yet"
	default:
		d.Reason = rate + ": too close to tell"
	}
}

// Overall is the result of the set: PASS when every objective passes, FAIL when one
// fails, "" for an empty set.
func Overall(all []Decision) string {
	result := ""
	for _, d := range all {
		switch {
		case d.Result == Fail:
			return Fail
		case d.Result == Inconclusive:
			result = Inconclusive
		case result == "":
			result = Pass
		}
	}
	return result
}
