//go:build linux

// Command ask is the floor of answers that are not streamed: write, wait, read.
//
//	ask ADDR RATE SECONDS BODYBYTES
//
// It sends RATE requests a second with bodies of that size on one warm connection, each
// after the answer to the one before, and prints what a request costs.
package main

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	a := netip.MustParseAddrPort(os.Args[1])
	rate, seconds, size := number(2), number(3), number(4)
	runtime.LockOSThread()
	check(unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0))
	const front, back = `{"model":"paced","messages":[{"role":"user","content":"`, `"}],"max_tokens":1}`
	body := front + strings.Repeat("x", max(size-len(front)-len(back), 0)) + back
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	check(err)
	check(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	check(unix.Connect(fd, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}))
	buf := make([]byte, 64<<10)
	start, before := now()+50e6, int64(0)
	warm := rate // the first second is not counted
	for i := range rate * (seconds + 1) {
		if i == warm {
			before = cpu()
		}
		t := unix.NsecToTimespec(start + int64(i)*1e9/int64(rate))
		call(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&t)))
		call(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&request[0])), uintptr(len(request)))
		call(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	}
	fmt.Printf(`{"requests":%d,"cpu_per_request_ns":%.0f}`+"\n", rate*seconds, float64(cpu()-before)/float64(rate*seconds))
}

// call makes a system call that the Go runtime does not hear of.
func call(trap, a, b, c uintptr) {
	if _, _, e := unix.RawSyscall6(trap, a, b, c, 0, 0, 0); e != 0 && e != unix.EINTR {
		panic(e)
	}
}

func now() int64 {
	var t unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return t.Nano()
}

// cpu is the time this process has been on a CPU, in ns.
func cpu() int64 {
	var r unix.Rusage
	check(unix.Getrusage(unix.RUSAGE_SELF, &r))
	return r.Utime.Nano() + r.Stime.Nano()
}

func number(i int) int { n, err := strconv.Atoi(os.Args[i]); check(err); return n }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
