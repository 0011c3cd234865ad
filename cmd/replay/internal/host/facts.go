// Package host reads what a result depends on from the generator's host: fixed facts
// for the run header (Facts) and the counters of one process for the client table
// (Meter). What the system does not tell is null, never 0.
package host

import (
	"os"
	"runtime"
	"strings"

	"hydrant/formats/run"
)

// Facts returns the facts about this host.
func Facts() run.Host {
	name, _ := os.Hostname()
	h := run.Host{
		Hostname:    name,
		Kernel:      word("/proc/sys/kernel/osrelease"),
		BootID:      BootID(),
		Arch:        runtime.GOARCH,
		Go:          runtime.Version(),
		CPUs:        online("/sys/devices/system/cpu/online"),
		CPUsAllowed: allowed(),
	}
	if q, ok := quota("/proc/self/cgroup", "/sys/fs/cgroup"); ok {
		h.CPUQuota = &q
	}
	h.ClockSync, h.ClockMaxErr = clockSync()
	return h
}

// BootID names the boot this process lives in; CLOCK_MONOTONIC counts from it.
func BootID() string { return word("/proc/sys/kernel/random/boot_id") }

// Usable returns how many CPUs this process may keep busy: the smaller of its affinity
// and its cgroup quota, rounded down, at least 1.
func Usable() int {
	n := allowed()
	if q, ok := quota("/proc/self/cgroup", "/sys/fs/cgroup"); ok {
		n = min(n, int(q))
	}
	return max(n, 1)
}

// online counts the CPUs of a kernel list like "0-3,8".
func online(path string) int {
	n := 0
	for part := range strings.SplitSeq(word(path), ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, errA := number(from)
		b := a
		if ranged {
			var errB error
			if b, errB = number(to); errB != nil {
				return runtime.NumCPU()
			}
		}
		if errA != nil || b < a {
			return runtime.NumCPU()
		}
		n += int(b-a) + 1
	}
	return n
}

// word returns the trimmed content of a small file, "" when it cannot be read.
func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
