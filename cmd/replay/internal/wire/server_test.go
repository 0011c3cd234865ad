package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/cmd/replay/internal/kernel"
	"hydrant/formats"
	"hydrant/formats/run"
)

// A script answers one request whose header and body have been read; the connection is
// closed when it returns false.
type script func(c net.Conn, r *http.Request, body []byte) bool

// A server speaks raw bytes on loopback.
type server struct {
	addr     string
	accepted atomic.Int64
	requests atomic.Int64
	open     atomic.Int64
}

func (s *server) url() string { return "http://" + s.addr + "/v1/chat/completions" }

// serve starts a server that reads each request and runs the script.
func serve(t testing.TB, f script) *server {
	t.Helper()
	s := &server{}
	s.listen(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			s.requests.Add(1)
			if !f(c, r, body) {
				return
			}
		}
	})
	return s
}

// listen accepts connections and hands each to f; all are closed, and f's ends waited
// for, when the test ends.
func (s *server) listen(t testing.TB, f func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.open.Add(1)
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			wg.Go(func() {
				f(c)
				c.Close()
				s.open.Add(-1)
				mu.Lock()
				delete(conns, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// chunk is one chunk of a chunked body.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

const lastChunk = "0\r\n\r\n"

// Events of a chat stream.
const (
	roleEvent   = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	finishEvent = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	doneEvent   = "data: [DONE]\n\n"
)

func contentEvent(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

func usageEvent(in, out int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", in, out, in+out)
}

// whole is a body in which each event is a chunk of its own, sent at once.
func whole(events ...string) string {
	var b strings.Builder
	b.WriteString(streamHead)
	for _, e := range events {
		b.WriteString(chunk(e))
	}
	return b.String() + lastChunk
}

func say(text string) script {
	return func(c net.Conn, _ *http.Request, _ []byte) bool {
		_, err := io.WriteString(c, text)
		return err == nil
	}
}

// sayAndClose answers and closes the connection.
func sayAndClose(text string) script {
	return func(c net.Conn, r *http.Request, b []byte) bool {
		say(text)(c, r, b)
		return false
	}
}

func chat(t testing.TB) *endpoint.Endpoint {
	t.Helper()
	e, err := endpoint.Lookup("chat")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// warm has the kernel stamp from now on. It returns whether it does.
var warm = sync.OnceValue(func() bool {
	_, works, err := kernel.Warm()
	return works && err == nil
})

func prepared(t testing.TB, url string) *Prepared {
	return &Prepared{Kind: &Kind{URL: url, Endpoint: chat(t), Stream: true, Chunks: true}, ID: 7, Body: []byte(`{"model":"m"}`)}
}

// perform performs one request on either engine.
func perform(ctx context.Context, e Engine, p *Prepared, row *run.Request) {
	Do(ctx, e, clockOf(e), p, row)
}

// do performs one request and checks what holds for every row.
func do(t testing.TB, e Engine, p *Prepared) *run.Request {
	t.Helper()
	row := &run.Request{RequestID: p.ID}
	perform(context.Background(), e, p, row)
	checkRow(t, row)
	return row
}

// checkRow checks the promised order of the stamps and the columns that belong together.
func checkRow(t testing.TB, r *run.Request) {
	t.Helper()
	if r.Outcome == "" || !r.EndNS.Valid {
		t.Errorf("row without an end: outcome %q, end %v", r.Outcome, r.EndNS)
	}
	last := int64(-1)
	name := ""
	for _, s := range []struct {
		name string
		at   interface{ Or(int64) int64 }
	}{
		{"dispatched", r.DispatchedNS}, {"conn_asked", r.ConnAskedNS}, {"dns", r.DNSNS}, {"connect", r.ConnectNS}, {"tls", r.TLSNS},
		{"conn_ready", r.ConnReadyNS}, {"write_done", r.WriteDoneNS}, {"first_byte", r.FirstByteNS}, {"first_event", r.FirstEventNS},
		{"first_token", r.FirstTokenNS}, {"last_token", r.LastTokenNS}, {"end", r.EndNS},
	} {
		at := s.at.Or(-1)
		if at < 0 || s.name == "write_done" && r.EarlyResponse.Or(0) == 1 {
			continue
		}
		if at < last {
			t.Errorf("%s at %d is before %s at %d", s.name, at, name, last)
		}
		last, name = at, s.name
	}
	for _, k := range [...]struct {
		name         string
		kernel, user formats.Int
	}{{"first_byte", r.FirstByteKernelNS, r.FirstByteNS}, {"first_token", r.FirstTokenKernelNS, r.FirstTokenNS},
		{"first_answer", r.FirstAnswerKernelNS, r.FirstAnswerNS}, {"last_token", r.LastTokenKernelNS, r.LastTokenNS}} {
		if k.kernel.Valid && (!k.user.Valid || k.kernel.V > k.user.V) {
			t.Errorf("%s: kernel %v, user %v; want the kernel first", k.name, k.kernel, k.user)
		}
		if k.kernel.Valid && r.EarlyResponse.Or(0) == 0 && k.kernel.V < r.WriteDoneNS.Or(k.kernel.V) {
			t.Errorf("%s: kernel %v before write_done %v", k.name, k.kernel, r.WriteDoneNS)
		}
	}
	if d := r.ChunkDelayUS; d != nil && int64(len(d)) != r.TokenEvents.Or(0) {
		t.Errorf("%d delays for %v token events", len(d), r.TokenEvents)
	}
	for i, d := range r.ChunkDelayUS {
		if d.Valid && d.V < 0 {
			t.Errorf("delay %d is %d µs", i, d.V)
		}
	}
	if len(r.Error) > maxError {
		t.Errorf("error text of %d bytes", len(r.Error))
	}
	if n := r.TokenEvents.Or(0); r.ChunkGapUS != nil && int64(len(r.ChunkGapUS)) != n-1 {
		t.Errorf("%d gaps for %d token events", len(r.ChunkGapUS), n)
	}
	var sum int64
	for _, g := range r.ChunkGapUS {
		sum += g
	}
	if r.ChunkGapUS != nil {
		if d := 1000*sum - (r.LastTokenNS.V - r.FirstTokenNS.V); d < -1000 || d > 1000 {
			t.Errorf("gaps sum to %d µs, the tokens span %d ns", sum, r.LastTokenNS.V-r.FirstTokenNS.V)
		}
	}
}
