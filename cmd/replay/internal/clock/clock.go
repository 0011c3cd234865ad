// Package clock reads CLOCK_MONOTONIC, the one clock of a run.
//
// All _ns columns are offsets from the run's epoch on that clock, and every
// process of a host reads the same one, so stamps of different workers compare
// without correction. Epoch takes the pair that ties it to wall time; New gives
// the clock a worker stamps with.
package clock

import (
	"time"

	"golang.org/x/sys/unix"

	"hydrant/formats/run"
)

// Monotonic returns CLOCK_MONOTONIC in nanoseconds, straight from the kernel
// (about 0.2 µs). It panics when the kernel has no such clock.
func Monotonic() int64 { return read(unix.CLOCK_MONOTONIC) }

// Thread returns the CPU time of the calling thread in nanoseconds. It panics when the
// kernel has no such clock.
func Thread() int64 { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

func read(id int32) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("internal error: clock_gettime: " + err.Error())
	}
	return ts.Nano()
}

// tries is how often a pair of clocks is read to find the tightest reading: one
// try may be preempted between the two reads, nine in a row are not.
const tries = 9

// Epoch reads the monotonic and the wall clock as one instant. Of several tries
// it keeps the one whose monotonic readings before and after the wall reading lie
// closest together, and takes their middle: the pair is exact to half that gap,
// usually below a microsecond.
func Epoch() run.Epoch {
	var e run.Epoch
	best := int64(-1)
	for range tries {
		before := Monotonic()
		wall := read(unix.CLOCK_REALTIME)
		after := Monotonic()
		if gap := after - before; best < 0 || gap < best {
			best = gap
			e = run.Epoch{MonotonicNS: before + gap/2, WallNS: wall}
		}
	}
	return e
}

// A Clock counts nanoseconds from an epoch. It is a small value, safe for
// concurrent use; the zero value is not usable.
//
// Note: the runtime's monotonic time is CLOCK_MONOTONIC read without a system
// call (25 ns against 230), so Now uses that and New measures the constant
// difference between the two once.
type Clock struct {
	base   time.Time
	offset int64 // of base from the epoch, ns
}

// New returns the clock that counts from e.
func New(e run.Epoch) Clock {
	var c Clock
	best := int64(-1)
	for range tries {
		before := Monotonic()
		base := time.Now()
		after := Monotonic()
		if gap := after - before; best < 0 || gap < best {
			best = gap
			c = Clock{base: base, offset: before + gap/2 - e.MonotonicNS}
		}
	}
	return c
}

// Now returns the offset from the epoch in nanoseconds.
func (c Clock) Now() int64 { return int64(time.Since(c.base)) + c.offset }

// Both returns the offset from the epoch and CLOCK_REALTIME, ns, of one instant (to
// some 50 ns: they are read one after the other, the wall clock first).
func (c Clock) Both() (at, wallNS int64) {
	t := time.Now()
	return int64(t.Sub(c.base)) + c.offset, t.UnixNano()
}
