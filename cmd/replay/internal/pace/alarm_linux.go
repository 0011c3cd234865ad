package pace

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm is an absolute sleep on CLOCK_MONOTONIC that another goroutine can end early.
// One goroutine sleeps, any number ring. The zero value is ready.
//
// It waits on a futex with an absolute timeout, which arms the same high-resolution
// timer as clock_nanosleep with TIMER_ABSTIME and obeys the same timer slack.
//
// Note: clock_nanosleep itself cannot be ended early except by a signal, and a
// predecessor may end while the thread sleeps towards a later instant.
type Alarm struct{ word uint32 } // 1: rung and not yet heard

const (
	futexWaitBitset = 9 | 128   // FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG; the timeout is absolute and monotonic
	futexWake       = 1 | 128   // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	futexMatchAny   = 1<<32 - 1 // FUTEX_BITSET_MATCH_ANY
)

// Sleep returns at instant ns of CLOCK_MONOTONIC, at once when that has passed, or as
// soon as Ring is called; a ring while nobody slept ends the next Sleep at once. It may
// also return early for no reason: callers look at the clock. Forever never passes.
func (a *Alarm) Sleep(ns int64) {
	if atomic.SwapUint32(&a.word, 0) == 1 {
		return
	}
	var until *unix.Timespec
	if ns != Forever {
		t := unix.NsecToTimespec(max(ns, 0))
		until = &t
	}
	// EINTR, EAGAIN (rung meanwhile) and ETIMEDOUT all mean: look again.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.word)), futexWaitBitset, 0,
		uintptr(unsafe.Pointer(until)), 0, futexMatchAny)
	atomic.StoreUint32(&a.word, 0)
}

// Ring ends the current Sleep, or the next one when nobody sleeps.
func (a *Alarm) Ring() {
	if atomic.SwapUint32(&a.word, 1) == 0 {
		_, _, _ = unix.Syscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&a.word)), futexWake, math.MaxInt32)
	}
}

// Pin ties the calling goroutine to its thread, asks for exact timers as Exact does, and
// where the thread has a negative niceness for one preferred below it: what is due goes
// before the encoding, the preparing and the runtime's own work of the same process. The
// thread ends with the goroutine.
//
// Note: where the process and its parent shared one CPU, at 2,000 requests a second beside
// 40,000 events the p99 of the dispatch was 150 to 560 µs late without that niceness and
// about 70 to 155 with it.
func Pin() {
	runtime.LockOSThread()
	Exact()
	// Where it is refused the thread stays what it is, which the lag column shows.
	if a, err := unix.SchedGetAttr(0, 0); err == nil && a.Nice < 0 {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, int(max(a.Nice-preferred, -20)))
	}
}

// preferred is how much lower the niceness of a pinned thread is.
const preferred = 10

// Exact asks the kernel for timers of this thread that are exact to 1 ns instead of the
// default 50 µs. The calling goroutine may leave the thread again.
func Exact() {
	// A kernel that refuses leaves 50 µs of slack, which the lag column shows.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// Nanosleep sleeps to instant ns of CLOCK_MONOTONIC with clock_nanosleep and TIMER_ABSTIME.
// Nothing ends it early but a signal, after which it goes on. The thread keeps its P while
// it sleeps, which GOMAXPROCS has to allow for.
//
// Note: a P given up in a sleep of milliseconds is taken over by sysmon, which then looks
// at all Ps every 20 µs for a while: 100 sleeps a second cost 2 % of a core.
func Nanosleep(ns int64) {
	for t := unix.NsecToTimespec(max(ns, 0)); nanosleep(&t) == unix.EINTR; {
	}
}

// nanosleep is a call, and so a place where the world can be stopped: its signal ends the
// system call.
//
//go:noinline
func nanosleep(t *unix.Timespec) unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(t)), 0, 0, 0)
	return errno
}
