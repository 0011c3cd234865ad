package slo

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// Measure is what is known of one metric of one request.
type Measure struct {
	OK      bool        // the outcome of the request is ok
	Value   formats.Int // ns; null when it was not measured
	Applies bool        // false: the metric cannot exist for this request
	Input   formats.Int // input tokens: what the server counted, else what was planned
}

// Standing says what a request is to a limit.
type Standing int

// The standings of a request. Only a measured value can be within a limit; a failed
// and an unmeasured one miss it, a neutral one has no part in it.
const (
	Measured   Standing = iota
	Failed              // the outcome is not ok
	Unmeasured          // ok, the value should exist and does not
	Neutral             // ok, and the metric cannot apply to this request
)

// Read returns the measured value less the token part of the limit, in ns, so that it
// is within the limit when it is at most BaseNS.
func (l Limit) Read(m Measure) (int64, Standing) {
	switch {
	case !m.OK:
		return 0, Failed
	case !m.Value.Valid && !m.Applies:
		return 0, Neutral
	case !m.Value.Valid, l.PerTokenNS != 0 && !m.Input.Valid:
		return 0, Unmeasured
	}
	return m.Value.V - l.PerTokenNS*m.Input.V, Measured
}

// Good reports whether a request is good: ok, and within every limit. A limit whose
// metric cannot apply is neutral; a value that should exist and does not is a miss, and
// unmeasured says that there was one. measure returns the metric of the i-th limit.
func Good(ok bool, limits []Limit, measure func(i int) Measure) (good, unmeasured bool) {
	good = ok
	for i, l := range limits {
		switch v, s := l.Read(measure(i)); s {
		case Measured:
			good = good && v <= l.BaseNS
		case Unmeasured:
			good, unmeasured = false, true
		}
	}
	return good, unmeasured
}

// Row is one request of the columns of a summary.
type Row struct {
	c *summary.Columns
	i int
}

// RowOf returns row i of c.
func RowOf(c *summary.Columns, i int) Row { return Row{c, i} }

// OK reports whether the request ended well.
func (r Row) OK() bool { return r.c.Strings["outcome"][r.i] == run.OK }

// Judged reports whether the request counts for objectives: it was planned in the
// window, and not cut short by the plan itself.
func (r Row) Judged() bool {
	return r.c.Ints["in_window"][r.i].Or(0) == 1 && !r.CutShort()
}

// CutShort reports whether the plan itself ended the answer.
func (r Row) CutShort() bool { return r.c.Strings["outcome"][r.i] == run.CancelledPlanned }

// InputTokens is what the server counted, else what was planned.
func (r Row) InputTokens() formats.Int {
	if in := r.c.Ints["input_tokens"][r.i]; in.Valid {
		return in
	}
	return r.c.Ints["planned_input_tokens"][r.i]
}

// Measure returns the metric that l limits.
func (r Row) Measure(l Limit) Measure {
	return Measure{OK: r.OK(), Value: r.c.Ints[l.Column()][r.i], Applies: r.applies(l.Metric), Input: r.InputTokens()}
}

// applies tells a metric that cannot apply from one that is missing, as the fold found:
// chunk gaps need two token events, a time per output token needs tokens after the first
// chunk. A first answer token should always come: an answer that was only reasoning is
// one that the user did not get. A column that is not there excuses nothing.
func (r Row) applies(metric string) bool {
	switch metric {
	case "icl_mean", "icl_p99", "icl_max":
		return r.c.Ints["icl_applies"][r.i].Or(1) == 1
	case "tpot":
		return r.c.Ints["tpot_applies"][r.i].Or(1) == 1
	}
	return true
}

// Good is Good of the row.
func (r Row) Good(limits []Limit) (good, unmeasured bool) {
	return Good(r.OK(), limits, func(i int) Measure { return r.Measure(limits[i]) })
}
