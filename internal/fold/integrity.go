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
	return view{func(r *rec) {
		wire, user := r.ttftWire(), r.ttftUser()
		if !r.ok() || wire == null || user == null {
			return
		}
		if both++; wire > user+orderSlack {
			disorder++
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
	type worker struct{ part, worker int64 }
	told := map[worker]bool{}
	var dispatched, completed int64
	for i := range f.clients {
		c := &f.clients[i]
		told[worker{int64(c.part), int64(c.worker)}] = true
		dispatched += max(0, c.dispatched)
		completed += max(0, c.completed)
	}
	var sent, ended, planned, unseen int64
	evidence := ""
	return view{func(r *rec) {
		seen := told[worker{r.part, r.worker}] || r.worker < 0 // one that no worker took is no worker's fault
		if r.inWindow {
			if planned++; !seen {
				if unseen++; unseen == 1 {
					evidence = fmt.Sprintf("worker %d of part %d left no client row", r.worker, r.part)
				}
			}
		}
		if r.dispatched == null || !seen {
			return
		}
		sent++
		if r.end != null {
			ended++
		}
	}, func() {
		f.sheet.count("dispatched_gap", dispatched-sent, sent)
		f.sheet.count("completed_gap", completed-ended, sent)
		f.sheet.set("unseen_share", share(unseen, planned), planned, "no planned rows in the window").Evidence = evidence
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
	return view{func(r *rec) {
		for i, v := range [...]int64{r.in, r.out, r.reasoning, r.cached, r.tokens} {
			totals[i] += max(0, v)
		}
		if !r.inWindow || !r.ok() {
			return
		}
		o++
		source[r.source]++
		if r.first != null {
			first++
		}
		if r.firstChunk == null && r.tpotUser() != null {
			assumed++
		}
		if r.out != null && r.tokens != null {
			withEvents++
			outs += r.out
			events += r.tokens
		}
		if r.out != null && r.out >= 2 {
			if two++; r.gapN > 0 || r.tokens >= 2 {
				gapped++
			}
		}
		if r.in != null && r.plannedIn != null {
			inBoth++
			in += r.in
			plannedIn += r.plannedIn
			overhead = append(overhead, r.in-r.plannedIn)
		}
		if r.out != null && r.plannedOut != null {
			outBoth++
			out += r.out
			plannedOut += r.plannedOut
			d := r.out - r.plannedOut
			if d = max(d, -d); d > 2 && 50*d > r.plannedOut {
				missed++
			}
		}
	}, func() {
		distinct := int64(0)
		for i, id := range [...]string{"source_share_usage_chunks", "source_share_usage", "source_share_tokenizer", "source_share_events", "source_share_none"} {
			s.set(id, share(source[i], o), o, noOK)
			if source[i] > 0 {
				distinct++
			}
		}
		s.count("mixed_source", max(0, distinct-1), o)
		s.count("tpot_first_assumed", assumed, o)
		s.set("tokens_per_event", share(outs, events), withEvents, "no row has both counts")
		f.streamed(o, first, two, gapped)

		const noPlan = "no ok row has both counts"
		median := math.NaN()
		if inBoth > 0 {
			median = float64(f.ranker.rank(overhead, 500)[0])
		}
		s.set("input_overhead", median, inBoth, noPlan)
		s.set("input_error", (float64(in)-float64(inBoth)*median)/float64(plannedIn)-1, inBoth, noPlan)
		s.set("output_error", float64(out)/float64(plannedOut)-1, outBoth, noPlan)
		s.set("length_miss_share", share(missed, outBoth), outBoth, noPlan)
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
	f.sheet.set("token_event_share", share(first, o), o, noOK)
	f.sheet.set("gap_share", share(gapped, two), two, "no ok row has two tokens")
}

// outcomes counts rows by outcome, those without a planned time, and those with a kernel
// stamp.
func (f *fold) outcomes() view {
	stamped := false
	return view{func(r *rec) {
		f.all[r.outcome]++
		if r.inWindow {
			f.in[r.outcome]++
			stamped = stamped || r.firstKernel != null
		}
		if r.u() == null {
			f.untimed++
		}
	}, func() { f.sheet.lowerBound = !stamped }}
}
