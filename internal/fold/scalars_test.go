package fold

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// arrival is one token event as the slow version sees it.
type arrival struct{ t, n int64 }

// naiveArrivals spreads the tokens of a row as docs/metrics.md says.
func naiveArrivals(q *run.Request) []arrival {
	total, counted := q.OutputTokens.V, q.OutputTokens.Valid
	if !counted {
		total = q.TokenEvents.Or(0)
	}
	if !q.FirstTokenNS.Valid {
		if q.Outcome == run.OK && q.EndNS.Valid && total > 0 {
			return []arrival{{q.EndNS.V, total}}
		}
		return nil
	}
	at := []int64{q.FirstTokenNS.V}
	for _, g := range q.ChunkGapUS {
		at = append(at, at[len(at)-1]+1000*g)
	}
	lists := len(q.ChunkGapUS)+len(q.ChunkDelayUS)+len(q.ChunkTokens) > 0
	var out []arrival
	complete := len(q.ChunkTokens) > 0
	for _, k := range q.ChunkTokens {
		complete = complete && k.Valid
	}
	if complete {
		for i, k := range q.ChunkTokens {
			out = append(out, arrival{at[i], k.V})
		}
		return out
	}
	if lists && !counted {
		total = int64(len(at))
	}
	first := min(total, q.FirstChunkTokens.Or(1))
	rest := total - first
	if !lists {
		out = append(out, arrival{at[0], first})
		for i := int64(1); i <= rest; i++ {
			length := float64(max(q.LastTokenNS.Or(at[0]), at[0]) - at[0])
			out = append(out, arrival{at[0] + int64(math.Floor(length*float64(i)/float64(rest)+1e-6)), 1})
		}
		return out
	}
	m := int64(len(at)) - 1
	if m == 0 {
		return []arrival{{at[0], total}}
	}
	out = append(out, arrival{at[0], first})
	for i := int64(1); i <= m; i++ {
		out = append(out, arrival{at[i], i*rest/m - (i-1)*rest/m})
	}
	return out
}

// sentInstant is s of docs/metrics.md.
func sentInstant(q *run.Request) formats.Int {
	if !naiveSent(q) || !q.ConnAskedNS.Valid {
		return formats.Int{}
	}
	lag := q.ConnAskedNS.Minus(q.DueNS)
	return some(q.ConnAskedNS.V - min(max(lag.Or(0), 0), 10_000_000))
}

// Every scalar that the rows determine, written out slowly.
func TestScalarsAgainstRows(t *testing.T) {
	for seed := range uint64(5) {
		n := []int{700, 1, 25, 350, 0}[seed]
		rows := randomRows(100+seed, n)
		o := whole()
		if n == 350 { // a window that cuts rows on both sides
			o.Window = &Span{FromNS: 2 * second, ToNS: some(13*second + 400_000_001)}
		}
		clients := clientRows(seed, rows, 20)
		end := run.End{Status: run.Complete, Planned: int64(n) + 2, Detail: run.Detail{Clocks: []run.Clock{{Worker: 0, StartNS: 5, EndNS: 25}, {Worker: 1, StartNS: 7, EndNS: -43}}}}
		s := reduce(t, o, encode(t, testHeader(), rows, clients, end, 64))
		want := naiveScalars(rows, clients, s.Window)
		want["conservation"] = 2
		want["clock_drift_ns"] = 50
		for _, v := range s.Scalars {
			w, checked := want[v.ID]
			delete(want, v.ID)
			switch {
			case !checked:
				if v.Value != nil && !computedElsewhere(v.ID) {
					t.Errorf("seed %d: %s = %v is not checked", seed, v.ID, *v.Value)
				}
			case math.IsNaN(w) || math.IsInf(w, 0):
				if v.Value != nil || v.Reason == "" {
					t.Errorf("seed %d: %s = %v, reason %q; want null with a reason", seed, v.ID, value(v.Value), v.Reason)
				}
			case v.Value == nil || math.Abs(*v.Value-w) > 1e-9*max(1, math.Abs(w)):
				t.Errorf("seed %d: %s = %v (%s); want %v", seed, v.ID, value(v.Value), v.Reason, w)
			}
		}
		for id := range want {
			t.Errorf("seed %d: %s is missing", seed, id)
		}
	}
}

// computedElsewhere names the scalars with tests of their own.
func computedElsewhere(id string) bool {
	return strings.HasPrefix(id, "mser_")
}

func naiveScalars(rows []run.Request, clients []run.Client, w summary.Window) map[string]float64 {
	out := map[string]float64{}
	p := inWindow(rows, w)
	in := func(v formats.Int) bool { return v.Valid && v.V >= w.FromNS && v.V < w.ToNS }
	seconds := float64(w.ToNS-w.FromNS) / 1e9
	count := func(of []*run.Request, yes func(q *run.Request) bool) (n float64) {
		for _, q := range of {
			if yes(q) {
				n++
			}
		}
		return n
	}
	all := make([]*run.Request, len(rows))
	for i := range rows {
		all[i] = &rows[i]
	}
	var o []*run.Request
	for _, q := range p {
		if q.Outcome == run.OK {
			o = append(o, q)
		}
	}
	nan := math.NaN()
	np, no := float64(len(p)), float64(len(o))
	rated := w.ToNS-w.FromNS >= 10*second && len(p) >= 20
	rate := func(id string, n float64) {
		out[id] = n / seconds
		if !rated {
			out[id] = nan
		}
	}

	// integrity
	var most float64
	for _, q := range all {
		b := naiveBreach(q)
		if b > 0 {
			out["order_rows"]++
		}
		if b > 50_000 {
			out["order_over"]++
		}
		most = max(most, b)
	}
	out["order_max_ns"] = most
	out["order_rows"] += 0
	out["order_over"] += 0
	out["early_sends"] = count(all, func(q *run.Request) bool { l := q.DispatchedNS.Minus(q.DueNS); return l.Valid && l.V < 0 })
	both := count(all, func(q *run.Request) bool {
		return q.Outcome == run.OK && naive["ttft_wire"](q).Valid && naive["ttft_user"](q).Valid
	})
	out["disorder"] = 0
	if both == 0 {
		out["disorder"] = nan
	}
	dispatched := count(all, func(q *run.Request) bool { return q.DispatchedNS.Valid })
	completed := count(all, func(q *run.Request) bool { return q.DispatchedNS.Valid && q.EndNS.Valid })
	for _, c := range clients {
		out["dispatched_gap"] += float64(c.Dispatched.V)
		out["completed_gap"] += float64(c.Completed.V)
	}
	out["dispatched_gap"] -= dispatched
	out["completed_gap"] -= completed
	out["unseen_share"] = 0 / np

	// tokens
	kinds := map[string]float64{}
	for _, q := range o {
		kinds[q.TokenSource]++
	}
	for id, kind := range map[string]string{"usage_chunks": run.UsageChunks, "usage": run.Usage, "tokenizer": run.Tokenizer, "events": run.Events, "none": ""} {
		out["source_share_"+id] = kinds[kind] / no
	}
	out["mixed_source"] = max(0, float64(len(kinds))-1)
	out["tpot_first_assumed"] = count(o, func(q *run.Request) bool { return !q.FirstChunkTokens.Valid && naive["tpot_user"](q).Valid })
	sums := func(of []*run.Request, fields ...func(*run.Request) formats.Int) ([]float64, float64) {
		total, n := make([]float64, len(fields)), 0.0
		for _, q := range of {
			whole := true
			for _, f := range fields {
				whole = whole && f(q).Valid
			}
			if whole {
				n++
				for i, f := range fields {
					total[i] += float64(f(q).V)
				}
			}
		}
		return total, n
	}
	input := func(q *run.Request) formats.Int { return q.InputTokens }
	output := func(q *run.Request) formats.Int { return q.OutputTokens }
	events := func(q *run.Request) formats.Int { return q.TokenEvents }
	cached := func(q *run.Request) formats.Int { return q.CachedTokens }
	expected := func(q *run.Request) formats.Int { return q.ExpectedCachedTokens }
	plannedIn := func(q *run.Request) formats.Int { return q.PlannedInputTokens }
	plannedOut := func(q *run.Request) formats.Int { return q.PlannedOutputTokens }
	reasoning := func(q *run.Request) formats.Int { return q.ReasoningTokens }
	v, _ := sums(o, output, events)
	out["tokens_per_event"] = v[0] / v[1]
	out["token_event_share"] = count(o, func(q *run.Request) bool { return q.FirstTokenNS.Valid }) / no
	two := func(q *run.Request) bool { return q.OutputTokens.Or(0) >= 2 }
	out["gap_share"] = count(o, func(q *run.Request) bool { return two(q) && (q.TokenEvents.Or(0) >= 2 || len(q.ChunkGapUS) > 0) }) / count(o, two)
	var overhead []int64
	for _, q := range o {
		if d := q.InputTokens.Minus(q.PlannedInputTokens); d.Valid {
			overhead = append(overhead, d.V)
		}
	}
	slices.Sort(overhead)
	out["input_overhead"], out["input_error"] = nan, nan
	if k := len(overhead); k > 0 {
		m := float64(overhead[(k+1)/2-1])
		v, n := sums(o, input, plannedIn)
		out["input_overhead"], out["input_error"] = m, (v[0]-n*m)/v[1]-1
	}
	v, n := sums(o, output, plannedOut)
	out["output_error"] = v[0]/v[1] - 1
	out["length_miss_share"] = count(o, func(q *run.Request) bool {
		d := q.OutputTokens.Minus(q.PlannedOutputTokens)
		return d.Valid && math.Abs(float64(d.V)) > max(2, 0.02*float64(q.PlannedOutputTokens.V))
	}) / n
	for id, f := range map[string]func(*run.Request) formats.Int{"input": input, "output": output, "reasoning": reasoning, "cached": cached} {
		v, _ := sums(all, f)
		out[id+"_tokens_total"] = v[0]
	}
	v, _ = sums(all, events)
	out["token_events_total"] = v[0]

	// rates
	out["window_s"] = seconds
	rate("planned_rps", np)
	rate("sent_rps", count(all, func(q *run.Request) bool { return naiveSent(q) && in(q.ConnAskedNS) }))
	rate("ok_rps", count(all, func(q *run.Request) bool { return q.Outcome == run.OK && in(q.EndNS) }))
	rate("ended_rps", count(all, func(q *run.Request) bool { return in(q.EndNS) }))
	var arrived, thought, answers float64
	for _, q := range all {
		mine := 0.0
		for _, a := range naiveArrivals(q) {
			if in(some(a.t)) {
				mine += float64(a.n)
			}
		}
		arrived += mine
		if mine > 0 && q.ReasoningTokens.Valid && q.OutputTokens.Or(0) > 0 {
			answers++
			thought += mine * float64(min(q.ReasoningTokens.V, q.OutputTokens.V)) / float64(q.OutputTokens.V)
		}
	}
	rate("out_tps", arrived)
	rate("reasoning_tps", thought)
	rate("answer_tps", arrived-thought)
	if answers == 0 {
		out["reasoning_tps"], out["answer_tps"] = nan, nan
	}
	var begun []*run.Request
	for _, q := range all {
		if in(q.FirstTokenNS) {
			begun = append(begun, q)
		}
	}
	v, n = sums(begun, input)
	if n < float64(len(begun)) {
		v[0] = nan
	}
	rate("in_tps", v[0])
	rate("total_tps", v[0]+arrived)
	v, n = sums(begun, input, cached)
	if n < float64(len(begun)) {
		v[0] = nan
	}
	rate("in_uncached_tps", v[0]-v[1])
	first, last, spanRows, spanTokens := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for _, q := range all {
		if q.Outcome == run.OK && q.ConnAskedNS.Valid && q.LastTokenNS.Valid {
			first, last = min(first, float64(q.ConnAskedNS.V)), max(last, float64(q.LastTokenNS.V))
			spanRows++
			spanTokens += float64(q.OutputTokens.Or(0))
		}
	}
	out["span_rps"], out["span_out_tps"] = spanRows/(last-first)*1e9, spanTokens/(last-first)*1e9
	if spanRows == 0 {
		out["span_rps"], out["span_out_tps"] = nan, nan
	}
	cut := count(p, func(q *run.Request) bool { return q.Outcome == run.CancelledPlanned })
	out["failure_share"] = 1 - no/(np-cut)
	for _, name := range run.Outcomes {
		out["share_"+name] = count(p, func(q *run.Request) bool { return q.Outcome == name }) / np
	}

	// concurrency
	mean, peak := naiveInFlight(all, w)
	out["effective_concurrency"], out["in_flight_peak"] = mean, peak
	ours, theirs, instants := 0.0, 0.0, 0.0
	for worker := range int64(2) {
		var a, b, k float64
		for _, c := range clients {
			if c.Worker == worker && in(some(c.TNS)) {
				k++
				b += float64(c.InFlight.V)
				a += count(all, func(q *run.Request) bool {
					return q.Worker == some(worker) && q.DispatchedNS.Valid && q.DispatchedNS.V <= c.TNS && (!q.EndNS.Valid || q.EndNS.V > c.TNS)
				})
			}
		}
		if k > 0 {
			ours += a / k
			theirs += b / k
			instants += k
		}
	}
	out["count_gap"] = math.Abs(ours-theirs) / max(1, ours)
	if instants == 0 {
		out["count_gap"] = nan
	}

	// load delivered
	out["sent_share"] = count(p, naiveSent) / np
	lagged := func(q *run.Request) bool { return naive["send_lag"](q).Valid }
	for id, limit := range map[string]int64{"1ms": 1e6, "2ms": 2e6, "5ms": 5e6, "10ms": 10e6, "50ms": 50e6} {
		out["late_share_"+id] = count(p, func(q *run.Request) bool { return lagged(q) && naive["send_lag"](q).V > limit }) / count(p, lagged)
	}
	out["rate_ratio"] = count(all, func(q *run.Request) bool { return in(sentInstant(q)) }) / np
	naiveWindows(all, w, out)
	var us, ss, asked []int64
	for _, q := range p {
		us = append(us, naiveU(q).V)
		if naiveSent(q) && q.ConnAskedNS.Valid {
			asked = append(asked, q.ConnAskedNS.V)
		}
	}
	for _, q := range all {
		if s := sentInstant(q); in(s) {
			ss = append(ss, s.V)
		}
	}
	out["stretch"], out["gap_ks"] = nan, nan
	if len(us) > 1 && us[len(us)-1] > us[0] && len(asked) > 0 {
		out["stretch"] = float64(slices.Max(asked)-slices.Min(asked)) / float64(us[len(us)-1]-us[0])
	}
	if len(us) > 1 && len(ss) > 1 {
		out["gap_ks"] = naiveKS(us, ss)
	}
	turns := func(q *run.Request) bool { return q.Turn > 0 }
	out["turn_rows"] = count(p, turns)
	out["turn_disorder"] = count(p, func(q *run.Request) bool {
		for _, id := range q.After {
			if e := rows[id].EndNS; q.DispatchedNS.Valid && e.Valid && q.DispatchedNS.V < e.V {
				return true
			}
		}
		return false
	})
	out["cap_rows"], out["cap_seconds"] = nan, nan
	if count(p, func(q *run.Request) bool { return q.CapWaitNS.Valid }) > 0 {
		at := map[int64]bool{}
		out["cap_rows"] = count(p, func(q *run.Request) bool {
			if q.CapWaitNS.V > 0 {
				at[(naiveU(q).V-w.FromNS)/second] = true
			}
			return q.CapWaitNS.V > 0
		})
		out["cap_seconds"] = float64(len(at))
	}
	var lags []int64
	for _, q := range p {
		if turns(q) && lagged(q) {
			lags = append(lags, naive["send_lag"](q).V)
		}
	}
	slices.Sort(lags)
	out["turn_send_lag_p99_ns"] = nan
	if len(lags) > 0 {
		out["turn_send_lag_p99_ns"] = float64(lags[(len(lags)*990+999)/1000-1])
	}
	out["local_errors"] = count(p, func(q *run.Request) bool { return strings.HasPrefix(q.Error, "local: ") })
	waited := func(q *run.Request) formats.Int { return q.ConnReadyNS.Minus(q.ConnAskedNS) }
	used := func(q *run.Request) bool { return q.ConnReused == some(1) && waited(q).Valid }
	out["conn_slow_share"] = count(p, func(q *run.Request) bool { return used(q) && waited(q).V > 1_000_000 }) / count(p, used)

	naiveClient(p, clients, w, out)
	naiveSteady(all, p, w, out)

	// cache
	v, _ = sums(p, expected, plannedIn)
	out["cache_planned"] = v[0] / v[1]
	v, _ = sums(o, cached, input)
	out["cache_reported"] = v[0] / v[1]
	out["cache_coverage"] = count(o, func(q *run.Request) bool { return q.CachedTokens.Valid }) / no
	v, _ = sums(o, cached, input, expected, plannedIn)
	out["cache_gap"] = v[0]/v[1] - v[2]/v[3]
	v, _ = sums(o, cached, input, expected)
	out["cache_excess"] = (v[0] - v[2]) / v[1]
	return out
}
