package host

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hydrant/formats"
	"hydrant/formats/run"
)

// Meter takes the resource columns of the client table. One goroutine owns it. A Read must
// cost little beside what it measures: the kernel's files of each thread stay open, and
// nothing is listed that can be asked for as a number.
type Meter struct {
	proc   string
	groups []group
	last   counters
	tasks  tasks
	sized  bool // the size of the descriptor folder is how many there are
	pauses debug.GCStats
	sched  [1]metrics.Sample
	before []uint64 // bucket counts of scheduler latency at the last call
}

// counters are running totals, null when the system does not tell them.
type counters struct {
	user, system        int64
	throttled, pressure formats.Int
	steal, jiffies      formats.Int
	gcs, gcPause        int64
}

// NewMeter returns a meter; the first Read covers what follows.
func NewMeter() *Meter {
	return newMeter("/proc", groups("/proc/self/cgroup", "/sys/fs/cgroup"))
}

func newMeter(proc string, groups []group) *Meter {
	m := &Meter{proc: proc, groups: groups, tasks: tasks{dir: filepath.Join(proc, "self/task")}}
	m.sched[0].Name = "/sched/latencies:seconds"
	m.sized = m.countFDs() == m.sizeFDs()
	m.Read(&run.Client{}, time.Second)
	return m
}

// Close lets go of the files that stayed open.
func (m *Meter) Close() { m.tasks.close() }

// Read fills the resource columns of c with the increase since the last call, which
// was interval ago, and with present values.
func (m *Meter) Read(c *run.Client, interval time.Duration) {
	now := m.total()
	c.CPUUserNS = formats.Some(now.user - m.last.user)
	c.CPUSystemNS = formats.Some(now.system - m.last.system)
	c.ThrottledNS = now.throttled.Minus(m.last.throttled)
	if waited := now.pressure.Minus(m.last.pressure); waited.Valid && interval > 0 {
		c.PSICPUPPM = formats.Some(min(waited.V*1e9/int64(interval), 1e6))
	}
	if all := now.jiffies.Minus(m.last.jiffies); all.Valid && all.V > 0 {
		c.StealPPM = formats.Some(now.steal.Minus(m.last.steal).Or(0) * 1e6 / all.V)
	}
	c.RunqueueWaitNS, c.Timeslices = m.tasks.read()
	c.RSSBytes = m.rss()
	c.OpenFDs = m.fds()
	m.gc(c, now)
	c.SchedLatencyP99NS = m.latency()
	m.last = now
}

func (m *Meter) total() counters {
	var c counters
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		c.user, c.system = r.Utime.Nano(), r.Stime.Nano()
	}
	c.throttled = throttled(m.groups)
	c.pressure = pressure(m.groups, m.proc)
	c.steal, c.jiffies = stolen(word(filepath.Join(m.proc, "stat")))
	debug.ReadGCStats(&m.pauses)
	c.gcs, c.gcPause = m.pauses.NumGC, int64(m.pauses.PauseTotal)
	return c
}

// stolen returns the jiffies taken by the hypervisor and all jiffies of the first line
// of /proc/stat. Guest time is part of user time already.
func stolen(stat string) (steal, all formats.Int) {
	line, _, _ := strings.Cut(stat, "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return
	}
	for _, s := range f[1:9] {
		v, err := number(s)
		if err != nil {
			return formats.Int{}, formats.Int{}
		}
		all, steal = formats.Some(all.V+v), formats.Some(v)
	}
	return steal, all
}

func (m *Meter) rss() formats.Int {
	f := strings.Fields(word(filepath.Join(m.proc, "self/statm")))
	if len(f) < 2 {
		return formats.Int{}
	}
	pages, err := number(f[1])
	if err != nil {
		return formats.Int{}
	}
	return formats.Some(pages * int64(os.Getpagesize()))
}

// fds counts the open descriptors. A folder of them takes 0.3 µs for each to list; Linux
// tells their number as its size since version 6.2.
func (m *Meter) fds() formats.Int {
	if m.sized {
		return m.sizeFDs()
	}
	return m.countFDs()
}

func (m *Meter) sizeFDs() formats.Int {
	st, err := os.Stat(filepath.Join(m.proc, "self/fd"))
	if err != nil {
		return formats.Int{}
	}
	return formats.Some(st.Size())
}

func (m *Meter) countFDs() formats.Int {
	d, err := os.Open(filepath.Join(m.proc, "self/fd"))
	if err != nil {
		return formats.Int{}
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return formats.Int{}
	}
	return formats.Some(int64(len(names) - 1)) // without d itself
}

// gc fills the pauses of the collector. The runtime keeps the last 256 of them.
func (m *Meter) gc(c *run.Client, now counters) {
	n := now.gcs - m.last.gcs
	c.GCPauses = formats.Some(n)
	c.GCPauseNS = formats.Some(now.gcPause - m.last.gcPause)
	if n > 0 {
		var longest time.Duration
		for _, p := range m.pauses.Pause[:min(int(n), len(m.pauses.Pause))] {
			longest = max(longest, p)
		}
		c.GCPauseMaxNS = formats.Some(int64(longest))
	}
}

// latency returns the p99 of the time goroutines spent runnable before they ran, since
// the last call; the upper edge of its bucket (about 25 % wide), null when none ran.
func (m *Meter) latency() formats.Int {
	metrics.Read(m.sched[:])
	if m.sched[0].Value.Kind() != metrics.KindFloat64Histogram {
		return formats.Int{}
	}
	h := m.sched[0].Value.Float64Histogram()
	if len(m.before) != len(h.Counts) {
		m.before = make([]uint64, len(h.Counts))
	}
	var n uint64
	for i, c := range h.Counts {
		n += c - m.before[i]
	}
	rank := n - n/100 // nearest rank of p99: ceil(0.99 n)
	var p99 formats.Int
	var seen uint64
	for i, c := range h.Counts {
		seen += c - m.before[i]
		m.before[i] = c
		if !p99.Valid && n > 0 && seen >= rank {
			edge := h.Buckets[i+1]
			if math.IsInf(edge, 1) {
				edge = h.Buckets[i]
			}
			p99 = formats.Some(int64(edge * 1e9))
		}
	}
	return p99
}
