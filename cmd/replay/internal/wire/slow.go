package wire

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/pace"
)

// Slowness is put into the reading of answers on purpose: what each token event costs the
// engine beside its own work. At most one of the two is above 0.
type Slowness struct {
	Work  time.Duration // of CPU time
	Stall time.Duration // in which nothing is read
}

// A drag makes an engine slow. It has one account for all answers of the engine: n token
// events cost n times as much as one, since what a sleep or a turn of the CPU took
// too long is taken off the next. A nil drag costs nothing.
//
// Stalls lie on one line of instants: each begins where the one before ended, or where the
// engine had nothing to read in between. The engine's own work between two events
// is within the stall, so a stall of 200 µs is 5,000 events per second.
type drag struct {
	work, stall int64
	inside      atomic.Int64 // how many read: 0 is idle

	mu    sync.Mutex
	until int64 // offset at which the last stall ended, as planned
	owed  int64 // CPU time not yet burnt; below 0: too much was

	now   func() int64   // offset on the run's clock
	sleep func(ns int64) // to an offset
	cpu   func() int64   // CPU time of the thread
	base  int64          // CLOCK_MONOTONIC at offset 0
}

// newDrag returns the drag of an engine, nil for none.
func newDrag(o *Options) *drag {
	if o.Slow == (Slowness{}) {
		return nil
	}
	d := &drag{work: int64(o.Slow.Work), stall: int64(o.Slow.Stall), now: o.Clock.Now, cpu: clock.Thread, base: clock.Monotonic() - o.Clock.Now()}
	d.sleep = func(ns int64) { pace.Nanosleep(ns + d.base) }
	d.until = d.now()
	return d
}

// enter begins the reading of what arrived at an offset, unstamped where nobody knows.
func (d *drag) enter(at arrival) {
	if d == nil || d.inside.Add(1) > 1 {
		return
	}
	since := at.kernelNS
	if !at.stamped {
		since = d.now()
	}
	d.idle(since)
}

// leave ends it.
func (d *drag) leave() {
	if d != nil {
		d.inside.Add(-1)
	}
}

// idle says that there was nothing to read until an offset.
func (d *drag) idle(until int64) {
	d.mu.Lock()
	d.until = max(d.until, until)
	d.mu.Unlock()
}

// event pays for one token event.
func (d *drag) event() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stall > 0 {
		if d.until += d.stall; d.now() < d.until {
			d.sleep(d.until)
		}
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.owed += d.work
	begun, spent := d.cpu(), int64(0)
	for spent < d.owed {
		spent = d.cpu() - begun
	}
	d.owed -= spent
}
