package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/fixture"
)

// own opens a loop that the test itself is the pacing thread of.
func own(t testing.TB, o Options) *loop {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	e, err := NewEpoll(fitted(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e.(*loop)
}

// until serves the loop until ok.
func (l *loop) until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 20 s", what)
		}
		l.Sleep(clock.Monotonic() + int64(time.Millisecond))
	}
}

// landed keeps the row of a flight.
type landed struct{ row *run.Request }

func (f *landed) Row() *run.Request    { return new(run.Request) }
func (f *landed) Written()             {}
func (f *landed) Ended(r *run.Request) { f.row = r }

// alone waits until no connection is open.
func (l *loop) alone(t testing.TB) {
	t.Helper()
	l.until(t, "closed connection", func() bool {
		for _, s := range l.sockets {
			if s != nil {
				return false
			}
		}
		return true
	})
}

// begin begins an answer on a connection of its own and returns the server's end.
func (l *loop) begin(t testing.TB, p *Prepared, s net.Listener) (net.Conn, *landed) {
	t.Helper()
	f := &landed{}
	l.Start(context.Background(), p, l.o.Clock.Now(), f)
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := s.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- c
	}()
	var c net.Conn
	l.until(t, "connection", func() bool {
		select {
		case c = <-accepted:
			return true
		default:
			return false
		}
	})
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, streamHead); err != nil {
		t.Fatal(err)
	}
	return c, f
}

func listener(t testing.TB, network, addr string) net.Listener {
	t.Helper()
	s, err := net.Listen(network, addr)
	if err != nil {
		fixture.Need(t, false, err.Error())
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Nothing is allocated per token event: read, unchunked, split, classified, stamped,
// also when a read ends inside an event.
func TestNoAllocationPerEvent(t *testing.T) {
	l := own(t, Options{IdleTimeout: time.Minute})
	s := listener(t, "tcp", "127.0.0.1:0")
	c, f := l.begin(t, prepared(t, "http://"+s.Addr().String()+"/"), s)
	event := []byte(chunk(contentEvent(" word")))
	tokens := l.counters.TokenEvents.Load
	send := func(b []byte) {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	seen := tokens()
	whole := func() {
		send(event)
		seen++
		l.until(t, "event", func() bool { return tokens() == seen })
	}
	cut := func() {
		reads := l.counters.Reads.Load()
		send(event[:60])
		l.until(t, "read", func() bool { return l.counters.Reads.Load() > reads })
		send(event[60:])
		seen++
		l.until(t, "event", func() bool { return tokens() == seen })
	}
	for range 100 {
		whole()
		cut()
	}
	if n := testing.AllocsPerRun(300, whole); n != 0 {
		t.Errorf("%v allocations per event; want 0", n)
	}
	if n := testing.AllocsPerRun(300, cut); n != 0 {
		t.Errorf("%v allocations per event in two reads; want 0", n)
	}
	send([]byte(chunk(doneEvent) + lastChunk))
	l.until(t, "end", func() bool { return f.row != nil })
	if f.row.Outcome != run.OK || f.row.TokenEvents.V != seen || len(f.row.ChunkGapUS) != int(seen)-1 {
		t.Errorf("%s %q, %v token events; want ok and %d", f.row.Outcome, f.row.Error, f.row.TokenEvents, seen)
	}
}

// What an idle stream costs here beside the kernel's share: the sizes are those of the classes
// of the allocator that they fill.
func TestSizeOfAnIdleStream(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{{"exchange", unsafe.Sizeof(exchange{}), 416}, {"socket", unsafe.Sizeof(socket{}), 144}} {
		if c.got > c.want {
			t.Errorf("%s: %d bytes; want at most %d", c.name, c.got, c.want)
		}
	}
}

func TestSleepEndsInTime(t *testing.T) {
	l := own(t, Options{})
	for range 20 {
		at := clock.Monotonic() + 300_000
		for clock.Monotonic() < at {
			l.Sleep(at)
		}
	}
	l.Sleep(0) // long ago
	l.Ring()
	l.Sleep(1 << 62) // heard although it rang before
	rung := make(chan struct{})
	go func() { l.Ring(); close(rung) }()
	l.Sleep(1 << 62)
	<-rung
}

// A kernel without epoll_pwait2 wakes by a timer descriptor.
func TestSleepWithATimer(t *testing.T) {
	l := own(t, Options{})
	l.poll.old = true
	for range 20 {
		at := clock.Monotonic() + 300_000
		for clock.Monotonic() < at {
			l.Sleep(at)
		}
	}
	rung := make(chan struct{})
	go func() { l.Ring(); close(rung) }()
	l.Sleep(1 << 62)
	<-rung
}

func TestUnixSocket(t *testing.T) { both(t, testUnixSocket) }

func testUnixSocket(t *testing.T, engine opener) {
	path := filepath.Join(t.TempDir(), "s")
	l := listener(t, "unix", path)
	seen := make(chan string, 2)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Host + r.URL.Path
		_, _ = io.WriteString(w, strings.Join(good, ""))
	}))
	e := engine(t, Options{})
	for i := range int64(2) {
		row := do(t, e, prepared(t, UnixURL(path)+"/v1/chat/completions"))
		if row.Outcome != run.OK || row.RemoteAddr != path || row.ConnReused != formats.Some(i) || row.SegmentsIn.Valid {
			t.Errorf("outcome %s %q, address %q, reused %v, segments %v", row.Outcome, row.Error, row.RemoteAddr, row.ConnReused, row.SegmentsIn)
		}
		if got := <-seen; got != "localhost/v1/chat/completions" {
			t.Errorf("the server saw %s", got)
		}
	}
	l.Close()
	row := do(t, engine(t, Options{}), prepared(t, UnixURL(path)+"/"))
	if row.Outcome != run.ConnectError || strings.HasPrefix(row.Error, run.LocalPrefix) || !strings.Contains(row.Error, "dial unix "+path) {
		t.Errorf("no server: %s %q", row.Outcome, row.Error)
	}
}

func TestIPv6(t *testing.T) { both(t, testIPv6) }

func testIPv6(t *testing.T, engine opener) {
	l := listener(t, "tcp", "[::1]:0")
	go http.Serve(l, handler(good))
	row := do(t, engine(t, Options{}), prepared(t, "http://"+l.Addr().String()+"/"))
	if row.Outcome != run.OK || row.RemoteAddr != l.Addr().String() {
		t.Errorf("outcome %s %q, address %q; want ok, %s", row.Outcome, row.Error, row.RemoteAddr, l.Addr())
	}
}

// Addresses of a name are used in turn, and one that refuses gives way to the next.
func TestSeveralAddresses(t *testing.T) {
	a := serve(t, sayAndClose(whole(good...)))
	_, service, _ := net.SplitHostPort(a.addr)
	l := own(t, Options{})
	port := netip.MustParseAddrPort(a.addr).Port()
	p := &place{host: "h", port: port, resolved: l.o.Clock.Now()}
	for _, ip := range []string{"127.0.0.1", "127.0.0.9"} { // nobody listens on the second
		p.all = append(p.all, addressOf(netip.MustParseAddr(ip), port))
	}
	l.places["h:"+service] = p
	for range 4 {
		f := &landed{}
		l.Start(context.Background(), prepared(t, "http://h:"+service+"/"), l.o.Clock.Now(), f)
		l.until(t, "end", func() bool { return f.row != nil })
		if f.row.Outcome != run.OK || f.row.RemoteAddr != a.addr {
			t.Errorf("%s %q from %q", f.row.Outcome, f.row.Error, f.row.RemoteAddr)
		}
		l.alone(t)
	}
	if p.turn < 5 {
		t.Errorf("%d addresses tried for 4 connections; want both in turn", p.turn)
	}
	p.all = p.all[1:]
	f := &landed{}
	l.Start(context.Background(), prepared(t, "http://h:"+service+"/"), l.o.Clock.Now(), f)
	l.until(t, "end", func() bool { return f.row != nil })
	if f.row.Outcome != run.ConnectError || f.row.Error != "dial tcp 127.0.0.9:"+service+": connect: connection refused" {
		t.Errorf("%s %q", f.row.Outcome, f.row.Error)
	}
}

// Names are resolved beside the loop, and again when their addresses are old; those who
// do not have to wait have no dns_ns.
func TestNamesAreResolvedAgain(t *testing.T) {
	s := serve(t, sayAndClose(whole(good...)))
	_, service, _ := net.SplitHostPort(s.addr)
	l := own(t, Options{})
	request := func() *run.Request {
		f := &landed{}
		l.Start(context.Background(), prepared(t, "http://localhost:"+service+"/"), l.o.Clock.Now(), f)
		l.until(t, "end", func() bool { return f.row != nil })
		l.alone(t)
		return f.row
	}
	if row := request(); row.Outcome != run.OK || !row.DNSNS.Valid || row.DNSNS.V < row.ConnAskedNS.V || row.DNSNS.V > row.ConnectNS.V {
		t.Fatalf("%s %q, asked %v, dns %v, connected %v", row.Outcome, row.Error, row.ConnAskedNS, row.DNSNS, row.ConnectNS)
	}
	p := l.places["localhost:"+service]
	before := p.resolved
	if row := request(); row.DNSNS.Valid || p.resolved != before {
		t.Errorf("resolved again at once: dns %v", row.DNSNS)
	}
	p.resolved -= int64(nameTTL)
	before = p.resolved
	if row := request(); row.DNSNS.Valid {
		t.Errorf("waited for a name that was known: dns %v", row.DNSNS)
	}
	l.until(t, "addresses", func() bool { return p.resolved > before })
}

// Connects are paced: those above the bound wait, take a connection that comes free, and
// leave the line when they end.
func TestConnectsArePaced(t *testing.T) {
	s := serve(t, say(whole(good...)))
	l := own(t, Options{})
	const n = 3 * maxDialing
	flights := make([]landed, n)
	ctx, cancel := context.WithCancelCause(context.Background())
	for i := range flights {
		c := context.Background()
		if i == n-1 {
			c = ctx
		}
		l.dialing += maxDialing // all are taken
		l.Start(c, prepared(t, s.url()), l.o.Clock.Now(), &flights[i])
		l.dialing -= maxDialing
	}
	if len(l.queue) != n || l.dialing != 0 {
		t.Fatalf("%d wait, %d dial; want %d, 0", len(l.queue), l.dialing, n)
	}
	cancel(errors.New("stop"))
	l.until(t, "cancelled row", func() bool { return flights[n-1].row != nil })
	most := 0
	l.until(t, "rows", func() bool {
		most = max(most, l.dialing)
		for i := range flights {
			if flights[i].row == nil {
				return false
			}
		}
		return true
	})
	if most > maxDialing || flights[n-1].row.Outcome != run.Cancelled {
		t.Errorf("%d dialled at once; the cancelled one ended as %s", most, flights[n-1].row.Outcome)
	}
	for i := range n - 1 {
		if flights[i].row.Outcome != run.OK {
			t.Fatalf("%s %q", flights[i].row.Outcome, flights[i].row.Error)
		}
	}
}

func TestLocalCauses(t *testing.T) {
	s := serve(t, say(whole(good...)))
	for name, c := range map[string]struct {
		spoil func(l *loop)
		want  string
	}{
		"no port":       {func(l *loop) { l.ports = 0 }, "cannot assign requested address"},
		"no descriptor": {func(l *loop) { lowerFiles(t) }, "too many open files"},
	} {
		t.Run(name, func(t *testing.T) {
			l := own(t, Options{})
			c.spoil(l)
			f := &landed{}
			l.Start(context.Background(), prepared(t, s.url()), l.o.Clock.Now(), f)
			if f.row == nil || f.row.Outcome != run.ConnectError || !strings.HasPrefix(f.row.Error, run.LocalPrefix) || !strings.Contains(f.row.Error, c.want) {
				t.Errorf("row %+v; want connect_error, local, %s", f.row, c.want)
			}
			raiseFiles()
		})
	}
}

var raiseFiles = func() {}

// lowerFiles lets the process open no descriptor more, until raiseFiles.
func lowerFiles(t *testing.T) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 1, Max: l.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	raiseFiles = sync.OnceFunc(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l) })
	t.Cleanup(raiseFiles)
}

// The engine leaves nothing behind, whatever was in flight when it was closed.
func TestCloseLeavesNothing(t *testing.T) {
	s := serve(t, sayAndHold(streamHead+chunk(contentEvent("a"))))
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	o := fitted(Options{})
	e, err := NewEpoll(o)
	if err != nil {
		t.Fatal(err)
	}
	l := e.(*loop)
	flights := make([]landed, 100)
	for i := range flights {
		l.Start(context.Background(), prepared(t, s.url()), o.Clock.Now(), &flights[i])
	}
	l.until(t, "tokens", func() bool { return l.counters.TokenEvents.Load() == 100 })
	l.Close()
	for i := range flights {
		if r := flights[i].row; r == nil || r.Outcome != run.Cancelled || r.TokenEvents.V != 1 {
			t.Fatalf("row %+v; want cancelled with its token", r)
		}
	}
	settle(t, "open connections", 0, func() int { return int(s.open.Load()) })
	settle(t, "goroutines", goroutines, runtime.NumGoroutine)
	settle(t, "descriptors", files, func() int { return descriptors(t) })
	l.Ring() // nobody minds
}

// A timer that has rung ends no other wait, even where the caller's clock says that it is
// still to come: a wait that relied on it would last for ever.
func TestTimerThatHasRungIsArmedAgain(t *testing.T) {
	var p poller
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	const behind, patience = int64(time.Second), int64(20 * time.Second)
	rings := func(at int64) {
		t.Helper()
		if !p.alarm(at, clock.Monotonic()-behind) {
			t.Fatal("there is no timer")
		}
		for _, ev := range p.wait(patience) {
			if ev.Fd == timerSlot {
				return
			}
		}
		t.Fatal("the timer did not end the wait")
	}
	at := clock.Monotonic() + int64(time.Millisecond)
	rings(at)
	rings(at + int64(time.Millisecond))
}
