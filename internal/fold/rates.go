package fold

import (
	"fmt"
	"math"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// Below these a window has counts, but no rates.
const (
	minWindow = 10 * second
	minRows   = 20
)

// NoRates says why a window of a length in ns with a number of planned rows has no
// rates, "" when it has.
func NoRates(length, planned int64) string {
	if length >= minWindow && planned >= minRows {
		return ""
	}
	return fmt.Sprintf("rates need a window of 10 s and 20 planned requests, this one has %.3g s and %d", float64(length)/second, planned)
}

// rates computes what happened per second of the window.
func (f *fold) rates(w *flow) view {
	s := f.sheet
	length := f.length()
	var planned, sent, ok, ended, o, cut, in, uncached, inputs, noCached, noInput int64
	var okRows, okTokens int64
	first, last := int64(miss), int64(null)
	reasoning, answers := 0.0, int64(0) // summed in the order of the rows
	from := f.window.FromNS
	return view{func(x *frame) {
		marks, u, asked, end, firsts, lasts := x.marks(), x.u(), x.col(cAsked), x.col(cEnd), x.col(cFirst), x.col(cLast)
		arrived, ins, outs, cached, thought := x.arrived(), x.col(cIn), x.col(cOut), x.col(cCached), x.col(cReasoning)
		for i := range x.n {
			m := marks[i]
			if m&isPlanned > 0 {
				planned++
				w.batches.add(&w.batches.planned, from, u[i], 1)
				switch {
				case m&isOK > 0:
					o++
				case m&isCut > 0:
					cut++
				}
			}
			if m&isSent > 0 && f.inside(asked[i]) {
				sent++
				w.batches.add(&w.batches.sent, from, asked[i], 1)
			}
			if f.inside(end[i]) {
				ended++
				w.batches.add(&w.batches.ended, from, end[i], 1)
				if m&isOK > 0 {
					ok++
					w.batches.add(&w.batches.ok, from, end[i], 1)
				}
			}
			if f.inside(firsts[i]) {
				if ins[i] == null {
					noInput++
				} else {
					inputs++
					in += ins[i]
					w.batches.add(&w.batches.input, from, firsts[i], ins[i])
				}
				if cached[i] == null {
					noCached++
				} else if ins[i] != null {
					uncached += ins[i] - cached[i]
				}
			}
			if arrived[i] > 0 && thought[i] != null && outs[i] != null && outs[i] > 0 {
				answers++
				reasoning += float64(arrived[i]) * float64(min(thought[i], outs[i])) / float64(outs[i])
			}
			if m&isOK > 0 && asked[i] != null && lasts[i] != null {
				okRows++
				okTokens += max(0, outs[i])
				first, last = min(first, asked[i]), max(last, lasts[i])
			}
		}
	}, func() {
		f.shares(planned, o, cut)
		s.set("window_s", float64(length)/second, planned, "")
		rates := []struct {
			id string
			n  int64
		}{{"planned_rps", planned}, {"sent_rps", sent}, {"ok_rps", ok}, {"ended_rps", ended}, {"out_tps", w.tokens}}
		for _, r := range rates {
			s.keep(r.id, r.n, 0)
		}
		s.keep("in_tps", in, inputs)
		s.keep("in_uncached_tps", uncached, inputs)
		s.keep("uncounted", noInput, noCached)
		ids := []string{"reasoning_tps", "answer_tps", "in_tps", "in_uncached_tps", "total_tps"}
		reason := NoRates(length, planned)
		if f.rated = reason == ""; !f.rated {
			for _, r := range rates {
				s.none(r.id, reason)
			}
			s.noneOf(reason, ids...)
		} else {
			per := func(n int64) float64 { return float64(n) * second / float64(length) }
			for _, r := range rates {
				s.set(r.id, per(r.n), r.n, "")
			}
			f.outTPS, f.okRPS, f.inTokens, f.outTokens = per(w.tokens), per(ok), in, w.tokens
			if answers > 0 {
				v := reasoning * second / float64(length)
				s.set("reasoning_tps", v, answers, "")
				s.set("answer_tps", per(w.tokens)-v, answers, "")
			} else {
				s.noneOf("the server does not count reasoning tokens", "reasoning_tps", "answer_tps")
			}
			v := math.NaN()
			if noInput == 0 {
				v = per(in)
			}
			uncounted := fmt.Sprintf("the server did not count the input tokens of %d requests", noInput)
			s.set("in_tps", v, inputs, uncounted)
			s.set("total_tps", v+per(w.tokens), inputs, uncounted)
			f.inKnown = noInput == 0
			if noCached > 0 || noInput > 0 {
				v = math.NaN()
			} else {
				v = per(uncached)
			}
			s.set("in_uncached_tps", v, inputs, fmt.Sprintf("the server did not count the cached tokens of %d requests", noCached))
		}
		s.keep("span", okRows, okTokens)
		f.spanFrom, f.spanTo = first, last
		span := math.NaN()
		if okRows > 0 && last > first {
			span = float64(last - first)
		}
		s.set("span_rps", float64(okRows)*second/span, okRows, "no ok rows with tokens")
		s.set("span_out_tps", float64(okTokens)*second/span, okRows, "no ok rows with tokens")
	}}
}

// shares sets one share per outcome.
func (f *fold) shares(planned, o, cut int64) {
	f.plan.InWindow = planned
	const noRows = "no planned rows in the window"
	f.sheet.keep("failure_share", o, planned-cut)
	f.sheet.set("failure_share", 1-share(o, planned-cut), planned-cut, noRows)
	for i, name := range run.Outcomes {
		f.sheet.ratio("share_"+name, f.in[i], planned, planned, noRows)
	}
}

// plannedSums fills the totals of the plan, over all rows.
func (f *fold) plannedSums() view {
	var expected int64
	known := false
	return view{func(x *frame) {
		in, out, cached := x.col(cPlannedIn), x.col(cPlannedOut), x.col(cExpected)
		for i := range x.n {
			f.plan.InputTokens += max(0, in[i])
			f.plan.OutputTokens += max(0, out[i])
			if cached[i] != null {
				known = true
				expected += cached[i]
			}
		}
	}, func() {
		if known {
			f.plan.ExpectedCachedTokens = formats.Some(expected)
		}
	}}
}

// loadSeries adds the values by second from the start of the load.
func (f *fold) loadSeries() {
	l := &f.load
	if l.seconds == 0 {
		return
	}
	for _, x := range []struct {
		id, unit string
		v        []int64
	}{{"planned", "1/s", l.planned}, {"sent", "1/s", l.sent}, {"ok", "1/s", l.ok}, {"ended", "1/s", l.ended}, {"out_tps", "tokens/s", l.tokens},
		{"in_flight", "requests", l.inFlight}} {
		f.series = append(f.series, seriesOf(x.id, x.unit, l.from, second, x.v))
	}
	ttft := summary.Series{ID: "ttft_p50", Unit: "ns", FromNS: l.from, StepNS: second, Values: make([]*float64, len(l.ttft))}
	for i, v := range l.ttft {
		if v != null {
			ttft.Values[i] = number(float64(v))
		}
	}
	f.series = append(f.series, ttft)
}

// windowSeries adds the values by thirtieth of the window.
func (f *fold) windowSeries(w *windowSeries) {
	if w.step == 0 {
		return
	}
	for _, x := range []struct {
		id, unit string
		v        [batches]int64
	}{{"batch_planned", "1/s", w.planned}, {"batch_sent", "1/s", w.sent}, {"batch_ok", "1/s", w.ok}, {"batch_ended", "1/s", w.ended},
		{"batch_out_tps", "tokens/s", w.tokens}, {"batch_in_tps", "tokens/s", w.input}} {
		f.series = append(f.series, seriesOf(x.id, x.unit, f.window.FromNS, w.step, x.v[:]))
	}
}
