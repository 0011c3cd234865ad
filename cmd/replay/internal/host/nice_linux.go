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

// SetNice gives every thread of this process a niceness. Threads started later inherit it
// from the one that starts them.
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
