package kernel

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/internal/fixture"
)

// pair returns two ends of a TCP connection over loopback; the first has stamps.
func pair(t *testing.T) (fd int, peer *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return descriptor(t, c.(syscall.Conn)), s.(*net.TCPConn)
}

func descriptor(t *testing.T, c syscall.Conn) (fd int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(p uintptr) { fd = int(p) }); err != nil {
		t.Fatal(err)
	}
	return fd
}

func warm(t *testing.T) {
	t.Helper()
	w, works, err := Warm()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	fixture.Need(t, works, "the kernel stamps no packets")
}

func wait(t *testing.T, fd int) {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 10_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			t.Fatalf("poll: %d ready, %v", n, err)
		}
		return
	}
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := c.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestStampOfARead(t *testing.T) {
	warm(t)
	fd, peer := pair(t)
	if err := Enable(fd); err != nil {
		t.Fatal(err)
	}
	clk := clock.New(clock.Epoch())
	buf, oob := make([]byte, 100), make([]byte, OOBSize)
	if n, _, _, err := Recv(fd, buf, oob); n != 0 || err != unix.EAGAIN {
		t.Errorf("Recv of nothing = %d, %v; want 0, EAGAIN", n, err)
	}
	for range 20 {
		before := clk.Now()
		send(t, peer, "hello")
		wait(t, fd)
		n, stamp, ok, err := Recv(fd, buf, oob)
		at, wall := clk.Both()
		if err != nil || string(buf[:n]) != "hello" || !ok {
			t.Fatalf("Recv = %q, stamped %v, %v; want hello, true, nil", buf[:n], ok, err)
		}
		// the two clocks are read one after the other, so a little slack before
		if k := Mono(at, wall, stamp); k > at || k < before-int64(time.Millisecond) {
			t.Errorf("arrival at %d; want it between the write at %d and the read at %d", k, before, at)
		}
	}
	peer.Close()
	wait(t, fd)
	if n, _, ok, err := Recv(fd, buf, oob); n != 0 || ok || err != nil {
		t.Errorf("Recv at the end = %d, stamped %v, %v; want 0, false, nil", n, ok, err)
	}
}

// A stamp is that of the newest segment in the read.
func TestStampOfCoalescedSegments(t *testing.T) {
	warm(t)
	fd, peer := pair(t)
	if err := Enable(fd); err != nil {
		t.Fatal(err)
	}
	clk := clock.New(clock.Epoch())
	first, err := Info(fd)
	if err != nil {
		t.Fatal(err)
	}
	send(t, peer, "AAAA")
	wait(t, fd)
	second := clk.Now()
	send(t, peer, "BBBB")
	for { // both are there when the kernel has counted them
		if i, err := Info(fd); err != nil || i.SegmentsIn == first.SegmentsIn+2 {
			break
		}
	}
	buf, oob := make([]byte, 100), make([]byte, OOBSize)
	n, stamp, ok, err := Recv(fd, buf, oob)
	at, wall := clk.Both()
	if string(buf[:n]) != "AAAABBBB" || !ok || err != nil {
		t.Fatalf("Recv = %q, stamped %v, %v", buf[:n], ok, err)
	}
	if k := Mono(at, wall, stamp); k < second-int64(time.Millisecond) {
		t.Errorf("arrival at %d; want that of the second segment, sent at %d", k, second)
	}
}

func TestRecvWithoutTheOption(t *testing.T) {
	fd, peer := pair(t)
	send(t, peer, "x")
	wait(t, fd)
	if n, _, ok, err := Recv(fd, make([]byte, 8), make([]byte, OOBSize)); n != 1 || ok || err != nil {
		t.Errorf("Recv = %d, stamped %v, %v; want 1, false, nil", n, ok, err)
	}
	send(t, peer, "x")
	wait(t, fd)
	if n, _, ok, err := Recv(fd, make([]byte, 8), nil); n != 1 || ok || err != nil {
		t.Errorf("Recv without scratch = %d, stamped %v, %v; want 1, false, nil", n, ok, err)
	}
}

func TestRecvAllocatesNothing(t *testing.T) {
	warm(t)
	fd, peer := pair(t)
	if err := Enable(fd); err != nil {
		t.Fatal(err)
	}
	buf, oob := make([]byte, 1), make([]byte, OOBSize)
	send(t, peer, string(make([]byte, 2000)))
	wait(t, fd)
	if n := testing.AllocsPerRun(500, func() {
		if _, _, ok, err := Recv(fd, buf, oob); !ok || err != nil {
			t.Fatalf("stamped %v, %v", ok, err)
		}
	}); n != 0 {
		t.Errorf("Recv of data allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Info(fd); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Info allocates %v times", n)
	}
	empty, _ := pair(t)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, _, err := Recv(empty, buf, oob); err != unix.EAGAIN {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Recv of nothing allocates %v times", n)
	}
}

func TestInfoOfOtherSockets(t *testing.T) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := Info(p[0]); err != ErrUnsupported {
		t.Errorf("Info of a unix socket = %v; want ErrUnsupported", err)
	}
	if err := Enable(p[0]); err != nil {
		t.Errorf("Enable of a unix socket = %v; want nil", err)
	}
	if _, err := unix.Write(p[1], []byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, _, ok, err := Recv(p[0], make([]byte, 8), make([]byte, OOBSize)); n != 1 || ok || err != nil {
		t.Errorf("Recv of a unix socket = %d, stamped %v, %v; want 1, false, nil", n, ok, err)
	}
	if _, err := Info(-1); err != unix.EBADF {
		t.Errorf("Info of no socket = %v; want EBADF", err)
	}
}

func TestForeignControlMessages(t *testing.T) {
	for n := range 80 {
		oob := make([]byte, n)
		for i := range oob {
			oob[i] = byte(i * 37)
		}
		if _, ok := stampOf(oob); ok {
			t.Errorf("a stamp in %d bytes of noise", n)
		}
	}
}
