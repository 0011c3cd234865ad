package worker

import (
	"math/bits"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/slots"
)

// cap puts the caps of the setup on the board, in memory shared with the other workers.
func (w *worker) cap(m *slots.Memory, self int) {
	limit := func(n int64) func() int64 {
		return func() int64 { return ramped(w.now(), n, w.setup.RampNS) }
	}
	b := w.board
	if n := w.setup.Concurrency; n > 0 {
		b.requests = m.Pool(Requests, self, limit(n))
	}
	if n := w.setup.Sessions; n > 0 {
		b.sessions = m.Pool(Sessions, self, limit(n))
	}
	b.wake = func() {
		select {
		case w.wakes <- struct{}{}:
		default:
		}
	}
}

// ramped is how many of n slots there are at offset now: from 1 at the epoch they grow
// linearly to n at the end of the ramp.
func ramped(now, n, ramp int64) int64 {
	if ramp == 0 || now >= ramp {
		return n
	}
	hi, lo := bits.Mul64(uint64(n-1), uint64(max(now, 0)))
	q, _ := bits.Div64(hi, lo, uint64(ramp)) // hi < ramp, since now < ramp and n − 1 < 2^63
	return 1 + int64(q)
}

// rampStep is how often the caps are looked at while they grow.
const rampStep = 5 * time.Millisecond

// ramp gives the slots that come while the caps grow.
func (w *worker) ramp() error {
	if w.setup.RampNS == 0 {
		return nil
	}
	tick := time.NewTicker(rampStep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.quit:
			return nil
		}
		now := w.now()
		w.board.fill()
		if now >= w.setup.RampNS {
			return nil
		}
	}
}

// wakeOthers has the parent tell the other workers of free slots.
func (w *worker) wakeOthers() error {
	for {
		select {
		case <-w.wakes:
			if err := w.out.Write(link.KindWake); err != nil {
				return errOrphan
			}
		case <-w.quit: // the parent wakes the others when this worker has ended
			return nil
		}
	}
}
