package fold

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// client is one row of the client table: what the metrics need of it.
type client struct {
	part, worker                                   int32
	t, pid, interval                               int64
	user, system, runqueue, slices, throttled      int64
	steal, psi                                     int64 // ppm
	rss, fds                                       int64
	gcPause, gcMax, sched, hiccupGo, hiccupThread  int64
	dispatched, inFlight, completed, events        int64
	readDelay                                      int64
	backlogPrepare, backlogDispatch, backlogOfRows int64
}

// BytesPerClientRow is the memory that a worker and second costs.
const BytesPerClientRow = int(unsafe.Sizeof(client{}))

func takeClient(c *run.Client, place string, part int32) (client, error) {
	bad := func(what, got, want string) (client, error) {
		return client{}, &formats.SyntaxError{Place: fmt.Sprintf("%s: client row of worker %d at %d ns", place, c.Worker, c.TNS), What: what, Got: got, Want: want}
	}
	if c.TNS < -maxTime || c.TNS > maxTime {
		return bad("t_ns", fmt.Sprint(c.TNS), "a time within 36 years of the epoch")
	}
	if c.Worker < 0 || c.Worker > 1<<30 {
		return bad("worker", fmt.Sprint(c.Worker), "a count")
	}
	k := client{part: part, worker: int32(c.Worker), t: c.TNS, pid: c.PID}
	for _, x := range []struct {
		name string
		to   *int64
		v    formats.Int
	}{{"interval_ns", &k.interval, c.IntervalNS}, {"cpu_user_ns", &k.user, c.CPUUserNS}, {"cpu_system_ns", &k.system, c.CPUSystemNS},
		{"runqueue_wait_ns", &k.runqueue, c.RunqueueWaitNS}, {"timeslices", &k.slices, c.Timeslices}, {"throttled_ns", &k.throttled, c.ThrottledNS},
		{"steal_ppm", &k.steal, c.StealPPM}, {"psi_cpu_ppm", &k.psi, c.PSICPUPPM}, {"rss_bytes", &k.rss, c.RSSBytes}, {"open_fds", &k.fds, c.OpenFDs},
		{"gc_pause_ns", &k.gcPause, c.GCPauseNS}, {"gc_pause_max_ns", &k.gcMax, c.GCPauseMaxNS}, {"sched_latency_p99_ns", &k.sched, c.SchedLatencyP99NS},
		{"hiccup_goroutine_p999_ns", &k.hiccupGo, c.HiccupGoroutineP999NS}, {"hiccup_thread_p999_ns", &k.hiccupThread, c.HiccupThreadP999NS},
		{"dispatched", &k.dispatched, c.Dispatched}, {"in_flight", &k.inFlight, c.InFlight}, {"completed", &k.completed, c.Completed},
		{"token_events", &k.events, c.TokenEvents}, {"read_delay_p99_ns", &k.readDelay, c.ReadDelayP99NS},
		{"backlog_prepare", &k.backlogPrepare, c.BacklogPrepare}, {"backlog_dispatch", &k.backlogDispatch, c.BacklogDispatch},
		{"backlog_rows", &k.backlogOfRows, c.BacklogRows}} {
		if x.v.Valid && (x.v.V < 0 || x.v.V > maxCount) {
			return bad(x.name, x.v.String(), "a count")
		}
		*x.to = pack(x.v)
	}
	return k, nil
}

func (c *client) cpu() int64 { return plus(c.user, c.system) }

// usable is the number of CPUs that the workers of a part share.
func (p *part) usable() float64 {
	n := float64(p.header.Host.CPUsAllowed)
	if p.header.Host.CPUs > 0 && (n <= 0 || float64(p.header.Host.CPUs) < n) {
		n = float64(p.header.Host.CPUs)
	}
	if q := p.header.Host.CPUQuota; q != nil && *q > 0 && (n <= 0 || *q < n) {
		n = *q
	}
	return n
}

// allowance is what one worker may use of them, and can.
func (p *part) allowance() float64 {
	n := p.usable() / float64(max(1, p.header.Workers))
	if procs := float64(p.header.WorkerProcs); procs > 0 {
		n = min(n, procs)
	}
	return n
}

// workerView is the evidence of one worker over the window.
type workerView struct {
	summary.Client
	cpuShares                                                         []float64
	cpu, interval, runqueue, slices, throttled, steal, psi, gcPause   int64
	cpuRows, slicedRows, throttledRows, stealRows, psiRows, gcRows    int64
	thread, threadLate, goroutine, goroutineLate, eventsCPU, events   int64
	gcMax, sched, hiccupThread, hiccupGo, readDelay, rss, fds, steals peak
	prepare, dispatch, rows                                           peak
	readDelays                                                        []int64 // of each second that had one
}

// peak is the largest value over the seconds, and the second that had it first.
type peak struct{ v, t int64 }

func (p *peak) see(v, t int64) {
	if v > p.v { // null is the smallest value
		*p = peak{v, t}
	}
}

// hiccupLimit is the lateness that counts as one, ns.
const hiccupLimit = 2_000_000

// view gathers the rows of one worker.
func (f *fold) view(rows []client) *workerView {
	p := f.parts[rows[0].part]
	none := peak{v: null}
	v := &workerView{gcMax: none, sched: none, hiccupThread: none, hiccupGo: none, readDelay: none, rss: none, fds: none, steals: none,
		prepare: none, dispatch: none, rows: none}
	v.Part, v.Worker, v.PID, v.Client.Rows = int64(rows[0].part), int64(rows[0].worker), rows[0].pid, int64(len(rows))
	allowance := p.allowance()
	for i := range rows {
		c := &rows[i]
		v.Dispatched += max(0, c.dispatched)
		v.Completed += max(0, c.completed)
		if c.t <= f.window.FromNS || c.t > f.window.ToNS {
			continue
		}
		if cpu := c.cpu(); cpu != null && c.interval > 0 {
			v.cpuRows++
			v.cpu += cpu
			v.interval += c.interval
			if allowance > 0 {
				v.cpuShares = append(v.cpuShares, float64(cpu)/(float64(c.interval)*allowance))
			}
			if c.events != null {
				v.eventsCPU += cpu
				v.events += c.events
			}
			if c.runqueue != null && c.slices != null {
				v.slicedRows++
				v.runqueue += c.runqueue
				v.slices += c.slices
			}
			if c.gcPause != null {
				v.gcRows++
				v.gcPause += c.gcPause
			}
		}
		tally := func(x int64, sum, n *int64) {
			if x != null {
				*sum += x
				*n++
			}
		}
		tally(c.throttled, &v.throttled, &v.throttledRows)
		tally(c.steal, &v.steal, &v.stealRows)
		tally(c.psi, &v.psi, &v.psiRows)
		late := func(x int64, n, late *int64) {
			if x != null {
				*n++
				if x > hiccupLimit {
					*late++
				}
			}
		}
		late(c.hiccupThread, &v.thread, &v.threadLate)
		late(c.hiccupGo, &v.goroutine, &v.goroutineLate)
		for _, m := range [...]struct {
			to *peak
			x  int64
		}{{&v.gcMax, c.gcMax}, {&v.sched, c.sched}, {&v.hiccupThread, c.hiccupThread}, {&v.hiccupGo, c.hiccupGo}, {&v.readDelay, c.readDelay},
			{&v.rss, c.rss}, {&v.fds, c.fds}, {&v.steals, c.steal}, {&v.prepare, c.backlogPrepare}, {&v.dispatch, c.backlogDispatch},
			{&v.rows, c.backlogOfRows}} {
			m.to.see(m.x, c.t)
		}
		if c.readDelay != null {
			v.readDelays = append(v.readDelays, c.readDelay)
		}
	}
	v.values()
	return v
}

// values fills what is written per worker; a value that is not known is absent.
func (v *workerView) values() {
	if v.cpuRows > 0 {
		v.CPUNS = formats.Some(v.cpu)
	}
	if v.slicedRows > 0 {
		v.RunqueueNS, v.Timeslices = formats.Some(v.runqueue), formats.Some(v.slices)
	}
	v.TokenEvents = v.events
	v.Values = map[string]float64{}
	put := func(name string, x float64) {
		if n := number(x); n != nil {
			v.Values[name] = *n
		}
	}
	put("cpu_share_p95", v.cpuP95())
	put("wait_per_slice_ns", share(v.runqueue, v.slices))
	put("run_wait_ratio", v.runWait())
	if v.throttledRows > 0 {
		put("throttled_ns", float64(v.throttled))
	}
	put("steal_share", share(v.steal, v.stealRows)/1e6)
	put("psi_share", share(v.psi, v.psiRows)/1e6)
	put("hiccup_thread", share(v.threadLate, v.thread))
	put("hiccup_goroutine", share(v.goroutineLate, v.goroutine))
	put("gc_pause_share", v.gcShare())
	for _, m := range [...]struct {
		name string
		x    peak
	}{{"hiccup_thread_max_ns", v.hiccupThread}, {"hiccup_goroutine_max_ns", v.hiccupGo}, {"gc_pause_max_ns", v.gcMax}, {"sched_p99_ns", v.sched},
		{"read_delay_p99_ns", v.readDelay}, {"rss_max_bytes", v.rss}, {"fds_max", v.fds}, {"backlog_prepare_max", v.prepare},
		{"backlog_dispatch_max", v.dispatch}, {"backlog_rows_max", v.rows}} {
		if m.x.v != null {
			put(m.name, float64(m.x.v))
		}
	}
}

// cpuP95 is the nearest-rank p95 over seconds.
func (v *workerView) cpuP95() float64 { return p95(v.cpuShares) }

func p95(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return s[stats.NearestRank(int64(len(s)), 950)-1]
}

// runWait is 0/0 for a worker that neither ran nor waited.
func (v *workerView) runWait() float64 {
	if v.slicedRows == 0 || v.slicedRows != v.cpuRows {
		return math.NaN()
	}
	return share(v.runqueue, v.cpu)
}

func (v *workerView) gcShare() float64 {
	if v.gcRows == 0 {
		return math.NaN()
	}
	return share(v.gcPause, v.interval)
}
