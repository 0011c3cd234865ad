package slo

import (
	"slices"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// Rows gives the judged rows of a summary: those planned in the steady window,
// without those that the plan itself cut short, in the order of the columns, which is
// (planned time, request id).
type Rows struct {
	c     *summary.Columns
	index []int // of judged rows
}

// NewRows selects the judged rows of c.
func NewRows(c *summary.Columns) Rows {
	r := Rows{c: c}
	for i := range c.N {
		if c.Ints["in_window"][i].Or(0) == 1 && c.Strings["outcome"][i] != run.CancelledPlanned {
			r.index = append(r.index, i)
		}
	}
	return r
}

// Len is the number of judged rows.
func (r Rows) Len() int { return len(r.index) }

// standing says what one row is to one limit.
type standing int

const (
	measured   standing = iota
	failed              // the outcome is not ok: a miss
	unmeasured          // ok, the value should exist and does not: a miss
	neutral             // ok, and the metric cannot apply to this row
)

// value returns the metric of row i less the token part of its limit, so that it can
// be compared with BaseNS.
func (r Rows) value(l Limit, i int) (int64, standing) {
	if r.c.Strings["outcome"][i] != run.OK {
		return 0, failed
	}
	x := r.c.Ints[l.Column()][i]
	if !x.Valid {
		return 0, r.absent(l.Metric, i)
	}
	if l.PerTokenNS == 0 {
		return x.V, measured
	}
	in := r.inputTokens(i)
	if !in.Valid {
		return 0, unmeasured
	}
	return x.V - l.PerTokenNS*in.V, measured
}

// inputTokens is what the server counted, else what was planned.
func (r Rows) inputTokens(i int) formats.Int {
	if in := r.c.Ints["input_tokens"][i]; in.Valid {
		return in
	}
	return r.c.Ints["planned_input_tokens"][i]
}

// absent tells a metric that cannot apply from one that is missing: chunk gaps need
// two token events, a time per output token needs tokens after the first chunk. A
// first answer token should always come: an answer that was only reasoning is one
// that the user did not get.
func (r Rows) absent(metric string, i int) standing {
	events, out := r.c.Ints["token_events"][i], r.c.Ints["output_tokens"][i]
	switch metric {
	case "icl_mean", "icl_p99", "icl_max":
		if events.Valid && events.V < 2 {
			return neutral
		}
	case "tpot":
		if events.Valid && events.V < 2 || out.Valid && out.V < 2 {
			return neutral
		}
	}
	return unmeasured
}

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

// latency samples one limit at share p.
func (r Rows) latency(l Limit, p float64) sample {
	var s sample
	x := make([]formats.Int, 0, len(r.index)) // null: a miss, +infinity
	for _, i := range r.index {
		v, is := r.value(l, i)
		switch is {
		case neutral:
			s.leftOut++
			continue
		case measured:
			s.measured++
			x = append(x, formats.Some(v))
		case unmeasured:
			s.unmeasured++
			x = append(x, formats.Int{})
		case failed:
			x = append(x, formats.Int{})
		}
		miss := is != measured || v > l.BaseNS
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
func (r Rows) joint(limits []Limit, p float64) sample {
	var s sample
	columns := make([][]formats.Int, len(limits))
	for m := range columns {
		columns[m] = make([]formats.Int, len(r.index))
	}
	neutralAt := make([][]bool, len(limits))
	for m := range neutralAt {
		neutralAt[m] = make([]bool, len(r.index))
	}
	for k, i := range r.index {
		miss := r.c.Strings["outcome"][i] != run.OK
		missing := false
		for m, l := range limits {
			switch v, is := r.value(l, i); is {
			case measured:
				columns[m][k] = formats.Some(v)
				miss = miss || v > l.BaseNS
			case neutral:
				neutralAt[m][k] = true
			case unmeasured:
				missing = true
			}
		}
		if missing {
			s.unmeasured++
		} else if r.c.Strings["outcome"][i] == run.OK {
			s.measured++
		}
		miss = miss || missing
		s.miss = append(s.miss, miss)
		if miss {
			s.misses++
		}
	}
	for m := range limits {
		var applies []formats.Int
		for k, v := range columns[m] {
			if !neutralAt[m][k] {
				applies = append(applies, v)
			}
		}
		_, _, q := quantile(applies, p)
		above := beyond(columns[m], q)
		for k := range above {
			above[k] = above[k] && !neutralAt[m][k]
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
	x := Round(float64(n) * p)
	r := int64(x)
	if float64(r) < x {
		r++
	}
	return max(1, r)
}

// thousandths returns the level of p, or 0 when p is no whole number of thousandths.
func thousandths(p float64) int64 {
	k := int64(Round(p * 1000))
	if k < 1 || k > 999 || Round(float64(k)/1000) != Round(p) {
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

// Good counts the judged rows that are ok and within every limit, with the time that
// each was planned for; n is the number of judged rows.
func (r Rows) Good(limits []Limit) (planned []int64, n int64) {
	s := r.joint(limits, 0.5)
	for k, i := range r.index {
		if !s.miss[k] {
			planned = append(planned, r.c.Ints["u_ns"][i].Or(0))
		}
	}
	return planned, int64(len(r.index))
}

// Tightest returns the smallest limit that l sets for any judged row: the base, plus
// the token part at the shortest prompt.
func (r Rows) Tightest(l Limit) int64 {
	if l.PerTokenNS == 0 {
		return l.BaseNS
	}
	least := formats.Int{}
	for _, i := range r.index {
		if in := r.inputTokens(i); in.Valid && (!least.Valid || in.V < least.V) {
			least = in
		}
	}
	return l.BaseNS + l.PerTokenNS*least.Or(0)
}
