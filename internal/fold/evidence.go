package fold

import (
	"fmt"
	"math"
	"slices"

	"hydrant/formats/summary"
)

const noClients = "no client rows in the window"

// rowsByWorker computes what the generator says of itself, and counts the rows of each worker
// beside it.
func (f *fold) rowsByWorker() view {
	var views []*workerView
	for i := 0; i < len(f.clients); {
		j := i
		for j < len(f.clients) && f.clients[j].part == f.clients[i].part && f.clients[j].worker == f.clients[i].worker {
			j++
		}
		views = append(views, f.view(f.clients[i:j]))
		i = j
	}
	at := newPerWorker[*workerView](nil)
	for _, v := range views {
		*at.of(v.Part, v.Worker) = v
	}
	var answers, tokens int64
	return view{func(x *frame) {
		marks, part, who, end, events := x.marks(), x.col(cPart), x.col(cWorker), x.col(cEnd), x.col(cTokens)
		for i := range x.n {
			if marks[i]&(isPlanned|isOK) == isPlanned|isOK && events[i] > 0 {
				answers++
				tokens += events[i]
			}
			if marks[i]&isDispatched == 0 {
				continue
			}
			if own := *at.of(part[i], who[i]); own != nil {
				own.RowsSent++
				if end[i] != null {
					own.RowsEnded++
				}
			}
		}
	}, func() {
		f.cpu(views, answers, tokens)
		f.waits(views)
		f.extremes(views)
		f.perWorker = make([]summary.Client, len(views))
		for i, v := range views {
			f.perWorker[i] = v.Client
		}
	}}
}

// worst sets a scalar to the largest value of a worker and says which.
func (f *fold) worst(id string, views []*workerView, reason string, of func(*workerView) float64) {
	at, n := math.Inf(-1), int64(0)
	var who *workerView
	for _, v := range views {
		x := of(v)
		if math.IsNaN(x) {
			continue
		}
		n++
		if x > at {
			at, who = x, v
		}
	}
	s := f.sheet.set(id, at, n, reason)
	if who != nil {
		s.Evidence = f.nameOf(who)
	}
}

// nameOf names a worker, with its part where there are several.
func (f *fold) nameOf(v *workerView) string {
	if len(f.parts) > 1 {
		return fmt.Sprintf("worker %d of part %d", v.Worker, v.Part)
	}
	return fmt.Sprintf("worker %d", v.Worker)
}

// highest sets a scalar to the largest peak of a worker and says which, and when.
func (f *fold) highest(id string, views []*workerView, scale float64, of func(*workerView) peak) {
	top, n := peak{v: null}, int64(0)
	var who *workerView
	for _, v := range views {
		p := of(v)
		if p.v == null {
			continue
		}
		n++
		if p.v > top.v {
			top, who = p, v
		}
	}
	if who == nil {
		f.sheet.none(id, "no worker reported it in the window")
		return
	}
	// A client row speaks of the second that ends with it.
	f.sheet.set(id, float64(top.v)*scale, n, "").Evidence =
		fmt.Sprintf("%s, second to %.1f s of the load", f.nameOf(who), float64(top.t-f.load.from)/second)
}

// cpu computes how much of the CPU the workers used, and what an event costs; answers are the ok
// rows of the window with so many token events.
func (f *fold) cpu(views []*workerView, answers, tokens int64) {
	s := f.sheet
	allowance, ceiling := math.Inf(1), 0.0
	for _, p := range f.parts {
		if a := p.allowance(); a > 0 {
			allowance = min(allowance, a)
			ceiling = max(ceiling, a*float64(p.header.Workers))
		}
	}
	const noCPUs = "the header does not say how many CPUs there are"
	s.set("allowance", allowance, int64(len(f.parts)), noCPUs)
	f.worst("cpu_share", views, noClients, (*workerView).cpuP95)
	var used, allowed float64
	var eventCPU, events, seconds int64
	for _, v := range views {
		used += float64(v.cpu)
		allowed += float64(v.interval) * f.parts[v.Part].allowance()
		eventCPU += v.eventsCPU
		events += v.events
		seconds += v.cpuRows
	}
	s.set("cpu_share_mean", used/allowed, seconds, noClients)
	s.set("host_cpu_share", f.hostShare(), seconds, noClients)
	perEvent := share(eventCPU, events)
	s.keep("cpu_per_event", eventCPU, events)
	const noEvents = "no token events in the window"
	s.set("cpu_per_event", perEvent, events, noEvents)
	perSecond := ceiling * second / perEvent
	s.set("event_ceiling", perSecond, events, noEvents)
	s.set("request_ceiling", perSecond/share(tokens, answers), answers, noEvents)
}

// hostShare is the p95 over seconds of all workers of a part together.
func (f *fold) hostShare() float64 {
	type moment struct {
		part int32
		t    int64 // whole second
	}
	type use struct{ cpu, interval, n int64 }
	at := map[moment]use{}
	for i := range f.clients {
		c := &f.clients[i]
		if cpu := c.cpu(); cpu != null && c.interval > 0 && c.t > f.window.FromNS && c.t <= f.window.ToNS {
			// Workers report at about the same instant, on either side of a second.
			k := moment{c.part, (c.t + second/2) / second}
			u := at[k]
			at[k] = use{u.cpu + cpu, u.interval + c.interval, u.n + 1}
		}
	}
	var x []float64
	for k, u := range at {
		if n := f.parts[k.part].usable(); n > 0 {
			x = append(x, float64(u.cpu)*float64(u.n)/(float64(u.interval)*n))
		}
	}
	return p95(x)
}

// waits computes how long the workers waited for a CPU.
func (f *fold) waits(views []*workerView) {
	const noSched = "no scheduler statistics in the window"
	f.worst("wait_per_slice", views, noSched, func(v *workerView) float64 { return share(v.runqueue, v.slices) })
	f.worst("run_wait_ratio", views, noSched, (*workerView).runWait)
	f.worst("throttled", views, "no cgroup statistics in the window", func(v *workerView) float64 {
		if v.throttledRows == 0 {
			return math.NaN()
		}
		return float64(v.throttled)
	})
	f.worst("gc_pause_share", views, noClients, (*workerView).gcShare)
	var steal, stealRows, psi, psiRows, thread, threadLate, goroutine, goroutineLate int64
	for _, v := range views {
		steal += v.steal
		stealRows += v.stealRows
		psi += v.psi
		psiRows += v.psiRows
		thread += v.thread
		threadLate += v.threadLate
		goroutine += v.goroutine
		goroutineLate += v.goroutineLate
	}
	f.sheet.keep("steal_share", steal, stealRows)
	f.sheet.set("steal_share", share(steal, stealRows)/1e6, stealRows, "the host does not report stolen time")
	f.sheet.keep("psi_share", psi, psiRows)
	f.sheet.set("psi_share", share(psi, psiRows)/1e6, psiRows, "the host does not report pressure")
	f.sheet.ratio("hiccup_thread", threadLate, thread, thread, "no hiccup probes in the window").Evidence =
		f.mostLate(views, func(v *workerView) (int64, int64) { return v.threadLate, v.thread })
	f.sheet.ratio("hiccup_goroutine", goroutineLate, goroutine, goroutine, "no hiccup probes in the window").Evidence =
		f.mostLate(views, func(v *workerView) (int64, int64) { return v.goroutineLate, v.goroutine })
}

// mostLate names the worker with the most late seconds, "" when there was none.
func (f *fold) mostLate(views []*workerView, of func(*workerView) (late, n int64)) string {
	most, text := int64(0), ""
	for _, v := range views {
		if late, n := of(v); late > most {
			most, text = late, fmt.Sprintf("%s: %d of %d s", f.nameOf(v), late, n)
		}
	}
	return text
}

// extremes sets the largest values of any worker and second.
func (f *fold) extremes(views []*workerView) {
	for _, m := range []struct {
		id    string
		scale float64
		of    func(*workerView) peak
	}{{"steal_share_max", 1e-6, func(v *workerView) peak { return v.steals }},
		{"hiccup_thread_max", 1, func(v *workerView) peak { return v.hiccupThread }},
		{"hiccup_goroutine_max", 1, func(v *workerView) peak { return v.hiccupGo }},
		{"sched_p99", 1, func(v *workerView) peak { return v.sched }},
		{"gc_pause_max", 1, func(v *workerView) peak { return v.gcMax }},
		{"read_delay_p99", 1, func(v *workerView) peak { return v.readDelay }},
		{"rss_max", 1, func(v *workerView) peak { return v.rss }},
		{"fds_max", 1, func(v *workerView) peak { return v.fds }},
		{"backlog_prepare_max", 1, func(v *workerView) peak { return v.prepare }},
		{"backlog_dispatch_max", 1, func(v *workerView) peak { return v.dispatch }},
		{"backlog_rows_max", 1, func(v *workerView) peak { return v.rows }}} {
		f.highest(m.id, views, m.scale, m.of)
	}
	var delays []int64
	for _, v := range views {
		delays = append(delays, v.readDelays...)
	}
	if len(delays) == 0 {
		f.sheet.none("read_delay_seconds_p99", "no worker reported it in the window")
		return
	}
	slices.Sort(delays)
	n := int64(len(delays))
	f.sheet.count("read_delay_seconds_p99", delays[max(0, n-1-max(1, n/100))], n)
}

// connections computes what the sockets show.
func (f *fold) connections() view {
	var segments, reads, multi, allReads, kappaRows, readRows, reused, known, opened, retransmits, packets, sentRows int64
	return view{func(x *frame) {
		marks, flags, read, multis, segment := x.marks(), x.col(cFlags), x.col(cReads), x.col(cMulti), x.col(cSegments)
		tokens, again, bytes := x.col(cTokens), x.col(cRetransmits), x.col(cSent)
		for i := range x.n {
			if marks[i]&isPlanned == 0 {
				continue
			}
			if read[i] != null && segment[i] != null && tokens[i] >= 2 {
				kappaRows++
				segments += segment[i]
				reads += read[i]
			}
			if read[i] != null && multis[i] != null {
				readRows++
				multi += multis[i]
				allReads += read[i]
			}
			if k := reusedIn(flags[i]); k >= 0 {
				if known++; k == 1 {
					reused++
				} else {
					opened++
				}
			}
			if again[i] != null && bytes[i] != null {
				sentRows++
				retransmits += again[i]
				packets += (bytes[i] + 1447) / 1448
			}
		}
	}, func() {
		s := f.sheet
		s.ratio("kappa", segments, reads, kappaRows, "segments are not counted")
		s.ratio("multi_event_share", multi, allReads, readRows, "reads are not counted")
		s.ratio("conn_reuse_share", reused, known, known, "no row has a connection")
		if known > 0 {
			s.count("conns_opened", opened, known)
		} else {
			s.none("conns_opened", "no row has a connection")
		}
		s.ratio("retransmit_share", retransmits, packets, sentRows, "retransmits are not counted")
	}}
}

// clientShares sets the generator's part of the time to first token in the tail.
func (f *fold) clientShares() view {
	ttft, client := f.room(), f.room()
	return view{func(x *frame) {
		marks, t, c := x.marks(), x.ttftUser(), x.clientTime()
		for i := range x.n {
			if marks[i]&(isPlanned|isOK) == isPlanned|isOK && t[i] != null && c[i] != null && t[i] > 0 {
				ttft, client = append(ttft, t[i]), append(client, c[i])
			}
		}
	}, func() {
		var limits []int64
		if len(ttft) > 0 {
			limits = f.ranker.rank(ttft, 500, 900, 990)
		}
		for i, id := range [...]string{"client_share_p50", "client_share_p90", "client_share_p99"} {
			if len(ttft) == 0 {
				f.sheet.none(id, "no ok row has a first token in the window")
				continue
			}
			q := limits[i]
			var sum float64
			var n int64
			for k, t := range ttft {
				if t >= q {
					sum += float64(client[k]) / float64(t)
					n++
				}
			}
			v := f.sheet.set(id, sum/float64(n), n, "")
			if f.sheet.lowerBound {
				v.Evidence = "lower bound: no kernel stamps"
			}
		}
		f.free(ttft, client)
	}}
}

// observed says how far the kernel's stamps reach, and what they say of the reader.
func (f *fold) observed(w *flow) view {
	var first, stamped int64
	ttft, e2e := f.room(), f.room()
	return view{func(x *frame) {
		marks, firsts, kernel, tokens, t, e := x.marks(), x.col(cFirst), x.col(cFirstKernel), x.col(cTokens), x.ttftUser(), x.e2eUser()
		for i := range x.n {
			if marks[i]&(isPlanned|isOK) != isPlanned|isOK || firsts[i] == null {
				continue
			}
			first++
			if kernel[i] != null {
				stamped++
			}
			if tokens[i] >= manyEvents && t[i] != null && e[i] != null {
				ttft, e2e = append(ttft, t[i]), append(e2e, e[i])
			}
		}
	}, func() {
		f.sheet.ratio("stamp_share", stamped, first, first, "no ok row has a first token in the window")
		w.delay.settle()
		if q := w.delay.h.Quantiles([]int64{990}); len(q) > 0 {
			f.sheet.count("recv_delay_p99", q[0], w.delay.h.N())
		} else {
			f.sheet.none("recv_delay_p99", "no chunk lists with kernel stamps")
		}
		ratio, n := math.NaN(), int64(len(ttft))
		if n > 0 {
			ratio = share(f.ranker.rank(ttft, 500)[0], f.ranker.rank(e2e, 500)[0])
		}
		f.sheet.set("ttft_of_e2e", ratio, n, "no ok row has 10 token events")
		f.free(ttft, e2e)
	}}
}

// manyEvents is the length of an answer from which on its first token must come long
// before its last, unless somebody bundles the events.
const manyEvents = 10
