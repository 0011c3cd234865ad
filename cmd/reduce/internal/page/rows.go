package page

import (
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

const second = 1_000_000_000 // ns

// latencies are the metrics that are drawn, with the sides that stand beside the
// user's in order of preference.
var latencies = [...]struct {
	id, title, about string
	others           []string
}{
	{"ttft", "Time to first token", "from the planned instant to the first token of any kind", []string{slo.Wire, slo.Sent}},
	{"tpot", "Time per output token", "decode time over output tokens after the first chunk", []string{slo.Wire}},
	{"e2e", "End to end", "from the planned instant to the last token", []string{slo.Wire, slo.Sent}},
}

// judged returns the measured values of a column over the requests that objectives
// judge, ascending, in s, and the number of these requests to which the metric applies:
// a failure is one of them and has no value.
func (p *Page) judged(l slo.Limit) (sorted []float64, total int) {
	for i := range p.c.N {
		row := slo.RowOf(p.c, i)
		if !row.Judged() {
			continue
		}
		m := row.Measure(l)
		switch _, s := (slo.Limit{}).Read(m); s {
		case slo.Neutral:
			continue
		case slo.Measured:
			sorted = append(sorted, float64(m.Value.V)/second)
		}
		total++
	}
	slices.Sort(sorted)
	return sorted, total
}

// miss counts the requests that miss one limit of one request, or several at once.
type miss struct {
	text   string // ttft<=500ms
	metric string // "" for a joint limit
	side   string
	baseNS int64
	flat   bool // the limit is the same for every request
	n, of  int64
}

func (m *miss) share() float64 { return float64(m.n) / float64(m.of) }

// countMisses counts for each limit the judged requests that do not meet it.
func (p *Page) countMisses() {
	if p.c == nil {
		return
	}
	for _, l := range slo.Limits(p.o.SLO) {
		m := miss{text: l.String(), metric: l.Metric, side: l.Side, baseNS: l.BaseNS, flat: l.PerTokenNS == 0}
		for i := range p.c.N {
			row := slo.RowOf(p.c, i)
			if !row.Judged() {
				continue
			}
			switch v, s := l.Read(row.Measure(l)); {
			case s == slo.Neutral:
				continue
			case s != slo.Measured || v > l.BaseNS:
				m.n++
			}
			m.of++
		}
		p.misses = append(p.misses, m)
	}
}

// cohort is the requests planned in one slice of the load.
type cohort struct {
	from int64 // ns after the start of the load
	lag  []int64
	of   [len(latencies)][]int64 // user side, ok, ascending
}

// Below this many requests each of them is drawn.
const maxPoints = 5000

// cut sorts the requests into slices of whole seconds, wide enough to hold the 64
// values that a p90 needs on average, at most 100.
func (p *Page) cut() {
	if p.c == nil || p.c.N == 0 {
		return
	}
	from, to := p.s.Window.LoadFrom, p.s.Window.LoadTo
	n := int64(min(100, max(1, p.c.N/int(stats.Floor(900)))))
	p.width = max(1, (to-from+n*second-1)/(n*second)) * second
	p.cohorts = make([]cohort, (to-from)/p.width+1)
	for i := range p.cohorts {
		p.cohorts[i].from = int64(i) * p.width
	}
	for i, u := range p.c.Ints["u_ns"] {
		if !u.Valid || u.V < from || u.V > to {
			continue
		}
		k := &p.cohorts[(u.V-from)/p.width]
		if v := p.c.Ints["send_lag_ns"][i]; v.Valid {
			k.lag = append(k.lag, v.V)
		}
		if p.c.Strings["outcome"][i] != run.OK {
			continue
		}
		for j, l := range latencies {
			if v := p.c.Ints[l.id+"_user_ns"][i]; v.Valid {
				k.of[j] = append(k.of[j], v.V)
			}
		}
	}
	for i := range p.cohorts {
		slices.Sort(p.cohorts[i].lag)
		for j := range p.cohorts[i].of {
			slices.Sort(p.cohorts[i].of[j])
		}
	}
}

// rank returns a percentile of ascending values by nearest rank, null below its floor.
func rank(sorted []int64, level int64) formats.Int {
	n := int64(len(sorted))
	if n < stats.Floor(level) {
		return formats.Int{}
	}
	return formats.Some(sorted[stats.NearestRank(n, level)-1])
}

// seconds converts a nullable ns value, NaN for null.
func seconds(v formats.Int) float64 {
	if !v.Valid {
		return math.NaN()
	}
	return float64(v.V) / second
}

// failures lists when rows failed, in s after the start of the load. A request that the
// plan cut short did not fail.
func (p *Page) failures() (at []float64) {
	if p.c == nil {
		return nil
	}
	for i, o := range p.c.Strings["outcome"] {
		if o == run.OK || o == run.CancelledPlanned {
			continue
		}
		t := p.c.Ints["end_ns"][i]
		if !t.Valid {
			t = p.c.Ints["u_ns"][i]
		}
		if t.Valid {
			at = append(at, float64(t.V-p.s.Window.LoadFrom)/second)
		}
	}
	return at
}

// series returns a series by its id, nil when the summary has none of that name or no
// value in it.
func (p *Page) series(id string) *summary.Series {
	i := slices.IndexFunc(p.s.Series, func(s summary.Series) bool { return s.ID == id })
	if i < 0 || !slices.ContainsFunc(p.s.Series[i].Values, func(v *float64) bool { return v != nil }) {
		return nil
	}
	return &p.s.Series[i]
}

func (p *Page) metric(id, population string) *summary.Metric {
	i := slices.IndexFunc(p.s.Metrics, func(m summary.Metric) bool { return m.ID == id && m.Population == population })
	if i < 0 {
		return nil
	}
	return &p.s.Metrics[i]
}

func (p *Page) scalar(id string) *summary.Scalar {
	i := slices.IndexFunc(p.s.Scalars, func(v summary.Scalar) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return &p.s.Scalars[i]
}
