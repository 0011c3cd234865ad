package wire

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/run"
)

// after says what the server does when the client has read an answer.
type after int

const (
	keeps after = iota // waits for the next request
	closes
	resets
)

// A said is one answer: the bytes that the server sends and what comes after them.
type said struct {
	name  string
	bytes string
	then  after
	line  int // Options.LineCap
	want  *facts
	more  bool // there are bytes behind the answer, which may be read or not
	loose bool // breaks the rules of HTTP, which each parser says in its own words
}

// framed puts the body of a stream case into an answer, in each way a body can be
// delimited. A body that is cut short cannot be told from a whole one when the end of
// the connection delimits it, unless the connection is reset.
func framed(name, body string, end error, want *facts) []said {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	var chunks strings.Builder
	for rest := body; rest != ""; { // chunks and events begin and end apart
		n := min(len(rest), 37)
		chunks.WriteString(chunk(rest[:n]))
		rest = rest[n:]
	}
	if end == nil {
		return []said{
			{name + ", chunked", head + "Transfer-Encoding: chunked\r\n\r\n" + chunks.String() + lastChunk, keeps, 0, want, false, false},
			{name + ", by length", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body), keeps, 0, want, false, false},
			{name + ", until the end", head + "\r\n" + body, closes, 0, want, false, false},
		}
	}
	return []said{
		{name + ", chunked", head + "Transfer-Encoding: chunked\r\n\r\n" + chunks.String(), closes, 0, want, false, false},
		{name + ", by length", fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body)+1, body), closes, 0, want, false, false},
	}
}

// answers are all the scripted answers of the suite.
func answers() []said {
	var all []said
	for i := range streamCases {
		c := &streamCases[i]
		all = append(all, framed(c.name, c.in, c.end, &c.want)...)
	}
	for _, c := range sseCases { // as answers they are malformed or empty
		all = append(all, framed("event stream: "+c.name, c.in, nil, nil)[0])
	}
	for _, c := range responseCases {
		all = append(all, said{name: "header: " + c.name, bytes: c.in, then: closes, more: c.want.Rest > 0, loose: c.want.Bad})
	}
	partial := streamHead + chunk(roleEvent) + chunk(contentEvent("a"))
	return append(all, []said{
		{name: "interim answers and trailers", bytes: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + streamHead +
			chunk(strings.Join(good, "")) + "0\r\nX: y\r\n\r\n", then: keeps},
		{name: "reset inside an answer", bytes: partial, then: resets},
		{name: "reset without an answer", then: resets},
		{name: "closed without an answer", then: closes},
		{name: "reset behind [DONE]", bytes: partial + chunk(doneEvent), then: resets},
		{name: "error with a body", bytes: plain("503 Busy", `{"error":{"message":"queue full"}}`)},
		{name: "error without a body", bytes: plain("500 Internal Server Error", "")},
		{name: "error cut short", bytes: "HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbusy", then: closes},
		{name: "another protocol from here on", bytes: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"},
		{name: "redirect", bytes: "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"},
		{name: "gzip", bytes: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", then: closes},
		{name: "line above the cap", bytes: whole(contentEvent("a"), "data: "+strings.Repeat("x", 500)+"\n\n"), then: closes, line: 400},
		{name: "event above the cap", bytes: whole(contentEvent("a"), strings.Repeat("data: x\n", 100)), then: closes, line: 400},
		{name: "document above the cap", bytes: plain("200 OK", plainAnswer), then: closes, line: 100},
		{name: "usage with content and after", bytes: whole(withUsage("a", 5, 1), contentEvent("b"), usageEvent(5, 2), doneEvent)},
	}...)
}

// A stage serves the answers of the suite; the header x-own of a request is the number of
// its answer.
type stage struct {
	all []said
	url string

	mu       sync.Mutex
	counters *Counters // of the engine that plays
}

func newStage(t *testing.T, all []said) *stage {
	log.SetOutput(io.Discard) // net/http tells it of bytes behind an answer
	st := &stage{all: all}
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		i, _ := strconv.Atoi(r.Header.Get("X-Own"))
		a := &st.all[i]
		if !say(a.bytes)(c, r, b) || a.then == closes {
			return false
		}
		if a.then == resets {
			// not before all is read: a reset overtakes what is not
			counters := st.playing(nil)
			for counters.Received.Load() < int64(len(a.bytes)) {
				runtime.Gosched()
			}
			return reset(c)
		}
		return true
	})
	st.url = s.url()
	return st
}

// playing returns whose answer is played; c, unless nil, plays from now on.
func (st *stage) playing(c *Counters) *Counters {
	st.mu.Lock()
	defer st.mu.Unlock()
	if c != nil {
		st.counters = c
	}
	return st.counters
}

// actor plays answers through one engine. Reads are cut where the present run says.
type actor struct {
	t    *testing.T
	st   *stage
	open opener
	e    Engine
	line int

	each atomic.Int64 // reads take that much, 0: all there is
	at   atomic.Int64 // but not across this offset
}

func (a *actor) cut(received int64) int {
	if each := a.each.Load(); each > 0 {
		return int(each)
	}
	if at := a.at.Load(); received < at {
		return int(at - received)
	}
	return math.MaxInt
}

// play performs the request for answer i, with reads of size each (0: any) or cut at an
// offset, and returns its row without what may differ between two runs.
func (a *actor) play(i, each int, at int64) run.Request {
	c := &a.st.all[i]
	if a.e == nil || c.line != a.line {
		counters := new(Counters)
		a.e, a.line = a.open(a.t, Options{LineCap: c.line, Counters: counters, cut: a.cut}), c.line
		a.st.playing(counters)
	}
	a.each.Store(int64(each))
	a.at.Store(at)
	p := prepared(a.t, a.st.url)
	p.KeepReply = true
	p.Header = http.Header{"X-Own": {strconv.Itoa(i)}}
	row := run.Request{RequestID: 7}
	perform(context.Background(), a.e, p, &row)
	checkRow(a.t, &row)
	if c.want != nil {
		got := factsOf(&row, string(p.Reply))
		if c.want.Error != "" && strings.Contains(got.Error, c.want.Error) {
			got.Error = c.want.Error
		}
		if d := cmp.Diff(*c.want, got); d != "" {
			a.t.Fatalf("%s, reads of %d, cut at %d: row (-want +got):\n%s", c.name, each, at, d)
		}
	}
	if c.more {
		row.BytesReceived = formats.Int{}
	}
	if c.loose && row.Error != "" {
		row.Error = "broken"
	}
	if c.then != keeps {
		a.e.Close()
		a.e = nil
	}
	return still(row)
}

// still is a row without times, addresses, and what depends on how the kernel put segments
// together: of those only whether they are known.
func still(r run.Request) run.Request {
	known := func(v ...*formats.Int) {
		for _, v := range v {
			if v.Valid {
				v.V = 1
			}
		}
	}
	known(&r.DispatchedNS, &r.ConnAskedNS, &r.ConnReadyNS, &r.DNSNS, &r.ConnectNS, &r.TLSNS, &r.WriteDoneNS, &r.HeadersNS, &r.FirstByteKernelNS, &r.FirstByteNS,
		&r.FirstEventNS, &r.FirstTokenKernelNS, &r.FirstTokenNS, &r.FirstAnswerKernelNS, &r.FirstAnswerNS, &r.LastTokenKernelNS, &r.LastTokenNS, &r.EndNS,
		&r.Reads, &r.MultiEventReads, &r.SegmentsIn, &r.Retransmits, &r.RTTUS, &r.ConnID)
	r.RemoteAddr = ""
	if r.Outcome == run.Malformed {
		r.BytesReceived = formats.Int{} // how far the reader was when it gave up
	}
	for i := range r.ChunkGapUS {
		r.ChunkGapUS[i] = 0
	}
	for i := range r.ChunkDelayUS {
		known(&r.ChunkDelayUS[i])
	}
	return r
}

// Each scripted answer gives one row, whichever engine reads it and however its bytes are
// cut: whole, byte by byte, and in two at every offset.
func TestConformance(t *testing.T) {
	all := answers()
	for i := range all {
		c := &all[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, all)
			var want *run.Request
			var of string
			both(t, func(t *testing.T, engine opener) {
				a := &actor{t: t, st: st, open: engine}
				check := func(each int, at int64) {
					t.Helper()
					got := a.play(i, each, at)
					got.ConnReused, got.ConnectNS = formats.Int{}, formats.Int{}
					if want == nil {
						want, of = &got, t.Name()
						return
					}
					if d := cmp.Diff(*want, got); d != "" {
						t.Fatalf("reads of %d, cut at %d: row (-%s +this):\n%s", each, at, of, d)
					}
				}
				check(0, 0)
				check(1, 0)
				for at := 1; at < len(c.bytes); at += stride(c, at) {
					check(0, int64(at))
				}
			})
		})
	}
}

// stride is how far the next cut lies. Every offset of a chunked stream is tried; the
// other framings have the same events between fewer borders.
func stride(c *said, at int) int {
	switch {
	case strings.HasPrefix(c.name, "event stream"):
		return 7
	case c.want == nil && len(c.bytes) > 200: // each needs a new connection
		return 5
	}
	if c.want == nil || strings.Contains(c.name, "chunked") && at > strings.Index(c.bytes, "\r\n\r\n") {
		return 1
	}
	return 11
}

// Long answers, cut where it matters.
func TestConformanceOfLongAnswers(t *testing.T) {
	const limit = 1 << 20
	line := func(n int) string {
		return "data:" + strings.Repeat(" ", n-len("data:")-len(`{"choices":[]}`)) + `{"choices":[]}`
	}
	var all []said
	for _, n := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, limit, limit + 1} {
		c := said{name: fmt.Sprintf("line of %d bytes", n), bytes: streamHead + chunk(contentEvent("a")+line(n)+"\n\n") + chunk(doneEvent) + lastChunk, line: limit}
		c.want = &facts{Outcome: run.OK, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}
		if n > limit {
			c.want = &facts{Outcome: run.Malformed, Tokens: 1, Events: 1, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "longer than 1048576 bytes"}
			c.then = closes
		}
		all = append(all, c)
	}
	all = append(all,
		said{name: "10 MiB without a line end", bytes: streamHead + chunk(contentEvent("a")) + chunk(strings.Repeat("x", 10<<20)), line: limit, then: closes},
		said{name: "100,000 lines of one event", bytes: streamHead + chunk(contentEvent("a")) + chunk(strings.Repeat("data: abcdefgh\n", 100_000)), line: limit, then: closes},
		said{name: "100 events at once", bytes: whole(strings.Repeat(contentEvent("x"), 100), doneEvent)},
		said{name: "a header of 64 KiB", bytes: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 64<<10) + "\r\nContent-Length: 0\r\n\r\n"},
		said{name: "a header of 2 MiB", bytes: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 2<<20) + "\r\nContent-Length: 0\r\n\r\n", then: closes},
	)
	for i := range all {
		c := &all[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, all)
			var want *run.Request
			both(t, func(t *testing.T, engine opener) {
				a := &actor{t: t, st: st, open: engine}
				for _, k := range []struct {
					each int
					at   int64
				}{{0, 0}, {1000, 0}, {4096, 0}, {0, 5}, {0, int64(len(streamHead)) + 3}, {0, int64(len(c.bytes)) / 2}, {0, int64(len(c.bytes)) - 30}} {
					got := a.play(i, k.each, k.at)
					got.ConnReused, got.ConnectNS = formats.Int{}, formats.Int{}
					if want == nil {
						want = &got
					} else if d := cmp.Diff(*want, got); d != "" {
						t.Errorf("reads of %d, cut at %d: row (-first +this):\n%s", k.each, k.at, d)
					}
				}
			})
		})
	}
}
