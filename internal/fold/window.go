package fold

import (
	"fmt"
	"slices"
	"time"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

const second = 1_000_000_000

// load is the stretch from the first to the last planned request, with its values
// by second from the start.
type load struct {
	from, to int64 // first and last u
	any      bool
	seconds  int // whole seconds, for warm-up detection
	planned  []int64
	sent     []int64
	ok       []int64
	ended    []int64
	inFlight []int64 // at the start of each second
	tokens   []int64 // arrived
	ttft     []int64 // median by second of the first token, null where none came
}

// findLoad finds the load and counts by second.
func (f *fold) findLoad() error {
	l := &f.load
	rows := f.rows.cursor()
	for i := range f.rows.n { // those without a planned time come first
		if j := rows.seek(i); rows.u()[j] != null {
			l.from, l.any = rows.u()[j], true
			j = rows.seek(f.rows.n - 1)
			l.to = rows.u()[j]
			break
		}
	}
	if !l.any {
		return nil
	}
	span := (l.to - l.from) / second
	if span > maxSpan {
		return &formats.SyntaxError{Place: f.parts[0].place, What: "span of the planned times", Got: fmt.Sprintf("%d s", span),
			Want: fmt.Sprintf("at most %d s", maxSpan)}
	}
	l.seconds = int(span)
	n := l.seconds
	l.planned, l.sent, l.ok, l.ended, l.tokens = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	flights := newFlights(l.from, n)
	byFirst := newSecondly(l.from, n, f.rows.n)
	f.each(func(x *frame) {
		marks, u, asked, end, first, ttft := x.marks(), x.u(), x.col(cAsked), x.col(cEnd), x.col(cFirst), x.ttftUser()
		for i := range x.n {
			l.count(l.planned, u[i])
			if marks[i]&isSent > 0 {
				l.count(l.sent, asked[i])
			}
			l.count(l.ended, end[i])
			if marks[i]&isOK > 0 {
				l.count(l.ok, end[i])
				if ttft[i] != null {
					byFirst.add(first[i], ttft[i])
				}
			}
			if marks[i]&isSpooled == 0 {
				s := x.stream(i)
				s.into(l.tokens, l.from, second)
			}
		}
		flights.see(x)
		if f.dependent {
			f.ends = append(f.ends, end[:x.n]...)
		}
	})
	seconds := bySteps{counts: l.tokens, from: l.from, step: second}
	err := f.chunks.each(false, func(c *chunks, _ int64) error {
		f.settled(c)
		c.arrive()
		c.walk(&seconds)
		return nil
	})
	if err != nil {
		return err
	}
	l.inFlight = flights.counts()
	l.ttft = make([]int64, n)
	byFirst.each(func(i int, values []int64) {
		if l.ttft[i] = null; len(values) > 0 {
			l.ttft[i] = f.ranker.rank(values, 500)[0]
		}
	})
	return nil
}

// secondly gathers values by the second of an instant.
type secondly struct {
	from   int64
	n      int
	second []int32
	value  []int64
}

func newSecondly(from int64, n, rows int) *secondly {
	return &secondly{from: from, n: n, second: make([]int32, 0, rows), value: make([]int64, 0, rows)}
}

func (s *secondly) add(t, v int64) {
	if i := (t - s.from) / second; t >= s.from && i < int64(s.n) {
		s.second, s.value = append(s.second, int32(i)), append(s.value, v)
	}
}

// each hands out the values of each second.
func (s *secondly) each(do func(i int, values []int64)) {
	ends := make([]int, s.n+1)
	for _, i := range s.second {
		ends[i+1]++
	}
	for i := range s.n {
		ends[i+1] += ends[i]
	}
	out, at := make([]int64, len(s.value)), slices.Clone(ends)
	for k, i := range s.second {
		out[at[i]] = s.value[k]
		at[i]++
	}
	for i := range s.n {
		do(i, out[ends[i]:ends[i+1]])
	}
}

// count adds an instant to its second.
func (l *load) count(seconds []int64, t int64) { l.add(seconds, t, 1) }

func (l *load) add(seconds []int64, t, n int64) {
	if t == null || t < l.from {
		return
	}
	if i := (t - l.from) / second; i < int64(len(seconds)) {
		seconds[i] += n
	}
}

// flights counts the requests in flight at n instants one second apart: differences at the
// instants where a count changes, then their running sum.
type flights struct {
	from, end int64
	change    []int64
}

func newFlights(from int64, n int) *flights {
	return &flights{from: from, end: from + int64(n)*second, change: make([]int64, n+1)}
}

// first is the first instant at or after t; an open end lies beyond every instant.
func (x *flights) first(t int64) int64 {
	switch {
	case t <= x.from:
		return 0
	case t >= x.end:
		return int64(len(x.change)) - 1
	}
	return (t - x.from + second - 1) / second
}

func (x *flights) see(rows *frame) {
	asked, end := rows.col(cAsked), rows.col(cEnd)
	for i := range rows.n {
		if from, to, ok := flight(asked[i], end[i]); ok {
			x.change[x.first(from)]++
			x.change[x.first(to)]--
		}
	}
}

func (x *flights) counts() []int64 {
	n := len(x.change) - 1
	for i := 1; i < n; i++ {
		x.change[i] += x.change[i-1]
	}
	return x.change[:n]
}

// flight is the time in which a request was in flight; one without an end stays so.
func flight(asked, end int64) (from, to int64, ok bool) {
	if asked == null {
		return 0, 0, false
	}
	if end == null {
		return asked, miss, true
	}
	return asked, end, end > asked
}

// steady holds what MSER-5 says of the three series.
type steady struct {
	inFlight, ttft, tokens stats.Steady
}

// findWindow sets the window: from the latest of warm-up, ramp and cut to the last
// planned request.
func (f *fold) findWindow() error {
	l, w := &f.load, &f.window
	if !l.any {
		w.MSERNote = "no planned times"
		f.sheet.noneOf(w.MSERNote, "mser_batches", "mser_in_flight", "mser_ttft", "mser_out_tps")
		return nil
	}
	w.LoadFrom, w.LoadTo = l.from, l.to
	ramped := int64(null) // when the caps of every part have grown
	for _, p := range f.parts {
		w.WarmupNS = max(w.WarmupNS, p.header.WarmupNS)
		w.RampNS = max(w.RampNS, p.header.RampNS)
		if p.header.RampNS > 0 {
			ramped = max(ramped, p.offset+p.header.RampNS)
		}
	}
	if f.o.WarmupNS.Valid {
		w.WarmupNS = min(f.o.WarmupNS.V, maxTime) // what lies behind the load makes the window empty
	}
	end := l.to + 1 // the last planned request belongs to the window
	w.FromNS, w.ToNS = min(max(l.from+w.WarmupNS, ramped), end), end
	f.mser()
	if o := f.o.Window; o != nil {
		from := l.from
		if o.Wall {
			from = -f.epoch.WallNS
		} else if o.FromNS > MaxSpanNS || o.ToNS.Or(0) > MaxSpanNS {
			return f.windowError(fmt.Sprintf("at most %d s", maxSpan))
		}
		w.FromNS = max(from+o.FromNS, l.from)
		if o.ToNS.Valid {
			w.ToNS = from + o.ToNS.V
		}
		// A window that outlasts the load would count idle time as measured: rates too
		// low, and a duration that the judge's D1 would take for real.
		w.ToNS = max(min(w.ToNS, end), w.FromNS)
		f.note("the window was given: it does not follow the rule for steady windows")
	} else if w.MSERCutNS.Valid {
		w.FromNS = min(max(w.FromNS, l.from+w.MSERCutNS.V), end)
	}
	if w.FromNS == end {
		f.note("the warm-up, or the ramp, is as long as the load: the window is empty")
	}
	f.rows.from, f.rows.to = w.FromNS, w.ToNS
	planned := false
	for i, rows := 0, f.rows.cursor(); i < f.rows.n && !planned; i++ {
		j := rows.seek(i)
		planned = rows.marks()[j]&isPlanned > 0
	}
	if f.o.Window != nil && !planned {
		return f.windowError(fmt.Sprintf("some of 0 s to %.9g s, in which requests are planned", float64(l.to-l.from)/second))
	}
	return nil
}

// windowError refuses the window that was asked for.
func (f *fold) windowError(want string) error {
	if f.o.Window.Wall {
		at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
		return &formats.SyntaxError{Place: f.parts[0].place, What: "window", Got: at(f.o.Window.FromNS) + "/" + at(f.o.Window.ToNS.V),
			Want: "some of " + at(f.epoch.WallNS+f.load.from) + "/" + at(f.epoch.WallNS+f.load.to) + ", in which requests are planned"}
	}
	text := fmt.Sprintf("%.9g s:", float64(f.o.Window.FromNS)/second)
	if f.o.Window.ToNS.Valid {
		text += fmt.Sprintf("%.9g s", float64(f.o.Window.ToNS.V)/second)
	}
	return &formats.SyntaxError{Place: f.parts[0].place, What: "window", Got: text, Want: want}
}

// mser finds the cut after which in-flight count, median TTFT and token rate are
// all steady.
func (f *fold) mser() {
	l, w := &f.load, &f.window
	floats := func(v []int64) []float64 {
		x := make([]float64, len(v))
		for i := range v {
			x[i] = float64(v[i])
		}
		return x
	}
	f.span.inFlight = stats.MSER5(floats(l.inFlight))
	f.span.tokens = stats.MSER5(floats(l.tokens))
	f.span.ttft = stats.MSER5(floats(carried(l.ttft)))
	series := [...]struct {
		name, id string
		s        stats.Steady
	}{{"in flight", "mser_in_flight", f.span.inFlight}, {"median TTFT", "mser_ttft", f.span.ttft}, {"output tokens", "mser_out_tps", f.span.tokens}}
	f.sheet.count("mser_batches", int64(f.span.inFlight.Batches), int64(l.seconds))
	cut := 0
	for _, x := range series {
		if !x.s.Enough {
			w.MSERNote = fmt.Sprintf("%d batches of 5 s, at least 10 are needed", x.s.Batches)
			f.sheet.none(x.id, w.MSERNote)
			continue
		}
		f.sheet.count(x.id, int64(x.s.Cut), int64(x.s.Batches))
		cut = max(cut, x.s.Cut)
		if !x.s.Tail {
			w.MSERNote = fmt.Sprintf("%s has no steady tail: the best cut, %d of %d batches, lies in the second half", x.name, x.s.Cut, x.s.Batches)
		}
	}
	if w.MSERNote == "" {
		w.MSERCutNS = formats.Some(int64(cut) * 5 * second)
	}
}

// carried fills a second without a value with the one before it, and leading ones
// with the first.
func carried(v []int64) []int64 {
	out := slices.Clone(v)
	last := int64(null)
	for i := range out {
		if out[i] == null {
			out[i] = last
		}
		last = out[i]
	}
	next := int64(0)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] == null {
			out[i] = next
		}
		next = out[i]
	}
	return out
}

func (f *fold) note(s string) { f.notes = append(f.notes, s) }

// length is |W| in ns.
func (f *fold) length() int64 { return f.window.ToNS - f.window.FromNS }

// inside says whether an instant lies in the window.
func (f *fold) inside(t int64) bool { return t != null && t >= f.window.FromNS && t < f.window.ToNS }

// batches is the number of equal parts of the window that rates are decided by.
const batches = 30

// windowSeries counts per batch of the window.
type windowSeries struct {
	step                                    int64
	planned, sent, ok, ended, tokens, input [batches]int64
}

func (f *fold) newWindowSeries() *windowSeries { return &windowSeries{step: f.length() / batches} }

func (w *windowSeries) add(to *[batches]int64, from, t, n int64) {
	if t == null || t < from || w.step == 0 {
		return
	}
	if i := (t - from) / w.step; i < batches {
		to[i] += n
	}
}

// seriesOf turns counts per step into a series of rates.
func seriesOf(id, unit string, from, step int64, counts []int64) summary.Series {
	s := summary.Series{ID: id, Unit: unit, FromNS: from, StepNS: step, Values: make([]*float64, len(counts))}
	for i, c := range counts {
		v := float64(c) * second / float64(step)
		s.Values[i] = &v
	}
	return s
}
