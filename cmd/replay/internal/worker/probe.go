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

// probe measures how late its sleeps to absolute instants end: a goroutine shows the
// Go scheduler and the system together, a pinned thread the system alone.
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
// passed during a long sleep are not made up for, since one stall is one hiccup.
func (p *probe) run(now func() int64, sleep func(int64), stop <-chan struct{}) {
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
	}
}

// runThread is run on a pinned thread with clock_nanosleep.
func (p *probe) runThread(now func() int64, stop <-chan struct{}) {
	pace.Pin()
	p.phase = probePhase()
	p.run(now, pace.Nanosleep, stop)
}

// runGoroutine is run with the runtime's own timers.
func (p *probe) runGoroutine(now func() int64, stop <-chan struct{}) {
	p.phase = probePhase()
	p.run(now, func(ns int64) { time.Sleep(time.Duration(ns - now())) }, stop)
}
