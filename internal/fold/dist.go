package fold

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// Levels are the percentiles of every distribution, in thousandths.
var Levels = [...]int64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999}

// ranker computes distributions; its memory is used again for the next. One goroutine owns it.
type ranker struct {
	x     []int64
	order stats.Order
	all   stats.Moments // of the values that were ranked last, without misses
}

// together is the number of timings whose values are taken from the rows in one pass: each
// costs 8 bytes a row for as long.
const together = 9

// timingMetrics returns the distributions over requests, of some rows in their order; nil
// are all.
func (f *fold) timingMetrics(rows []int32) (metrics []summary.Metric) {
	n := len(rows)
	if rows == nil {
		n = f.rows.n
	}
	t := &f.taken
	t.state = resized(t.state, n)
	made := make([][]summary.Metric, len(timings))
	for from := 0; from < len(timings); from += together {
		some := timings[from:min(from+together, len(timings))]
		for k := range some {
			if cap(t.values[k]) < n {
				t.values[k] = f.room()
			}
			t.values[k] = t.values[k][:n]
		}
		f.share(n, func(from, to int) { f.takeValues(some, rows, from, to) })
		f.jobs(n, len(some), func(d *ranker, k int) { made[from+k] = f.timingMetric(d, &some[k], t.values[k]) })
	}
	return slices.Concat(made...)
}

// resized returns a slice of n elements of any value, s where it is long enough.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// taken are the values of some timings, row by row, and what the rows belong to.
type taken struct {
	state  []uint8
	values [together][]int64 // null, notApplicable, or the value
}

// notApplicable marks an ok row to which a timing cannot apply.
const notApplicable = null + 1

// population is the marks that its rows have, and those that they lack.
type population struct{ has, lacks uint8 }

// holds says whether a row with such marks belongs to it.
func (p population) holds(mark uint8) bool { return mark&(p.has|p.lacks) == p.has }

// anywhere is the population without regard to the window.
func (p population) anywhere() population {
	return population{p.has &^ isPlanned, p.lacks}
}

// states are the marks of each population.
var states = map[string]population{popAll: {isPlanned, 0}, popOK: {isPlanned | isOK, 0}, popDispatched: {isPlanned | isDispatched, 0},
	popFailed: {isPlanned | isSent, isOK | isCut}}

// takeValues takes the values of some timings from the rows with positions from to to.
func (f *fold) takeValues(some []timing, rows []int32, from, to int) {
	at, values := from, &f.taken.values
	take := func(x *frame) {
		marks := x.marks()
		copy(f.taken.state[at:], marks[:x.n])
		for k := range some {
			t := &some[k]
			v, out := t.value(x), values[k][at:at+x.n]
			if t.applies == nil {
				copy(out, v[:x.n])
				continue
			}
			applies := t.applies(x)
			for i := range out {
				if out[i] = v[i]; v[i] == null && applies[i] == 0 && marks[i]&isOK > 0 {
					out[i] = notApplicable
				}
			}
		}
		at += x.n
	}
	if rows == nil {
		f.rows.frames(from, to, take)
	} else {
		f.rows.picked(rows[from:to], take)
	}
}

// fewRows is the number of rows below which a second goroutine costs more than it brings.
const fewRows = 1 << 14

// share does something to all of n rows, on all CPUs where they are many.
func (f *fold) share(n int, do func(from, to int)) {
	if n < fewRows {
		do(0, n)
		return
	}
	var wait sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	step := (n/parts/blockRows + 1) * blockRows
	for from := 0; from < n; from += step {
		wait.Go(func() { do(from, min(from+step, n)) })
	}
	wait.Wait()
}

// jobs does so many jobs over n rows, on all CPUs where they are many.
func (f *fold) jobs(n, jobs int, job func(d *ranker, i int)) {
	if n < fewRows {
		for i := range jobs {
			job(&f.ranker, i)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for k := range min(jobs, runtime.GOMAXPROCS(0)) {
		if k == len(f.rankers) {
			f.rankers = append(f.rankers, &ranker{})
		}
		d := f.rankers[k]
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < jobs; i = int(next.Add(1)) - 1 {
				job(d, i)
			}
		})
	}
	wait.Wait()
}

// timingMetric returns the distribution of one timing, and its twin over all planned rows
// where there is one.
func (f *fold) timingMetric(d *ranker, t *timing, values []int64) []summary.Metric {
	d.x = resized(d.x, len(values))
	m := t.metric(t.pop)
	if t.id == "client_time" && f.sheet.lowerBound {
		m.Note = lowerBoundNote
	}
	if t.id == "fluidity" && f.o.Fluidity == nil {
		m.Note = "no deadlines given"
	}
	if t.planned {
		return f.summed(d, t, values, f.servedAndPlanned(d, t, m, values))
	}
	want, n := states[t.pop], 0
	for i, s := range f.taken.state {
		switch v := values[i]; {
		case !want.holds(s):
		case v <= notApplicable:
			m.Nulls++
		default:
			d.x[n] = v
			n++
		}
	}
	d.fill(&m, d.x[:n])
	return f.summed(d, t, values, []summary.Metric{m})
}

// summed puts the sums of a timing beside what was made of it, where they are wanted.
func (f *fold) summed(d *ranker, t *timing, values []int64, made []summary.Metric) []summary.Metric {
	if f.sums != nil && len(values) == f.rows.n { // of all rows, not of a group
		f.sums.timing(t, f.taken.state, values, made, &d.all)
	}
	return made
}

func (t *timing) metric(pop string) summary.Metric {
	return summary.Metric{ID: t.id, Side: t.side, Unit: t.unit, Population: pop, Weighting: byRequest, Method: exact, Definition: t.formula}
}

// servedAndPlanned returns the distribution of a timing over the ok rows, and that over every
// planned row, where misses rank as +infinity. Rows that the plan cut short, and ok rows to
// which the metric cannot apply, are left out of the second; an ok row that should have a value
// and has none is a miss. Both are ranked together: the values of the first are those of the
// second that are no misses, in the same order.
func (f *fold) servedAndPlanned(d *ranker, t *timing, served summary.Metric, values []int64) []summary.Metric {
	m := t.metric(popPlanned)
	n, misses := 0, 0
	for i, s := range f.taken.state {
		if s&isPlanned == 0 || s&isCut != 0 {
			continue
		}
		v := values[i]
		if s&isOK > 0 && v <= notApplicable {
			served.Nulls++
		}
		if v == notApplicable {
			m.Nulls++
			continue
		}
		if s&isOK == 0 || v == null {
			v = miss
			misses++
		}
		d.x[n] = v
		n++
	}
	x := d.x[:n]
	if misses == n {
		m.Nulls += int64(n)
		d.fill(&served, nil)
		d.fill(&m, nil)
		m.Note = "no request has a value"
		return []summary.Metric{served, m}
	}
	if misses == 0 { // the same values
		d.fill(&served, x)
		m.N, m.Sum, m.Mean, m.Std, m.Min, m.Max = served.N, served.Sum, served.Mean, served.Std, served.Min, served.Max
		m.Percentiles = slices.Clone(served.Percentiles)
		return []summary.Metric{served, m}
	}
	served.N, m.N = int64(n-misses), int64(n)
	d.all = stats.Moments{}
	d.all.AddBelow(x, miss)
	moments(&served, &d.all)
	d.order.Load(x)
	served.Percentiles = d.percentiles(served.N)
	m.Percentiles = d.percentiles(m.N)
	m.Note = fmt.Sprintf("%d of %d are misses and rank as +infinity", misses, n)
	return []summary.Metric{served, m}
}

// rank returns the nearest ranks of levels, in thousandths, among values.
func (d *ranker) rank(x []int64, levels ...int64) []int64 {
	ranks := make([]int64, len(levels))
	for i, level := range levels {
		ranks[i] = stats.NearestRank(int64(len(x)), level)
	}
	d.order.Load(x)
	return d.order.At(ranks)
}

// fill computes a distribution from its values, of which none is a miss, in the order of the
// rows.
func (d *ranker) fill(m *summary.Metric, x []int64) {
	m.N = int64(len(x))
	d.all = stats.Moments{}
	d.all.AddAll(x)
	moments(m, &d.all)
	d.order.Load(x)
	m.Percentiles = d.percentiles(m.N)
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

// percentiles are the nearest ranks of the n lowest values that are loaded, which are all of
// them or all but the misses, with the ranks that bound them. How many requests in a row carry the information of one is taken, for each, from the
// indicator of lying above the percentile.
func (d *ranker) percentiles(n int64) []summary.Percentile {
	out := make([]summary.Percentile, len(Levels))
	var ranks []int64 // of the levels from the first that are above their floor
	var of []int
	for i, level := range Levels {
		out[i].Level = level
		if floor := floorOf[i]; n < floor {
			out[i].Reason = fmt.Sprintf("needs %d values, has %d", floor, n)
			continue
		}
		ranks, of = append(ranks, stats.NearestRank(n, level)), append(of, i)
	}
	if len(of) == 0 {
		return out
	}
	limits := d.order.At(ranks)
	taus, settled := d.order.Taus(limits, int(n))
	ranks = ranks[:0]
	var ends []*formats.Int
	for k, i := range of {
		p := &out[i]
		if limits[k] == miss {
			p.Infinite = true
			p.Reason = "the rank falls on a miss"
			continue
		}
		p.Value = formats.Some(limits[k])
		p.Tau, p.Neff = number(taus[k]), number(float64(n)/taus[k])
		if !settled[k] {
			p.Reason = "no interval: the values hang together over longer stretches than the row can show"
			continue
		}
		low, high := stats.Interval(n, p.Level, taus[k])
		ranks, ends = append(ranks, low), append(ends, &p.Low)
		if high > 0 {
			ranks, ends = append(ranks, high), append(ends, &p.High)
		}
	}
	for k, v := range d.order.At(ranks) {
		if v != miss { // a miss bounds nothing
			*ends[k] = formats.Some(v)
		}
	}
	return out
}

// floorOf are the sample floors of Levels.
var floorOf = func() (n [len(Levels)]int64) {
	for i, level := range Levels {
		n[i] = stats.Floor(level)
	}
	return n
}()

// sketched fills a distribution from a histogram and the exact moments beside it.
func sketched(m *summary.Metric, h *stats.Histogram, all *stats.Moments) {
	m.N = h.N()
	moments(m, all)
	values := h.Quantiles(Levels[:])
	for i, level := range Levels {
		p := summary.Percentile{Level: level}
		if floor := floorOf[i]; m.N < floor {
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
