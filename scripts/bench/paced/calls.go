//go:build linux

package main

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var zero = time.Now()

// now is the monotonic time since the start in ns; unlike x/sys's clock_gettime it needs no
// system call.
func now() int64 { return int64(time.Since(zero)) }

// pwait2 is epoll_pwait2: a wait in ns.
func pwait2(epoll int, events []unix.EpollEvent, ns int64) (int, error) {
	t := unix.NsecToTimespec(ns)
	n, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(&t)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// write is write(2), which does not block here; the Go scheduler need not hear of it.
func write(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
