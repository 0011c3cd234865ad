package fold

import (
	"fmt"
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// naiveBreach is the largest breach of order of a row, ns.
func naiveBreach(q *run.Request) float64 {
	chain := []formats.Int{q.DueNS, q.DispatchedNS, q.ConnAskedNS, q.DNSNS, q.ConnectNS, q.TLSNS, q.ConnReadyNS, q.WriteDoneNS, q.FirstByteNS, q.FirstEventNS,
		q.FirstTokenNS, q.LastTokenNS, q.EndNS}
	most := 0.0
	for i, a := range chain {
		for _, b := range chain[i+1:] {
			if d := a.Minus(b); d.Valid {
				most = max(most, float64(d.V))
			}
		}
	}
	for _, pair := range [][2]formats.Int{{q.FirstByteKernelNS, q.FirstByteNS}, {q.FirstTokenKernelNS, q.FirstTokenNS}, {q.FirstAnswerKernelNS, q.FirstAnswerNS},
		{q.LastTokenKernelNS, q.LastTokenNS}} {
		if d := pair[0].Minus(pair[1]); d.Valid {
			most = max(most, float64(d.V))
		}
	}
	return most
}

// naiveInFlight counts between all instants at which the count can change.
func naiveInFlight(all []*run.Request, w summary.Window) (mean, peak float64) {
	if w.ToNS <= w.FromNS {
		return math.NaN(), math.NaN()
	}
	at := []int64{w.FromNS, w.ToNS}
	for _, q := range all {
		for _, t := range []formats.Int{q.ConnAskedNS, q.EndNS} {
			if t.Valid && t.V > w.FromNS && t.V < w.ToNS {
				at = append(at, t.V)
			}
		}
	}
	slices.Sort(at)
	area := 0.0
	for i := 1; i < len(at); i++ {
		n := 0.0
		for _, q := range all {
			if q.ConnAskedNS.Valid && q.ConnAskedNS.V <= at[i-1] && (!q.EndNS.Valid || q.EndNS.V > at[i-1]) {
				n++
			}
		}
		if at[i] > at[i-1] {
			peak = max(peak, n)
		}
		area += n * float64(at[i]-at[i-1])
	}
	return area / float64(w.ToNS-w.FromNS), peak
}

// naiveWindows fills everything that counts in consecutive windows.
func naiveWindows(all []*run.Request, w summary.Window, out map[string]float64) {
	nan := math.NaN()
	counts := func(width int64) (u, s []float64) {
		n := (w.ToNS - w.FromNS) / width
		u, s = make([]float64, n), make([]float64, n)
		put := func(to []float64, t formats.Int) {
			if t.Valid && t.V >= w.FromNS && (t.V-w.FromNS)/width < n {
				to[(t.V-w.FromNS)/width]++
			}
		}
		for _, q := range all {
			put(u, naiveU(q))
			put(s, sentInstant(q))
		}
		return u, s
	}
	total := func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x
		}
		return sum
	}
	dispersion := func(v []float64) float64 {
		m := total(v) / float64(len(v))
		var squares float64
		for _, x := range v {
			squares += (x - m) * (x - m)
		}
		return squares / float64(len(v)) / m
	}
	for name, width := range map[string]int64{"100ms": second / 10, "1s": second, "10s": 10 * second} {
		u, s := counts(width)
		out["idc_windows_"+name] = float64(len(u))
		out["idc_mean_"+name] = total(u) / float64(len(u))
		p, q := dispersion(u), dispersion(s)
		out["idc_planned_"+name], out["idc_sent_"+name], out["idc_ratio_"+name] = p, q, q/p
	}
	out["window_count"] = 0
	out["window_width_s"], out["window_min"], out["window_short_share"] = nan, nan, nan
	for width := int64(second); width <= w.ToNS-w.FromNS; width *= 2 {
		u, s := counts(width)
		if total(u)/float64(len(u)) < 20 {
			continue
		}
		least, short, n := math.Inf(1), 0.0, 0.0
		for i := range u {
			if u[i] < 20 {
				continue
			}
			n++
			least = min(least, s[i]/u[i])
			if s[i]/u[i] < 0.95-1e-12 {
				short++
			}
		}
		out["window_count"], out["window_width_s"], out["window_min"], out["window_short_share"] = n, float64(width)/1e9, least, short/n
		break
	}
}

func naiveKS(us, ss []int64) float64 {
	gaps := func(v []int64) (g []int64) {
		v = slices.Sorted(slices.Values(v))
		for i := 1; i < len(v); i++ {
			g = append(g, v[i]-v[i-1])
		}
		return g
	}
	a, b := gaps(us), gaps(ss)
	below := func(g []int64, x int64) (n float64) {
		for _, v := range g {
			if v <= x {
				n++
			}
		}
		return n / float64(len(g))
	}
	most := 0.0
	for _, x := range append(slices.Clone(a), b...) {
		most = max(most, math.Abs(below(a, x)-below(b, x)))
	}
	return most
}

// naiveClient fills what the client table and the sockets show.
func naiveClient(p []*run.Request, clients []run.Client, w summary.Window, out map[string]float64) {
	nan := math.NaN()
	share := func(a, b float64) float64 { return a / b }
	const allowance = 1.0
	out["allowance"] = allowance
	worst := func(id string, v float64) {
		if old, ok := out[id]; !ok || math.IsNaN(old) || v > old {
			out[id] = v
		}
	}
	var cpu, interval, tokens, slow, slowGo, n, steal float64
	shares := map[int64]float64{}
	for worker := range int64(2) {
		var mine []float64
		var used, waited, slices_, throttled, pause, length float64
		for _, c := range clients {
			if c.Worker != worker || c.TNS <= w.FromNS || c.TNS > w.ToNS {
				continue
			}
			n++
			u := float64(c.CPUUserNS.V + c.CPUSystemNS.V)
			mine = append(mine, u/float64(c.IntervalNS.V))
			shares[(c.TNS+second/2)/second] += u / 2 / 1e9
			used += u
			length += float64(c.IntervalNS.V)
			waited += float64(c.RunqueueWaitNS.V)
			slices_ += float64(c.Timeslices.V)
			throttled += float64(c.ThrottledNS.V)
			pause += float64(c.GCPauseNS.V)
			tokens += float64(c.TokenEvents.V)
			steal += float64(c.StealPPM.V)
			if c.HiccupThreadP999NS.V > 2_000_000 {
				slow++
			}
			if c.HiccupGoroutineP999NS.V > 2_000_000 {
				slowGo++
			}
			worst("steal_share_max", float64(c.StealPPM.V)/1e6)
			worst("hiccup_thread_max", float64(c.HiccupThreadP999NS.V))
			worst("hiccup_goroutine_max", float64(c.HiccupGoroutineP999NS.V))
			worst("gc_pause_max", float64(c.GCPauseMaxNS.V))
			worst("rss_max", float64(c.RSSBytes.V))
			worst("fds_max", float64(c.OpenFDs.V))
		}
		slices.Sort(mine)
		if len(mine) == 0 {
			continue
		}
		worst("cpu_share", mine[(len(mine)*950+999)/1000-1])
		worst("wait_per_slice", waited/slices_)
		worst("run_wait_ratio", waited/used)
		worst("throttled", throttled)
		worst("gc_pause_share", pause/length)
		cpu += used
		interval += length
	}
	for _, id := range []string{"steal_share_max", "hiccup_thread_max", "hiccup_goroutine_max", "gc_pause_max", "rss_max", "fds_max", "cpu_share", "wait_per_slice",
		"run_wait_ratio", "throttled", "gc_pause_share"} {
		if n == 0 {
			out[id] = nan
		}
	}
	out["cpu_share_mean"] = cpu / interval / allowance
	out["cpu_per_event"] = share(cpu, tokens)
	out["event_ceiling"] = 2 * 1e9 / share(cpu, tokens)
	out["hiccup_thread"], out["hiccup_goroutine"], out["steal_share"] = slow/n, slowGo/n, steal/n/1e6
	var seconds []float64
	for _, v := range shares {
		seconds = append(seconds, v)
	}
	slices.Sort(seconds)
	out["host_cpu_share"] = nan
	if len(seconds) > 0 {
		out["host_cpu_share"] = seconds[(len(seconds)*950+999)/1000-1]
	}
	var events, answers, segments, reads, multi, allReads, reused, known, opened, again, packets float64
	same, gaps := 0.0, 0.0
	for _, q := range p {
		if q.Outcome == run.OK && q.TokenEvents.Or(0) > 0 {
			answers++
			events += float64(q.TokenEvents.V)
		}
		if q.TokenEvents.Or(0) >= 2 && q.Reads.Valid && q.SegmentsIn.Valid {
			segments += float64(q.SegmentsIn.V)
			reads += float64(q.Reads.V)
		}
		if q.Reads.Valid {
			multi += float64(q.MultiEventReads.V)
			allReads += float64(q.Reads.V)
		}
		if q.ConnReused.Valid {
			known++
			reused += float64(q.ConnReused.V)
			opened += 1 - float64(q.ConnReused.V)
		}
		if q.BytesSent.Valid {
			again += float64(q.Retransmits.V)
			packets += math.Ceil(float64(q.BytesSent.V) / 1448)
		}
		for i, d := range q.ChunkDelayUS {
			if q.Outcome == run.OK && i > 0 && d.Valid && q.ChunkDelayUS[i-1].Valid {
				gaps++
				if q.ChunkGapUS[i-1]-d.V+q.ChunkDelayUS[i-1].V == 0 {
					same++
				}
			}
		}
	}
	naiveObserved(p, clients, w, out)
	out["request_ceiling"] = out["event_ceiling"] / (events / answers)
	out["kappa"], out["multi_event_share"], out["same_read_gaps"] = segments/reads, multi/allReads, same/gaps
	out["conn_reuse_share"], out["conns_opened"], out["retransmit_share"] = reused/known, opened, again/packets
	if known == 0 {
		out["conns_opened"] = nan
	}
	var ttft []int64
	for _, q := range p {
		if u := naive["ttft_user"](q); q.Outcome == run.OK && u.Valid && naive["client_time"](q).Valid {
			ttft = append(ttft, u.V)
		}
	}
	slices.Sort(ttft)
	for _, level := range []int{50, 90, 99} {
		sum, k := 0.0, 0.0
		for _, q := range p {
			u, c := naive["ttft_user"](q), naive["client_time"](q)
			if q.Outcome == run.OK && u.Valid && c.Valid && u.V >= ttft[(len(ttft)*level+99)/100-1] {
				k++
				sum += float64(c.V) / float64(u.V)
			}
		}
		out[fmt.Sprint("client_share_p", level)] = sum / k
	}
}

// nth is the nearest-rank percentile at k thousandths, NaN of nothing.
func nth(x []int64, k int) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return float64(s[max(1, (len(s)*k+999)/1000)-1])
}

// naiveObserved fills what the kernel's stamps and long answers show.
func naiveObserved(p []*run.Request, clients []run.Client, w summary.Window, out map[string]float64) {
	var first, stamped float64
	var ttft, e2e, delays, seconds []int64
	for _, q := range p {
		if q.Outcome != run.OK {
			continue
		}
		for _, d := range q.ChunkDelayUS {
			if d.Valid {
				delays = append(delays, 1000*d.V)
			}
		}
		if !q.FirstTokenNS.Valid {
			continue
		}
		first++
		if q.FirstTokenKernelNS.Valid {
			stamped++
		}
		if t, e := naive["ttft_user"](q), naive["e2e_user"](q); q.TokenEvents.Or(0) >= 10 && t.Valid && e.Valid {
			ttft, e2e = append(ttft, t.V), append(e2e, e.V)
		}
	}
	for _, c := range clients {
		if c.TNS > w.FromNS && c.TNS <= w.ToNS && c.ReadDelayP99NS.Valid {
			seconds = append(seconds, c.ReadDelayP99NS.V)
		}
	}
	out["stamp_share"] = stamped / first
	out["ttft_of_e2e"] = nth(ttft, 500) / nth(e2e, 500)
	out["read_delay_seconds_p99"] = math.NaN()
	if n := len(seconds); n > 0 {
		sorted := slices.Sorted(slices.Values(seconds))
		above := 0.0 // how many lie above the candidate, from the top
		i := n - 1
		for ; i > 0 && (above+1 <= 0.01*float64(n) || above+1 <= 1); i-- {
			above++
		}
		out["read_delay_seconds_p99"] = float64(sorted[i])
	}
	out["read_delay_p99"] = nth(seconds, 1000)
	out["recv_delay_p99"] = nth(delays, 990)
	if len(delays) > 0 { // the histogram's bucket ends up to 0.1 % above
		h := newSketch(3)
		h.add(int64(out["recv_delay_p99"]), 1)
		out["recv_delay_p99"] = float64(h.h.Quantiles([]int64{1000})[0])
	}
}

// naiveSteady fills what compares the parts of a run with each other.
func naiveSteady(all, p []*run.Request, w summary.Window, out map[string]float64) {
	nan := math.NaN()
	for _, id := range []string{"backlog_growth", "backlog_spread", "backlog_arrivals", "half_out_tps"} {
		out[id] = nan
	}
	out["censored"] = 0
	var us []int64
	for _, q := range all {
		if u := naiveU(q); u.Valid {
			us = append(us, u.V)
		}
	}
	if len(us) > 0 {
		from, to := slices.Min(us), slices.Max(us)
		from += max(w.WarmupNS, (to-from)/5)
		in := func(t formats.Int) bool { return t.Valid && t.V >= from && t.V < to }
		planned, ended := 0.0, 0.0
		for _, q := range all {
			if in(naiveU(q)) {
				planned++
			}
			if in(q.EndNS) {
				ended++
			}
		}
		if planned > 0 {
			out["backlog_growth"], out["backlog_arrivals"] = 1-ended/planned, planned
		}
		var y []float64
		for t := from; t+second <= to; t += second {
			n := 0.0
			for _, q := range all {
				if q.ConnAskedNS.Valid && q.ConnAskedNS.V <= t && (!q.EndNS.Valid || q.EndNS.V > t) {
					n++
				}
			}
			y = append(y, n)
		}
		if n := float64(len(y)); n >= 3 && planned > 0 {
			var sx, sy, sxx, sxy float64
			for i, v := range y {
				sx, sy, sxx, sxy = sx+float64(i), sy+v, sxx+float64(i)*float64(i), sxy+float64(i)*v
			}
			slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
			level := (sy - slope*sx) / n
			var squares float64
			for i, v := range y {
				d := v - level - slope*float64(i)
				squares += d * d
			}
			out["backlog_spread"] = math.Sqrt(squares / n)
		}
	}
	step := (w.ToNS - w.FromNS) / 30
	var ttft [2][]int64
	for _, q := range p {
		if t := naive["ttft_user"](q); q.Outcome == run.OK && t.Valid {
			half := 0
			if naiveU(q).V >= w.FromNS+15*step {
				half = 1
			}
			ttft[half] = append(ttft[half], t.V)
		}
		if q.Outcome == run.Cancelled || q.DispatchedNS.Valid && !q.EndNS.Valid {
			out["censored"]++
		}
	}
	out["half_ttft_p50"] = nth(ttft[1], 500) / nth(ttft[0], 500)
	out["half_ttft_p90"] = nth(ttft[1], 900) / nth(ttft[0], 900)
	var tokens [2]float64
	for _, q := range all {
		for _, a := range naiveArrivals(q) {
			if step > 0 && a.t >= w.FromNS && a.t < w.FromNS+30*step {
				tokens[(a.t-w.FromNS)/(15*step)] += float64(a.n)
			}
		}
	}
	if tokens[0] > 0 {
		out["half_out_tps"] = tokens[1] / tokens[0]
	}
}
