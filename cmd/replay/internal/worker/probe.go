package worker

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/pace"
)

// probePeriod is the distance of the probes' instants: 100 samples a second.
const probePeriod = 10 * time.Millisecond

// probePhase is where in each period both probes of this process wake, at the same instant:
// two wakes of an idle runtime cost it nearly twice the CPU of a common one. Other workers
// wake at other instants.
func probePhase() int64 { return int64(os.Getpid()) * 1_618_034 % int64(probePeriod) }

// handOver is how often the thread also wakes a goroutine that another thread has to take:
// each time costs a worker that is idle 70 µs of CPU, since the runtime wakes several threads
// to look for work. A yield of the goroutine on the thread costs far less.
const handOver = 20

// probe measures how late its waits for absolute instants end: a sleeping thread shows the
// system alone, a goroutine the system and the Go scheduler together. That is the goroutine
// on the thread when it has yielded to others, and each handOver-th time one more that
// it wakes. No goroutine sleeps by itself: an idle Go runtime rounds its own timers up to
// whole milliseconds, half of what counts as a hiccup.
type probe struct {
	phase int64        // of the instants in each period, ns
	worst atomic.Int64 // ns since the last take
}

// take returns the worst lateness since the last call. With 100 samples a second it is
// the second's p99.9.
func (p *probe) take() int64 { return p.worst.Swap(0) }

func (p *probe) note(late int64) {
	for {
		w := p.worst.Load()
		if late <= w || p.worst.CompareAndSwap(w, late) {
			return
		}
	}
}

// run measures until stop is closed. sleep returns at an instant of now; instants that
// passed during a long sleep are not made up for, since one stall is one hiccup. Each
// instant is then handed on, with its number from 0.
func (p *probe) run(now func() int64, sleep func(int64), stop <-chan struct{}, handOn func(k int, due int64)) {
	next := now()/int64(probePeriod)*int64(probePeriod) + p.phase
	for k := 0; ; k++ {
		next += int64(probePeriod)
		if n := now(); next < n {
			next = n - (n-next)%int64(probePeriod) + int64(probePeriod)
		}
		sleep(next)
		select {
		case <-stop:
			return
		default:
			p.note(max(now()-next, 0))
		}
		handOn(k, next)
	}
}

// runThread sleeps with clock_nanosleep and notes for other when the goroutine that slept runs
// on after a yield. The goroutine keeps to no thread of its own: the runtime preempts one
// that sleeps in the kernel every 10 to 20 ms, and if it were bound to its thread that
// would take three more to go on.
func (p *probe) runThread(now func() int64, stop <-chan struct{}, other *probe, wake chan<- int64) {
	p.phase = probePhase()
	p.run(now, func(ns int64) { pace.Exact(); pace.Nanosleep(ns) }, stop, func(k int, due int64) {
		runtime.Gosched()
		other.note(max(now()-due, 0))
		if k%handOver != 0 {
			return
		}
		select {
		case wake <- due:
		default: // that goroutine is still late from the last time
		}
	})
}

// runGoroutine notes how long after each instant it runs.
func (p *probe) runGoroutine(now func() int64, stop <-chan struct{}, wake <-chan int64) {
	for {
		select {
		case <-stop:
			return
		case due := <-wake:
			p.note(max(now()-due, 0))
		}
	}
}
