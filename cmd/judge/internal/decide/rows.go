package decide

import (
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// Rows gives the judged rows of a summary: those planned in the steady window,
// without those that the plan itself cut short, in the order of the columns, which is
// (planned time, request id).
type Rows struct {
	c     *summary.Columns
	index []int // of judged rows
	view  *view // which part of the user's times is seen; nil: all of it
}

// NewRows selects the judged rows of c.
func NewRows(c *summary.Columns) Rows {
	r := Rows{c: c}
	for i := range c.N {
		if slo.RowOf(c, i).Judged() {
			r.index = append(r.index, i)
		}
	}
	return r
}

// Len is the number of judged rows.
func (r Rows) Len() int { return len(r.index) }

// sample is what a decision is made from: one entry per row to which the objective
// applies.
type sample struct {
	miss       []bool
	above      [][]bool // per member metric: value beyond its p-quantile
	misses     int64
	leftOut    int64
	unmeasured int64
	measured   int64
	quantile   formats.Int // of the first member, misses as +infinity
	infinite   bool
	rank       int64
	sorted     []int64 // measured values of the first member
}

// sample samples one objective; limits are those of a joint one.
func (r Rows) sample(o slo.Objective, limits []slo.Limit) sample {
	switch o.Kind {
	case slo.Quantile:
		return r.latency(o.Limit, o.P)
	case slo.Joint:
		return r.joint(limits, o.P)
	}
	return r.joint(nil, o.P)
}

// measure returns the metric of row i that l limits, as the view has it.
func (r Rows) measure(i int, l slo.Limit) slo.Measure {
	m := slo.RowOf(r.c, i).Measure(l)
	if r.view != nil && l.Side == slo.User {
		m.Value = r.view.value(r.c, i, l, m.Value)
	}
	return m
}

// latency samples one limit at share p.
func (r Rows) latency(l slo.Limit, p float64) sample {
	var s sample
	x := make([]formats.Int, 0, len(r.index)) // null: a miss, +infinity
	for _, i := range r.index {
		v, is := l.Read(r.measure(i, l))
		switch is {
		case slo.Neutral:
			s.leftOut++
			continue
		case slo.Measured:
			s.measured++
			x = append(x, formats.Some(v))
		case slo.Unmeasured:
			s.unmeasured++
			x = append(x, formats.Int{})
		case slo.Failed:
			x = append(x, formats.Int{})
		}
		miss := is != slo.Measured || v > l.BaseNS
		s.miss = append(s.miss, miss)
		if miss {
			s.misses++
		}
	}
	s.rank, s.sorted, s.quantile = quantile(x, p)
	s.infinite = s.rank > 0 && !s.quantile.Valid
	s.above = [][]bool{beyond(x, s.quantile)}
	return s
}

// joint samples the rows that are not good: not ok, or beyond one of the limits.
func (r Rows) joint(limits []slo.Limit, p float64) sample {
	var s sample
	columns := make([][]formats.Int, len(limits))
	neutral := make([][]bool, len(limits))
	for m := range limits {
		columns[m], neutral[m] = make([]formats.Int, len(r.index)), make([]bool, len(r.index))
	}
	for k, i := range r.index {
		row := slo.RowOf(r.c, i)
		good, unmeasured := slo.Good(row.OK(), limits, func(m int) slo.Measure { return r.measure(i, limits[m]) })
		switch {
		case unmeasured:
			s.unmeasured++
		case row.OK():
			s.measured++
		}
		if s.miss = append(s.miss, !good); !good {
			s.misses++
		}
		for m, l := range limits {
			v, is := l.Read(r.measure(i, l))
			if is == slo.Measured {
				columns[m][k] = formats.Some(v)
			}
			neutral[m][k] = is == slo.Neutral
		}
	}
	for m := range limits {
		var applies []formats.Int
		for k, v := range columns[m] {
			if !neutral[m][k] {
				applies = append(applies, v)
			}
		}
		_, _, q := quantile(applies, p)
		above := beyond(columns[m], q)
		for k := range above {
			above[k] = above[k] && !neutral[m][k]
		}
		s.above = append(s.above, above)
	}
	return s
}

// quantile returns the nearest rank of share p among x, nulls ranked as +infinity,
// the measured values sorted, and the value at that rank; null when the rank falls on
// a null. The rank is 0 for no values.
func quantile(x []formats.Int, p float64) (int64, []int64, formats.Int) {
	sorted := make([]int64, 0, len(x))
	for _, v := range x {
		if v.Valid {
			sorted = append(sorted, v.V)
		}
	}
	slices.Sort(sorted)
	rank := rankOf(int64(len(x)), p)
	if rank == 0 || rank > int64(len(sorted)) {
		return rank, sorted, formats.Int{}
	}
	return rank, sorted, formats.Some(sorted[rank-1])
}

// rankOf is the nearest rank of share p; shares that are whole thousandths are ranked
// in integers.
func rankOf(n int64, p float64) int64 {
	if k := thousandths(p); k > 0 {
		return stats.NearestRank(n, k)
	}
	if n == 0 {
		return 0
	}
	x := slo.Round(float64(n) * p)
	r := int64(x)
	if float64(r) < x {
		r++
	}
	return max(1, r)
}

// thousandths returns the level of p, or 0 when p is no whole number of thousandths.
func thousandths(p float64) int64 {
	k := int64(slo.Round(p * 1000))
	if k < 1 || k > 999 || slo.Round(float64(k)/1000) != slo.Round(p) {
		return 0
	}
	return k
}

// beyond marks the values above q, with nulls as +infinity. Nothing lies above a q
// that is itself infinite.
func beyond(x []formats.Int, q formats.Int) []bool {
	above := make([]bool, len(x))
	if !q.Valid {
		return above
	}
	for i, v := range x {
		above[i] = !v.Valid || v.V > q.V
	}
	return above
}

// Good returns when each good row was planned, and the number of judged rows.
func (r Rows) Good(limits []slo.Limit) (planned []int64, n int64) {
	for _, i := range r.index {
		if good, _ := slo.RowOf(r.c, i).Good(limits); good {
			planned = append(planned, r.c.Ints["u_ns"][i].Or(0))
		}
	}
	return planned, int64(len(r.index))
}

// Tightest returns the smallest limit that l sets for any judged row: the base, plus
// the token part at the shortest prompt.
func (r Rows) Tightest(l slo.Limit) int64 {
	if l.PerTokenNS == 0 {
		return l.BaseNS
	}
	least := formats.Int{}
	for _, i := range r.index {
		if in := slo.RowOf(r.c, i).InputTokens(); in.Valid && (!least.Valid || in.V < least.V) {
			least = in
		}
	}
	return l.BaseNS + l.PerTokenNS*least.Or(0)
}

// ClientShare is the generator's mean part of ttft_user over the ok rows of the window
// at or above its p-quantile, and the number of those rows; NaN without any.
func (r Rows) ClientShare(p float64) (share float64, n int64) {
	type pair struct{ ttft, client int64 }
	var all []pair
	var sorted []int64
	for _, i := range r.index {
		t, c := r.c.Ints["ttft_user_ns"][i], r.c.Ints["client_time_ns"][i]
		if slo.RowOf(r.c, i).OK() && t.Valid && c.Valid && t.V > 0 {
			all = append(all, pair{t.V, c.V})
			sorted = append(sorted, t.V)
		}
	}
	if len(all) == 0 {
		return math.NaN(), 0
	}
	slices.Sort(sorted)
	q := sorted[rankOf(int64(len(sorted)), p)-1]
	for _, x := range all {
		if x.ttft >= q {
			share += float64(x.client) / float64(x.ttft)
			n++
		}
	}
	return share / float64(n), n
}
