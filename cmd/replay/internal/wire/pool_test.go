package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/fixture"
)

// many performs n requests at a fixed number in flight and returns the rows by outcome.
func many(t testing.TB, e Engine, url string, n, inFlight int) map[string]int {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for range inFlight {
		wg.Go(func() {
			for id := next.Add(1); id <= int64(n); id = next.Add(1) {
				p := prepared(t, url)
				p.ID = id
				row := do(t, e, p)
				mu.Lock()
				outcomes[row.Outcome]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return outcomes
}

func TestConnectionsAreKept(t *testing.T) { both(t, testConnectionsAreKept) }

func testConnectionsAreKept(t *testing.T, engine opener) {
	const n, inFlight = 1000, 50
	s := serve(t, say(whole(good...)))
	counters := new(Counters)
	e := engine(t, Options{Counters: counters})
	if got := many(t, e, s.url(), n, inFlight); got[run.OK] != n {
		t.Fatalf("outcomes %v; want %d ok", got, n)
	}
	most := int64(inFlight)
	if _, ok := e.(*httpEngine); ok {
		most += n / 100 // one that the transport has not let go yet when its answer is read is not kept
	}
	if opened := s.accepted.Load(); opened > most || counters.Opened.Load() != opened {
		t.Errorf("%d connections opened, want at most %d; %d counted", opened, most, counters.Opened.Load())
	}
	if s.requests.Load() != n || counters.Events.Load() != n*int64(len(good)) || counters.TokenEvents.Load() != 2*n {
		t.Errorf("%d requests, %d events, %d token events", s.requests.Load(), counters.Events.Load(), counters.TokenEvents.Load())
	}
	if got, want := counters.Received.Load(), int64(n*len(whole(good...))); got != want {
		t.Errorf("received %d bytes; want %d", got, want)
	}
	if counters.Sent.Load() == 0 || counters.Reads.Load() < n {
		t.Errorf("sent %d bytes, %d reads", counters.Sent.Load(), counters.Reads.Load())
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		fixture.Need(t, false, "no /proc/self/fd")
	}
	return len(list)
}

// settle waits until what f counts is back at most at its start value: goroutines and
// descriptors are let go by other goroutines than the one that caused it.
func settle(t testing.TB, what string, start int, f func() int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for f() > start {
		if time.Now().After(deadline) {
			t.Fatalf("%d %s; want %d as at the start", f(), what, start)
		}
		runtime.Gosched()
	}
}

func TestTimeoutsLeaveNothing(t *testing.T) { both(t, testTimeoutsLeaveNothing) }

func testTimeoutsLeaveNothing(t *testing.T, engine opener) {
	s := serve(t, sayAndHold(streamHead+chunk(contentEvent("a"))))
	e := engine(t, Options{IdleTimeout: 10 * time.Millisecond})
	do(t, e, prepared(t, s.url()))
	settle(t, "open connections", 0, func() int { return int(s.open.Load()) })
	goroutines, files := runtime.NumGoroutine(), descriptors(t)

	got := many(t, e, s.url(), 200, 20)
	if got[run.TimeoutIdle] != 200 {
		t.Errorf("outcomes %v; want 200 timeout_idle", got)
	}
	settle(t, "goroutines", goroutines, runtime.NumGoroutine)
	settle(t, "descriptors", files, func() int { return descriptors(t) })
}

// A hung request disturbs no other one.
func TestOneHangsOthersPass(t *testing.T) { both(t, testOneHangsOthersPass) }

func testOneHangsOthersPass(t *testing.T, engine opener) {
	hung := make(chan struct{})
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		if r.Header.Get("X-Request-Id") == "0" {
			close(hung)
			return hold(c)
		}
		return say(whole(good...))(c, r, b)
	})
	e := engine(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		p := prepared(t, s.url())
		p.ID = 0
		row := &run.Request{}
		perform(ctx, e, p, row)
		if row.Outcome != run.Cancelled {
			t.Errorf("hung request: %s", row.Outcome)
		}
	})
	<-hung
	if got := many(t, e, s.url(), 50, 5); got[run.OK] != 50 {
		t.Errorf("outcomes beside a hung request: %v", got)
	}
	cancel()
	wg.Wait()
}

// A connection that was closed while it lay idle costs no row: nothing was sent on it, so
// the request goes out on another one, once.
func TestIdleConnectionClosedByServer(t *testing.T) { both(t, testIdleConnectionClosedByServer) }

func testIdleConnectionClosedByServer(t *testing.T, engine opener) {
	s := serve(t, sayAndClose(whole(good...)))
	e := engine(t, Options{})
	for range 50 {
		do(t, e, prepared(t, s.url()))
		settle(t, "open connections", 0, func() int { return int(s.open.Load()) })
	}
	// the client may not have noticed yet that its connection is gone, and then loses
	// the request with it: but it never sends one twice
	if n := s.requests.Load(); n > 50 {
		t.Errorf("the server saw %d requests of 50 rows", n)
	}
}

func handler(events []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = w.Write([]byte(e))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(handler(good))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	for _, h2 := range []bool{false, true} {
		e := engine(t, Options{TLS: &tls.Config{RootCAs: roots}, HTTP2: h2})
		row := do(t, e, prepared(t, srv.URL))
		if row.Outcome != run.OK || row.EarlyResponse.Or(0) != 0 {
			t.Fatalf("HTTP/2 %t: %s %q, early %v", h2, row.Outcome, row.Error, row.EarlyResponse)
		}
		if row.BytesReceived.Valid == h2 || row.Reads.Valid == h2 {
			t.Errorf("HTTP/2 %t: received %v, reads %v; want them on a connection of one's own only", h2, row.BytesReceived, row.Reads)
		}
		if !row.WriteDoneNS.Valid || row.TokenEvents != formats.Some(2) {
			t.Errorf("HTTP/2 %t: write_done %v, token events %v", h2, row.WriteDoneNS, row.TokenEvents)
		}
		if !h2 && (!row.TLSNS.Valid || !row.ConnectNS.Valid) {
			t.Errorf("connect %v, tls %v; want both of a new connection", row.ConnectNS, row.TLSNS)
		}
		for range 20 {
			row := do(t, e, prepared(t, srv.URL))
			if row.Outcome != run.OK || row.ConnReused != formats.Some(1) || row.TLSNS.Valid || row.EarlyResponse.Or(0) != 0 {
				t.Errorf("HTTP/2 %t, kept: %s %q, reused %v, tls %v, early %v", h2, row.Outcome, row.Error, row.ConnReused, row.TLSNS, row.EarlyResponse)
			}
		}
	}
	// an unknown authority is the server's fault, not local
	row := do(t, engine(t, Options{}), prepared(t, srv.URL))
	if row.Outcome != run.ConnectError || !strings.Contains(row.Error, "certificate") {
		t.Errorf("unknown authority: %s %q", row.Outcome, row.Error)
	}
}

// HTTP/2 is not spoken unless asked for, and no proxy of the environment is used.
func TestNothingUnasked(t *testing.T) {
	tr := NewHTTP(Options{}).(*httpEngine).pool.transport
	if tr.Protocols.HTTP2() || tr.Proxy != nil || !tr.DisableCompression {
		t.Errorf("transport %+v", tr)
	}
	if tr = NewHTTP(Options{HTTP2: true, Proxy: true}).(*httpEngine).pool.transport; !tr.Protocols.HTTP2() || tr.Proxy == nil {
		t.Errorf("asked for HTTP/2 and a proxy: %+v", tr)
	}
}

// Rows are complete and unique whatever mixture of faults the server answers with.
func TestMixture(t *testing.T) { both(t, testMixture) }

func testMixture(t *testing.T, engine opener) {
	const n = 160
	answers := []script{
		say(whole(good...)), say(plain("503 Busy", "busy")), sayAndClose(streamHead + chunk(contentEvent("a"))), sayAndReset(""),
		say(whole(doneEvent)), sayAndClose("junk\r\n\r\n"), sayAndHold(streamHead + chunk(contentEvent("a"))), sayAndHold(""),
	}
	var i atomic.Int64
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		return answers[int(i.Add(1))%len(answers)](c, r, b)
	})
	got := many(t, engine(t, Options{FirstByteTimeout: 300 * time.Millisecond, IdleTimeout: 300 * time.Millisecond}), s.url(), n, 25)
	sum := 0
	for _, v := range got {
		sum += v
	}
	if sum != n || len(got) < 7 {
		t.Errorf("outcomes %v sum to %d; want %d of seven or more kinds", got, sum, n)
	}
	if s.requests.Load() > n {
		t.Errorf("the server saw %d requests of %d rows", s.requests.Load(), n)
	}
}

// BenchmarkAnswer reads answers of 500 events, each written to the socket by itself.
func BenchmarkAnswer(b *testing.B) {
	pieces := [][]byte{[]byte(streamHead + chunk(roleEvent))}
	for range 500 {
		pieces = append(pieces, []byte(chunk(contentEvent(" word"))))
	}
	pieces = append(pieces, []byte(chunk(finishEvent)), []byte(chunk(usageEvent(100, 500))), []byte(chunk(doneEvent)+lastChunk))
	s := serve(b, func(c net.Conn, _ *http.Request, _ []byte) bool {
		for _, p := range pieces {
			if _, err := c.Write(p); err != nil {
				return false
			}
		}
		return true
	})
	b.Run("http", func(b *testing.B) { benchmarkAnswer(b, engine, s.url()) })
	b.Run("epoll", func(b *testing.B) { benchmarkAnswer(b, looped, s.url()) })
}

func benchmarkAnswer(b *testing.B, engine opener, url string) {
	e := engine(b, Options{})
	p := prepared(b, url)
	b.ReportAllocs()
	for b.Loop() {
		var row run.Request
		perform(context.Background(), e, p, &row)
		if row.Outcome != run.OK {
			b.Fatal(row.Outcome, row.Error)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/503, "ns/event")
}
