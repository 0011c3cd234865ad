package kernel

import (
	"sync/atomic"

	"hydrant/cmd/replay/internal/clock"
)

// A Converter puts stamps on the run's clock, for all connections of an engine. It is
// safe for concurrent use and must not be copied.
//
// Reading the two clocks one after the other finds their distance too small by what
// lies between: some 20 ns, and milliseconds for a thread that was preempted there. The
// largest of the last readings is kept, so that stamps convert alike, and given up when
// several readings in a row stay below it: then the wall clock was set back.
type Converter struct {
	clk    clock.Clock
	offset atomic.Int64 // of the wall clock from the run's clock, ns; 0: not known
}

// slack is how far the kept distance may be off while the wall clock is slewed, ns.
const slack = 1000

// NewConverter returns a converter to clk.
func NewConverter(clk clock.Clock) *Converter { return &Converter{clk: clk} }

// Arrival returns the present instant, and that of stamp, CLOCK_REALTIME in ns, both on
// the run's clock. It is called directly after the read that gave the stamp.
func (c *Converter) Arrival(stampWall int64) (at, arrival int64) {
	at, wall := c.clk.Both()
	offset, kept := wall-at, c.offset.Load()
	if offset <= kept && offset >= kept-slack {
		return at, Mono(at, at+kept, stampWall)
	}
	if offset < kept {
		for range 3 {
			again, wall := c.clk.Both()
			offset = max(offset, wall-again)
		}
		if offset >= kept-slack {
			return at, Mono(at, at+kept, stampWall)
		}
	}
	c.offset.Store(offset)
	return at, Mono(at, at+offset, stampWall)
}
