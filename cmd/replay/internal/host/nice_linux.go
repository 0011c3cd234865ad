package host

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Grantable returns the niceness the system would give a thread of this process that asks
// for want: want itself, or the present one where raising the priority is not allowed. It
// asks on a thread that ends afterwards.
func Grantable(want int) int {
	got := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, want)
		got <- niceness()
	}()
	return <-got
}

// shortSlice is the timeslice that a thread asks for, the shortest there is.
const shortSlice = 100_000 // ns

// SetNice gives every thread of this process a niceness and a short timeslice. Threads
// started later inherit both from the one that starts them.
//
// Since Linux 6.12 a thread that wakes goes first where its slice is the shorter one;
// before, and with the default slice of some 3 ms, it waits for the slice of the running
// thread to end, whatever its niceness. A kernel that knows no such slices refuses or
// ignores it.
func SetNice(nice int) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil && err != unix.ESRCH {
			return err
		}
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil {
			attr.Runtime = shortSlice
			_ = unix.SchedSetAttr(tid, attr, 0)
		}
	}
	return nil
}

// niceness is that of the calling thread; the system call gives 20 less it.
func niceness() int {
	p, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - p
}
