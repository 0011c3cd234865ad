package host

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// allowed counts the CPUs of the affinity mask.
func allowed() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil || set.Count() == 0 {
		return runtime.NumCPU()
	}
	return set.Count()
}

// clockSync asks the kernel whether its wall clock follows a reference, and for its
// own bound on the error in µs.
func clockSync() (string, int64) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	switch {
	case err != nil:
		return "unknown", 0
	case state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0:
		return "unsynchronised", t.Maxerror
	}
	return "synchronised", t.Maxerror
}
