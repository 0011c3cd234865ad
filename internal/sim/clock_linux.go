package sim

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadClock sleeps on a locked thread in the futex call, which takes an absolute
// CLOCK_MONOTONIC time and can be woken: no drift, no timer rounded to whole
// milliseconds, one system call per sleep.
type threadClock struct {
	zero   time.Time
	origin int64 // CLOCK_MONOTONIC at zero
	word   atomic.Uint32
	asleep atomic.Bool
}

func newClock() clock {
	var ts unix.Timespec
	c := &threadClock{zero: time.Now()}
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return newTimerClock()
	}
	c.origin = ts.Nano()
	return c
}

func (c *threadClock) start() {
	runtime.LockOSThread()
	// Without it the kernel may add 50 µs to each sleep. Harmless when refused.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

func (c *threadClock) now() int64 { return int64(time.Since(c.zero)) }

func (c *threadClock) mark() uint32 { return c.word.Load() }

const (
	futexWaitBitsetPrivate = 9 | 128 // FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG
	futexWakePrivate       = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	futexAnyBit            = 0xffffffff
)

func (c *threadClock) wait(mark uint32, until int64) {
	var ts *unix.Timespec
	if until != forever {
		t := unix.NsecToTimespec(c.origin + until)
		ts = &t
	}
	c.asleep.Store(true)
	// Any return is fine: time over, woken, word changed since mark, signal. The
	// caller looks for work and comes back.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&c.word)), futexWaitBitsetPrivate,
		uintptr(mark), uintptr(unsafe.Pointer(ts)), 0, futexAnyBit)
	c.asleep.Store(false)
}

func (c *threadClock) wake() {
	c.word.Add(1)
	if c.asleep.Load() {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&c.word)), futexWakePrivate, 1, 0, 0, 0)
	}
}
