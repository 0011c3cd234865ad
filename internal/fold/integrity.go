package fold

import (
	"fmt"
	"math"
)

// integrity computes what says whether the rows can be believed.
func (f *fold) integrity() view {
	var planned int64
	for _, p := range f.parts {
		planned += p.end.Planned
	}
	f.plan.Requests = planned
	s := f.sheet
	s.count("conservation", planned-f.plan.Rows, planned)
	worst := ""
	if f.order.rows > 0 {
		worst = fmt.Sprintf("request %d", f.order.worst)
	}
	s.count("order_rows", f.order.rows, f.plan.Rows).Evidence = worst
	s.count("order_over", f.order.over, f.plan.Rows)
	s.count("order_max_ns", f.order.most, f.plan.Rows).Evidence = worst
	s.count("early_sends", f.order.early, f.plan.Rows)

	var both, disorder int64
	f.drift()
	return view{func(x *frame) {
		marks, wire, user := x.marks(), x.ttftWire(), x.ttftUser()
		for i := range x.n {
			if marks[i]&isOK == 0 || wire[i] == null || user[i] == null {
				continue
			}
			if both++; wire[i] > user[i]+orderSlack {
				disorder++
			}
		}
	}, func() {
		if both > 0 {
			s.count("disorder", disorder, both)
		} else {
			s.none("disorder", "no kernel stamps")
		}
	}}
}

// drift is how far wall clock and monotonic clock moved apart.
func (f *fold) drift() {
	var most, clocks int64
	worst := ""
	for i, p := range f.parts {
		for _, c := range p.end.Detail.Clocks {
			clocks++
			d := c.EndNS - c.StartNS
			if d = max(d, -d); d > most {
				most, worst = d, fmt.Sprintf("worker %d of part %d", c.Worker, i)
			}
		}
	}
	if clocks == 0 {
		f.sheet.none("clock_drift_ns", "no clock readings")
		return
	}
	f.sheet.count("clock_drift_ns", most, clocks).Evidence = worst
}

// counts compares the rows with the counters of the client table. The rows of a worker
// that left none have nothing to be compared with; they are counted apart.
func (f *fold) counts() view {
	if len(f.clients) == 0 {
		f.sheet.noneOf("no client rows", "dispatched_gap", "completed_gap", "unseen_share")
		return view{}
	}
	told := newPerWorker(false)
	var dispatched, completed int64
	for i := range f.clients {
		c := &f.clients[i]
		*told.of(int64(c.part), int64(c.worker)) = true
		dispatched += max(0, c.dispatched)
		completed += max(0, c.completed)
	}
	var sent, ended, planned, unseen int64
	evidence := ""
	return view{func(x *frame) {
		marks, part, who, end := x.marks(), x.col(cPart), x.col(cWorker), x.col(cEnd)
		for i := range x.n {
			seen := who[i] < 0 || *told.of(part[i], who[i]) // one that no worker took is no worker's fault
			if marks[i]&isPlanned > 0 {
				if planned++; !seen {
					if unseen++; unseen == 1 {
						evidence = fmt.Sprintf("worker %d of part %d left no client row", who[i], part[i])
					}
				}
			}
			if marks[i]&isDispatched == 0 || !seen {
				continue
			}
			sent++
			if end[i] != null {
				ended++
			}
		}
	}, func() {
		f.sheet.count("dispatched_gap", dispatched-sent, sent)
		f.sheet.count("completed_gap", completed-ended, sent)
		f.sheet.ratio("unseen_share", unseen, planned, planned, "no planned rows in the window").Evidence = evidence
	}}
}

// tokens computes what says whether the lengths can be believed.
func (f *fold) tokens() view {
	s := f.sheet
	var o, first, assumed, withEvents, outs, events, two, gapped, missed int64
	var source [len(sources)]int64
	overhead := f.room()
	var in, plannedIn, out, plannedOut, inBoth, outBoth int64
	var totals [5]int64
	return view{func(x *frame) {
		marks, flags, firsts, gaps, firstChunk, tpot := x.marks(), x.col(cFlags), x.col(cFirst), x.col(cGapN), x.col(cFirstChunk), x.tpotUser()
		ins, outputs, chunks, planIn, planOut := x.col(cIn), x.col(cOut), x.col(cTokens), x.col(cPlannedIn), x.col(cPlannedOut)
		for k, v := range [...]*column{ins, outputs, x.col(cReasoning), x.col(cCached), chunks} {
			for _, n := range v[:x.n] {
				totals[k] += max(0, n)
			}
		}
		for i := range x.n {
			if marks[i]&(isPlanned|isOK) != isPlanned|isOK {
				continue
			}
			o++
			source[sourceIn(flags[i])]++
			if firsts[i] != null {
				first++
			}
			if firstChunk[i] == null && tpot[i] != null {
				assumed++
			}
			n := outputs[i]
			if n != null && chunks[i] != null {
				withEvents++
				outs += n
				events += chunks[i]
			}
			if n != null && n >= 2 {
				if two++; gaps[i] > 0 || chunks[i] >= 2 {
					gapped++
				}
			}
			if ins[i] != null && planIn[i] != null {
				inBoth++
				in += ins[i]
				plannedIn += planIn[i]
				overhead = append(overhead, ins[i]-planIn[i])
			}
			if n != null && planOut[i] != null {
				outBoth++
				out += n
				plannedOut += planOut[i]
				d := n - planOut[i]
				if d = max(d, -d); d > 2 && 50*d > planOut[i] {
					missed++
				}
			}
		}
	}, func() {
		distinct := int64(0)
		for i, id := range [...]string{"source_share_usage_chunks", "source_share_usage", "source_share_tokenizer", "source_share_events", "source_share_none"} {
			s.ratio(id, source[i], o, o, noOK)
			if source[i] > 0 {
				distinct++
			}
		}
		s.count("mixed_source", max(0, distinct-1), o)
		s.count("tpot_first_assumed", assumed, o)
		s.ratio("tokens_per_event", outs, events, withEvents, "no row has both counts")
		f.streamed(o, first, two, gapped)

		const noPlan = "no ok row has both counts"
		median := math.NaN()
		if inBoth > 0 {
			median = float64(f.ranker.rank(overhead, 500)[0])
		}
		f.free(overhead)
		s.set("input_overhead", median, inBoth, noPlan)
		s.set("input_error", (float64(in)-float64(inBoth)*median)/float64(plannedIn)-1, inBoth, noPlan)
		s.keep("output_error", out, plannedOut)
		s.set("output_error", float64(out)/float64(plannedOut)-1, outBoth, noPlan)
		s.ratio("length_miss_share", missed, outBoth, outBoth, noPlan)
		for i, id := range [...]string{"input_tokens_total", "output_tokens_total", "reasoning_tokens_total", "cached_tokens_total", "token_events_total"} {
			s.count(id, totals[i], f.plan.Rows)
		}
	}}
}

const noOK = "no ok rows in the window"

// streamed sets the shares that only mean something for streamed answers.
func (f *fold) streamed(o, first, two, gapped int64) {
	for _, p := range f.parts {
		if !p.header.Streaming {
			f.sheet.noneOf("answers are not streamed", "token_event_share", "gap_share")
			return
		}
	}
	f.sheet.ratio("token_event_share", first, o, o, noOK)
	f.sheet.ratio("gap_share", gapped, two, two, "no ok row has two tokens")
}

// outcomes counts rows by outcome, those without a planned time, and those with a kernel
// stamp.
func (f *fold) outcomes() view {
	stamped := false
	return view{func(x *frame) {
		marks, flags, kernel, u := x.marks(), x.col(cFlags), x.col(cFirstKernel), x.u()
		for i := range x.n {
			outcome := outcomeIn(flags[i])
			f.all[outcome]++
			if marks[i]&isPlanned > 0 {
				f.in[outcome]++
				stamped = stamped || kernel[i] != null
			}
			if u[i] == null {
				f.untimed++
			}
		}
	}, func() { f.sheet.lowerBound = !stamped }}
}
