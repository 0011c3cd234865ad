//go:build linux

// Command pace is the floor of dispatching: a locked thread that sleeps to absolute
// instants with clock_nanosleep and writes.
//
//	pace ADDR RATE SECONDS
//
// It writes RATE requests a second in turn to 64 connections, takes what answers have come
// meanwhile, and prints how late it woke.
package main

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	a := netip.MustParseAddrPort(os.Args[1])
	rate, seconds := number(2), number(3)
	runtime.LockOSThread()
	check(unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0))
	const body = `{"model":"paced","messages":[{"role":"user","content":"go"}],"stream":true,"max_tokens":1}`
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var conns [64]int
	for i := range conns {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		check(err)
		check(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		check(unix.Connect(fd, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}))
		check(unix.SetNonblock(fd, true))
		conns[i] = fd
	}
	late, buf := make([]int64, 0, rate*seconds), make([]byte, 64<<10)
	for i, start := 0, now()+50e6; i < rate*seconds; i++ {
		due := start + int64(i)*1e9/int64(rate)
		t := unix.NsecToTimespec(due)
		call(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, uintptr(unsafe.Pointer(&t)))
		late = append(late, now()-due)
		call(unix.SYS_WRITE, uintptr(conns[i%64]), uintptr(unsafe.Pointer(&request[0])), uintptr(len(request)))
		call(unix.SYS_READ, uintptr(conns[(i+32)%64]), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	}
	slices.Sort(late)
	at := func(ppm int) float64 { return float64(late[(len(late)*ppm+999_999)/1_000_000-1]) / 1e3 }
	fmt.Printf(`{"requests":%d,"late_p50_us":%.1f,"late_p99_us":%.1f}`+"\n", len(late), at(500_000), at(990_000))
}

// call makes a system call that the Go runtime does not hear of.
func call(trap, a, b, c uintptr) {
	if _, _, e := unix.RawSyscall6(trap, a, b, c, 0, 0, 0); e != 0 && e != unix.EINTR && e != unix.EAGAIN {
		panic(e)
	}
}

func now() int64 {
	var t unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &t))
	return t.Nano()
}

func number(i int) int { n, err := strconv.Atoi(os.Args[i]); check(err); return n }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
