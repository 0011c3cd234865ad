//go:build linux

// Command recv is the floor of receiving: one thread, one epoll set, one recvmsg for each
// readable socket, nothing parsed.
//
//	recv ADDR STREAMS EVENTS SECONDS EVENTBYTES
//
// It opens STREAMS streams of EVENTS events, waits until all run, and prints what the next SECONDS cost.
package main

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	a := netip.MustParseAddrPort(os.Args[1])
	streams, events, seconds, size := number(2), number(3), number(4), number(5)
	runtime.LockOSThread()
	epoll, err := unix.EpollCreate1(0)
	check(err)
	body := fmt.Sprintf(`{"model":"paced","messages":[{"role":"user","content":"go"}],"stream":true,"max_tokens":%d}`, events)
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	start := time.Now()
	for i := range streams {
		time.Sleep(time.Until(start.Add(time.Duration(i) * 1061800)))
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		check(err)
		check(unix.Connect(fd, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}))
		_, err = unix.Write(fd, request)
		check(err)
		check(unix.SetNonblock(fd, true))
		check(unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
	}
	loop(epoll, time.Second)
	before := cpu()
	reads, bytes := loop(epoll, time.Duration(seconds)*time.Second)
	used, n := cpu()-before, bytes/int64(size)
	fmt.Printf(`{"cpu_per_event_ns":%.1f,"events":%d,"events_per_s":%.0f,"reads":%d}`+"\n", float64(used)/float64(n), n, float64(n)/float64(seconds), reads)
}

// loop reads for a while.
func loop(epoll int, d time.Duration) (reads, bytes int64) {
	ready, buf := make([]unix.EpollEvent, 256), make([]byte, 64<<10)
	vec := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	msg := unix.Msghdr{Iov: &vec, Iovlen: 1}
	for end := time.Now().Add(d); time.Now().Before(end); {
		n, _, _ := unix.RawSyscall6(unix.SYS_EPOLL_WAIT, uintptr(epoll), uintptr(unsafe.Pointer(&ready[0])), uintptr(len(ready)), 100, 0, 0)
		for i := range max(int(n), 0) {
			k, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(ready[i].Fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
			if e == 0 {
				reads, bytes = reads+1, bytes+int64(k)
			}
		}
	}
	return
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
