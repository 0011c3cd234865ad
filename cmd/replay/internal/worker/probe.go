package worker

import (
	"os"
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

// probe measures how late its waits for absolute instants end: a pinned thread shows the
// system alone, a goroutine that this thread wakes the system and the Go scheduler
// together. The goroutine does not sleep by itself: an idle Go runtime rounds its own
// timers up to whole milliseconds, half of what counts as a hiccup.
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
// instant is handed on to wake, if there is room.
func (p *probe) run(now func() int64, sleep func(int64), stop <-chan struct{}, wake chan<- int64) {
	next := now()/int64(probePeriod)*int64(probePeriod) + p.phase
	for {
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
		select {
		case wake <- next:
		default: // the goroutine is still late from the instant before
		}
	}
}

// runThread is run on a pinned thread with clock_nanosleep.
func (p *probe) runThread(now func() int64, stop <-chan struct{}, wake chan<- int64) {
	pace.Pin()
	p.phase = probePhase()
	p.run(now, pace.Nanosleep, stop, wake)
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
