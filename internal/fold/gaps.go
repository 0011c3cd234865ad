package fold

import (
	"fmt"

	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// sketch is a histogram with the exact moments beside it.
type sketch struct {
	h     *stats.Histogram
	all   stats.Moments
	small []int64 // how often each number of µs came, for most of those there are; nil: not counted apart
}

// counted is the number of µs below which a sketch may count each value by itself.
const counted = 1 << 16

// addUS takes in a number of µs once.
func (s *sketch) addUS(us int64) {
	if uint64(us) < uint64(len(s.small)) {
		s.small[us]++
		return
	}
	s.add(1000*us, 1)
}

// addAll takes in numbers of µs, but for those that are null.
func (s *sketch) addAll(us []int64) {
	small := s.small
	for _, v := range us {
		if uint64(v) < uint64(len(small)) {
			small[v]++
		} else if v != null {
			s.add(1000*v, 1)
		}
	}
}

// settle takes in what was counted apart.
func (s *sketch) settle() {
	for us, n := range s.small {
		s.add(1000*int64(us), n)
	}
	s.small = nil
}

func newSketch(digits int) *sketch { return &sketch{h: stats.NewHistogram(digits)} }

func (s *sketch) add(v, n int64) {
	s.h.Record(v, n)
	s.all.AddN(v, n)
}

// gapSketches are the distributions over the gaps and tokens of some rows.
type gapSketches struct {
	icl, wire, even, stall, delay *sketch
	stamped, sameRead             int64 // gaps with two kernel stamps, and with two equal ones
}

func newGapSketches(digits int) *gapSketches {
	return &gapSketches{icl: newSketch(digits), wire: newSketch(digits), even: newSketch(digits), stall: newSketch(digits), delay: newSketch(digits)}
}

// flow gathers what the tokens of all rows say about the window.
type flow struct {
	*gapSketches
	tokens   int64     // arrived in W
	bySecond []int64   // arrived in each whole second of W
	area     stats.Sum // of tokens in flight over W
	areaRows int64
	batches  *windowSeries
}

func (f *fold) newFlow() *flow {
	f.rows.arrived = make([]int64, f.rows.n)
	g := newGapSketches(3)
	for _, s := range [...]*sketch{g.icl, g.wire, g.stall, g.delay} {
		s.small = make([]int64, counted)
	}
	return &flow{gapSketches: g, bySecond: make([]int64, f.length()/second), batches: f.newWindowSeries()}
}

// settled gives the lists of a row the number that the row has now, and the times of the row.
func (f *fold) settled(c *chunks) {
	c.row, c.part = int64(f.placed(int32(c.row))), int64(f.position[c.part])
	if off := f.parts[c.part].offset; off != 0 {
		for _, t := range [...]*int64{&c.u, &c.first, &c.wrote, &c.leave} {
			if *t != null {
				*t += off
			}
		}
	}
}

// chunked takes in the lists of a row.
func (f *fold) chunked(w *flow, c *chunks) {
	f.settled(c)
	c.arrive()
	to := intoWindow{w: w, from: f.window.FromNS, to: f.window.ToNS, until: w.stay(f, c.in, c.wrote, c.leave)}
	c.walk(&to)
	if f.sums != nil {
		c.walk(&bySteps{counts: f.sums.tokens, from: f.sums.from, step: second})
	}
	w.tokens += to.arrived
	f.rows.arrived[c.row] = to.arrived
	if c.ok == 1 && f.inside(c.u) {
		w.add(c)
		if g := f.groups.of(int32(c.row)); g != nil {
			g.add(c)
		}
	}
}

// listless takes in the rows without chunk lists.
func (f *fold) listless(w *flow) view {
	return view{see: func(x *frame) {
		marks, arrived, in, wrote, leave := x.marks(), x.arrived(), x.col(cIn), x.col(cWrote), x.lastArrival()
		for i := range x.n {
			if marks[i]&isSpooled > 0 {
				continue
			}
			s := x.stream(i)
			arrived[i] = f.flows(w, &s, in[i], wrote[i], leave[i])
		}
		copy(f.rows.arrived[x.first:], arrived[:x.n])
	}}
}

// flows takes in the tokens of a row without chunk lists and returns how many arrived in the
// window. The row had so many input tokens, was written at an instant, and its last token left
// at another.
func (f *fold) flows(w *flow, s *stream, in, wrote, leave int64) int64 {
	from, to := f.window.FromNS, f.window.ToNS
	n := s.within(from, to)
	w.tokens += n
	if n > 0 {
		s.into(w.bySecond, from, second)
		s.into(w.batches.tokens[:], from, w.batches.step)
	}
	if f.sums != nil {
		s.into(f.sums.tokens, f.sums.from, second)
	}
	s.stay(&w.area, from, w.stay(f, in, wrote, leave))
	return n
}

// stay takes in the input tokens of a row and returns until when its output tokens stay in
// flight in the window; its beginning, or before that: none does, or it is not known.
func (w *flow) stay(f *fold, in, wrote, leave int64) (until int64) {
	from, to := f.window.FromNS, f.window.ToNS
	if in == null || wrote == null || leave == null {
		return from
	}
	until = min(leave, to)
	if stay := until - max(wrote, from); stay > 0 {
		w.area.AddProduct(in, stay)
		w.areaRows++
	}
	return until
}

// intoWindow counts the tokens of an answer in the window: all, by second, by thirtieth, and how
// long they stay in flight.
type intoWindow struct {
	w        *flow
	from, to int64
	until    int64 // they stay, from the window's beginning on
	arrived  int64

	before, inside, staying bool // of the stretch at hand
	second, batch           int64
}

func (x *intoWindow) at(t int64) (low, high int64) {
	x.before, x.inside = t < x.from, t >= x.from && t < x.to
	x.staying = t < x.until && x.until > x.from
	switch {
	case x.before:
		return earliest, x.from
	case !x.inside:
		return x.to, endless
	}
	x.second = (t - x.from) / second
	low = x.from + x.second*second
	high = min(x.to, low+second)
	if step := x.w.batches.step; step > 0 {
		x.batch = (t - x.from) / step
		begin := x.from + x.batch*step
		low, high = max(low, begin), min(high, begin+step)
	} else {
		x.batch = batches
	}
	if x.staying {
		return low, min(high, x.until)
	}
	return max(low, x.until), high
}

func (x *intoWindow) take(n, t, more int64) {
	if x.inside {
		x.arrived += n
		if x.second < int64(len(x.w.bySecond)) {
			x.w.bySecond[x.second] += n
		}
		if x.batch < batches {
			x.w.batches.tokens[x.batch] += n
		}
	}
	if x.staying {
		if x.before {
			x.w.area.AddProduct(n, x.until-x.from)
		} else {
			x.w.area.AddProduct(n, x.until-t)
			x.w.area.Add(-more)
		}
	}
}

// add takes in the chunk lists of one row.
func (w *gapSketches) add(c *chunks) {
	w.icl.addAll(c.gaps)
	w.delay.addAll(c.delays)
	if len(c.delays) > 0 {
		w.wired(c.gaps, c.delays)
	}
	if !known(c.tokens) || c.out == null {
		return
	}
	var sum int64
	for _, n := range c.tokens {
		sum += n
	}
	if diff := sum - c.out; 50*max(diff, -diff) > c.out {
		return
	}
	var waited int64 // µs; a gap that brought nothing belongs to the next that did
	for i, g := range c.gaps {
		waited += g
		n := c.tokens[i+1]
		if n == 0 {
			continue
		}
		w.even.add(roundDiv(1000*waited, 1, n), n)
		w.stall.addUS(waited)
		w.stall.add(0, n-1)
		waited = 0
	}
}

// namedSketch is a sketch with the id of its metric.
type namedSketch struct {
	id string
	s  *sketch
}

func (w *gapSketches) named() [5]namedSketch {
	return [...]namedSketch{{"icl", w.icl}, {"icl_wire", w.wire}, {"itl_even", w.even}, {"itl_stall", w.stall}, {"recv_delay", w.delay}}
}

// wired takes in the gaps between kernel stamps.
func (w *gapSketches) wired(gaps, delays []int64) {
	small, stamped, sameRead := w.wire.small, int64(0), int64(0)
	before := delays[0]
	for i, d := range delays[1:][:len(gaps)] {
		was := before
		if before = d; d == null || was == null {
			continue
		}
		g := gaps[i] - d + was
		if uint64(g) < uint64(len(small)) {
			small[g]++
		} else {
			w.wire.add(1000*g, 1)
		}
		if stamped++; g == 0 {
			sameRead++
		}
	}
	w.stamped += stamped
	w.sameRead += sameRead
}

// metrics returns the distributions over gaps and tokens, and their sketches.
func (w *gapSketches) metrics() (metrics []summary.Metric, sketches []summary.Sketch, err error) {
	for _, x := range w.named() {
		id, s := x.id, x.s
		s.settle()
		m := gathering(id)
		sketched(&m, s.h, &s.all)
		switch {
		case m.N > 0:
		case id == "icl_wire" || id == "recv_delay":
			m.Note = "no kernel stamps"
		case id == "icl":
			m.Note = "no request has a gap between token events"
		default:
			m.Note = "the server does not say how many tokens a chunk carries"
		}
		if n := s.h.Digits(); n != 3 {
			m.Method = fmt.Sprintf("HdrHistogram, %d digits", n)
		}
		metrics = append(metrics, m)
		data, err := s.h.Encode()
		if err != nil {
			return nil, nil, err
		}
		sketches = append(sketches, summary.Sketch{ID: m.ID, Side: m.Side, Digits: s.h.Digits(), Data: data})
	}
	return metrics, sketches, nil
}

// flowMetrics adds what the walk over all tokens found.
func (f *fold) flowMetrics(w *flow) error {
	metrics, sketches, err := w.metrics()
	if err != nil {
		return err
	}
	f.metrics, f.sketch = append(f.metrics, metrics...), append(f.sketch, sketches...)
	f.sums.gaps(w)
	f.sheet.keep("same_read_gaps", w.sameRead, w.stamped)
	if w.stamped > 0 {
		f.sheet.set("same_read_gaps", float64(w.sameRead)/float64(w.stamped), w.stamped, "")
	} else {
		f.sheet.none("same_read_gaps", "no kernel stamps")
	}
	m := gathering("out_tps_1s")
	if len(w.bySecond) < 10 {
		m.Note = "fewer than 10 whole seconds in the window"
		f.ranker.fill(&m, nil)
	} else {
		f.ranker.fill(&m, w.bySecond)
	}
	f.metrics = append(f.metrics, m)
	return nil
}

// gatheringAt is the place of a metric in the second table, −1 when it has none of that id.
func gatheringAt(id string) int {
	for i := range gatherings {
		if gatherings[i].id == id {
			return i
		}
	}
	return -1
}

// gathering starts a metric of the second table.
func gathering(id string) summary.Metric {
	i := gatheringAt(id)
	if i < 0 {
		panic("internal error: no metric " + id)
	}
	g := &gatherings[i]
	return summary.Metric{ID: g.id, Side: g.side, Unit: g.unit, Population: g.pop, Weighting: g.weighting, Method: g.method, Definition: g.formula}
}
