package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

var good = []string{roleEvent, contentEvent("a"), contentEvent("b"), finishEvent, usageEvent(5, 2), doneEvent}

func TestRowOfAnAnswer(t *testing.T) { both(t, testRowOfAnAnswer) }

func testRowOfAnAnswer(t *testing.T, engine opener) {
	type sent struct {
		header http.Header
		body   []byte
	}
	seen := make(chan sent, 2)
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		seen <- sent{r.Header, b}
		return say(whole(good...))(c, r, b)
	})
	p := prepared(t, s.url())
	p.Header = http.Header{"Authorization": {"Bearer sk-1"}, "x-own": {"1"}}
	p.KeepReply = true
	e := engine(t, Options{})
	row := do(t, e, p)
	if row.Outcome != run.OK || row.HTTPStatus != formats.Some(200) || row.FinishReason != "stop" || row.Error != "" {
		t.Fatalf("outcome %s %q, status %v, finish %q", row.Outcome, row.Error, row.HTTPStatus, row.FinishReason)
	}
	for name, at := range map[string]formats.Int{
		"dispatched": row.DispatchedNS, "conn_asked": row.ConnAskedNS, "conn_ready": row.ConnReadyNS, "connect": row.ConnectNS,
		"write_done": row.WriteDoneNS, "headers": row.HeadersNS, "first_byte": row.FirstByteNS, "first_event": row.FirstEventNS,
		"first_token": row.FirstTokenNS, "first_answer": row.FirstAnswerNS, "last_token": row.LastTokenNS, "end": row.EndNS,
	} {
		if !at.Valid {
			t.Errorf("%s_ns is null", name)
		}
	}
	if row.DNSNS.Valid || row.TLSNS.Valid {
		t.Errorf("dns %v, tls %v; want null for what was not done", row.DNSNS, row.TLSNS)
	}
	if row.ConnReused != formats.Some(0) || row.ConnID != formats.Some(0) || row.RemoteAddr != s.addr || row.EarlyResponse != formats.Some(0) {
		t.Errorf("reused %v, id %v, address %s, early %v", row.ConnReused, row.ConnID, row.RemoteAddr, row.EarlyResponse)
	}
	if row.BytesReceived.V != int64(len(whole(good...))) || row.BytesSent.V <= int64(len(p.Body)) || row.Reads.V < 1 {
		t.Errorf("received %v, sent %v, reads %v", row.BytesReceived, row.BytesSent, row.Reads)
	}
	if row.InputTokens != formats.Some(5) || row.OutputTokens != formats.Some(2) || row.TokenEvents != formats.Some(2) || row.Events != formats.Some(6) {
		t.Errorf("input %v, output %v, token events %v, events %v", row.InputTokens, row.OutputTokens, row.TokenEvents, row.Events)
	}
	got := <-seen
	if string(p.Reply) != "ab" || string(got.body) != string(p.Body) {
		t.Errorf("reply %q, body received %q", p.Reply, got.body)
	}
	for k, want := range map[string]string{"X-Request-Id": "7", "Accept-Encoding": "identity", "Content-Type": "application/json",
		"Authorization": "Bearer sk-1", "X-Own": "1", "Accept": "text/event-stream, application/json"} {
		if got := got.header.Get(k); got != want {
			t.Errorf("header %s: %q; want %q", k, got, want)
		}
	}

	again := do(t, e, p)
	if again.ConnReused != formats.Some(1) || again.ConnectNS.Valid || again.ConnID != formats.Some(0) {
		t.Errorf("second request: reused %v, connect %v, id %v; want the same connection", again.ConnReused, again.ConnectNS, again.ConnID)
	}
	if again.BytesReceived != row.BytesReceived || again.BytesSent != row.BytesSent {
		t.Errorf("second request: received %v, sent %v; want %v, %v as the first", again.BytesReceived, again.BytesSent, row.BytesReceived, row.BytesSent)
	}
	if n := s.accepted.Load(); n != 1 {
		t.Errorf("%d connections for two requests; want 1", n)
	}
}

func TestChunksOff(t *testing.T) { both(t, testChunksOff) }

func testChunksOff(t *testing.T, engine opener) {
	s := serve(t, say(whole(good...)))
	p := prepared(t, s.url())
	p.Chunks = false
	if row := do(t, engine(t, Options{}), p); row.ChunkGapUS != nil || row.TokenEvents.V != 2 {
		t.Errorf("gaps %v, token events %v; want no lists", row.ChunkGapUS, row.TokenEvents)
	}
}

// hold waits until the client has closed the connection.
func hold(c net.Conn) bool {
	_, _ = io.Copy(io.Discard, c)
	return false
}

func sayAndHold(text string) script {
	return func(c net.Conn, r *http.Request, b []byte) bool {
		say(text)(c, r, b)
		return hold(c)
	}
}

func reset(c net.Conn) bool {
	_ = c.(*net.TCPConn).SetLinger(0)
	return false
}

func sayAndReset(text string) script {
	return func(c net.Conn, r *http.Request, b []byte) bool {
		say(text)(c, r, b)
		return reset(c)
	}
}

func plain(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func TestOutcomes(t *testing.T) { both(t, testOutcomes) }

func testOutcomes(t *testing.T, engine opener) {
	ended := whole(good...)
	partial := streamHead + chunk(roleEvent) + chunk(contentEvent("a"))
	for _, c := range []struct {
		name    string
		answer  script
		o       Options
		p       func(*Prepared)
		outcome string
		status  int64 // 0: null
		tokens  int64 // −1: null
		errText string
	}{
		{"ok, then closed", sayAndClose(ended), Options{}, nil, run.OK, 200, 2, ""},
		{"ok without a length", sayAndClose("HTTP/1.1 200 OK\r\n\r\n" + strings.Join(good, "")), Options{}, nil, run.OK, 200, 2, ""},
		{"ok with HTTP/1.0", sayAndClose("HTTP/1.0 200 OK\r\n\r\n" + strings.Join(good, "")), Options{}, nil, run.OK, 200, 2, ""},
		{"ok, connection held behind [DONE]", sayAndHold(strings.TrimSuffix(ended, lastChunk)), Options{}, nil, run.OK, 200, 2, ""},

		{"503 with an error object", say(plain("503 Busy", `{"error":{"message":"queue full"}}`)), Options{}, nil, run.HTTPError, 503, -1, "queue full"},
		{"404 with text", say(plain("404 Not Found", "no such model")), Options{}, nil, run.HTTPError, 404, -1, "no such model"},
		{"500 without a body", say(plain("500 Internal Server Error", "")), Options{}, nil, run.HTTPError, 500, -1, "500 Internal Server Error"},
		{"a redirect is not followed", say("HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), Options{}, nil, run.HTTPError, 307, -1, "307"},
		{"503 cut short", sayAndClose("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbusy"), Options{}, nil, run.HTTPError, 503, -1, "busy"},
		{"503 that hangs", sayAndHold("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbusy"), Options{IdleTimeout: 50 * time.Millisecond}, nil, run.HTTPError, 503, -1, "busy"},
		{"a long error", say(plain("500 Oops", strings.Repeat("é", 9000))), Options{}, nil, run.HTTPError, 500, -1, "éé"},

		{"stream error", say(whole(contentEvent("a"), `data: {"error":{"message":"boom"}}`+"\n\n")), Options{}, nil, run.StreamError, 200, 1, "boom"},
		{"JSON error with status 200", say(plain("200 OK", `{"error":{"message":"boom"}}`)), Options{}, nil, run.StreamError, 200, 0, "boom"},

		{"malformed event", say(whole(contentEvent("a"), "data: {\n\n", doneEvent)), Options{}, nil, run.Malformed, 200, 1, "want a JSON object"},
		{"malformed header", sayAndClose("SMTP ready\r\n\r\n"), Options{}, nil, run.Malformed, 0, -1, "malformed"},
		{"malformed chunk", sayAndClose(streamHead + chunk(contentEvent("a")) + "zz\r\n"), Options{}, nil, run.Malformed, 200, 1, ""},
		{"compressed", say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), Options{}, nil, run.Malformed, 200, -1, "gzip"},
		{"line above the cap", say(whole(contentEvent("a"), "data: "+strings.Repeat("x", 5000)+"\n\n")), Options{LineCap: 4096}, nil, run.Malformed, 200, 1, "longer than 4096 bytes"},

		{"no last chunk", sayAndClose(partial), Options{}, nil, run.Truncated, 200, 1, "EOF"},
		{"cut inside an event", sayAndClose(streamHead + chunk(contentEvent("a")) + "40\r\ndata: "), Options{}, nil, run.Truncated, 200, 1, "EOF"},
		{"reset", sayAndReset(partial), Options{}, nil, run.Truncated, 200, -2, ""},
		{"short of its length", sayAndClose("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + contentEvent("a")), Options{}, nil, run.Truncated, 200, 1, "EOF"},
		{"header cut short", sayAndClose("HTTP/1.1 200 OK\r\nContent-"), Options{}, nil, run.Truncated, 0, -1, "response header"},
		{"stream that ends early", say(whole(contentEvent("a"))), Options{}, nil, run.Truncated, 200, 1, "finish reason"},

		{"empty", say(plain("200 OK", "")), Options{}, nil, run.Empty, 200, 0, ""},
		{"no content", say("HTTP/1.1 204 No Content\r\n\r\n"), Options{}, nil, run.Empty, 204, 0, ""},
		{"only [DONE]", say(whole(doneEvent)), Options{}, nil, run.Empty, 200, 0, ""},

		{"never answers", sayAndHold(""), Options{FirstByteTimeout: 50 * time.Millisecond}, nil, run.TimeoutFirstByte, 0, -1, "no byte of the answer after 50ms"},
		{"header and nothing more", sayAndHold(streamHead), Options{FirstByteTimeout: 50 * time.Millisecond, IdleTimeout: time.Hour}, nil, run.TimeoutFirstByte, 200, 0, "no byte"},
		{"goes silent", sayAndHold(partial), Options{IdleTimeout: 50 * time.Millisecond}, nil, run.TimeoutIdle, 200, 1, "nothing more of the answer after 50ms"},
		{"takes too long", sayAndHold(partial), Options{TotalTimeout: 300 * time.Millisecond}, nil, run.TimeoutTotal, 200, 1, "not ended after 300ms"},
		{"takes too long without a byte", sayAndHold(""), Options{TotalTimeout: 50 * time.Millisecond}, nil, run.TimeoutTotal, 0, -1, "not ended after 50ms"},

		{"closed without an answer", sayAndClose(""), Options{}, nil, run.ConnectError, 0, -1, "connection lost before an answer"},
		{"reset without an answer", sayAndReset(""), Options{}, nil, run.ConnectError, 0, -1, "connection lost before an answer"},

		{"cut at a time", sayAndHold(partial), Options{}, func(p *Prepared) { p.CancelAfter = 300 * time.Millisecond }, run.CancelledPlanned, 200, 1, "as planned"},
		{"ended before its planned cut", say(ended), Options{}, func(p *Prepared) { p.CancelAfter = time.Hour }, run.OK, 200, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			p := prepared(t, s.url())
			if c.p != nil {
				c.p(p)
			}
			row := do(t, engine(t, c.o), p)
			if row.Outcome != c.outcome || row.HTTPStatus.Or(0) != c.status {
				t.Errorf("outcome %s, status %v; want %s, %d (%s)", row.Outcome, row.HTTPStatus, c.outcome, c.status, row.Error)
			}
			if !strings.Contains(row.Error, c.errText) || (c.errText == "") != (row.Error == "") && c.outcome == run.OK {
				t.Errorf("error %q; want %q", row.Error, c.errText)
			}
			if got := row.TokenEvents.Or(-1); c.tokens != -2 && got != c.tokens { // a reset may overtake the data
				t.Errorf("token_events %d; want %d", got, c.tokens)
			}
			if n := s.requests.Load(); n != 1 {
				t.Errorf("the server saw %d requests of one row", n)
			}
			if !row.WriteDoneNS.Valid || !row.BytesSent.Valid {
				t.Errorf("write_done %v, bytes_sent %v of a request that was sent", row.WriteDoneNS, row.BytesSent)
			}
		})
	}
}

func TestConnectErrors(t *testing.T) { both(t, testConnectErrors) }

func testConnectErrors(t *testing.T, engine opener) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := l.Addr().String()
	l.Close()
	for _, c := range []struct {
		name, url, errText string
		o                  Options
	}{
		{"refused", "http://" + refusing, "connection refused", Options{}},
		{"no such name", "http://no..name", run.LocalPrefix, Options{}},
		{"not a URL", "http://u:secret@h:port", run.LocalPrefix, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := do(t, engine(t, c.o), prepared(t, c.url))
			if row.Outcome != run.ConnectError || !strings.Contains(row.Error, c.errText) {
				t.Errorf("outcome %s %q; want connect_error with %q", row.Outcome, row.Error, c.errText)
			}
			if strings.HasPrefix(row.Error, run.LocalPrefix) != (c.errText == run.LocalPrefix) {
				t.Errorf("error %q; local or not?", row.Error)
			}
			if strings.Contains(row.Error, "secret") {
				t.Errorf("error %q repeats the password", row.Error)
			}
			if row.ConnReadyNS.Valid || row.HTTPStatus.Valid || row.TokenEvents.Valid || row.BytesReceived.Valid {
				t.Errorf("conn_ready %v, status %v, token events %v, received %v; want null", row.ConnReadyNS, row.HTTPStatus, row.TokenEvents, row.BytesReceived)
			}
		})
	}
}

func TestCancelled(t *testing.T) { both(t, testCancelled) }

func testCancelled(t *testing.T, engine opener) {
	for name, answer := range map[string]string{"before an answer": "", "in the stream": streamHead + chunk(contentEvent("a"))} {
		t.Run(name, func(t *testing.T) {
			stop := errors.New("the run stopped")
			ctx, cancel := context.WithCancelCause(context.Background())
			s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
				say(answer)(c, r, b)
				cancel(stop)
				return hold(c)
			})
			row := &run.Request{}
			perform(ctx, engine(t, Options{}), prepared(t, s.url()), row)
			checkRow(t, row)
			if row.Outcome != run.Cancelled || row.Error != stop.Error() {
				t.Errorf("outcome %s %q; want cancelled with its cause", row.Outcome, row.Error)
			}
		})
	}
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s := serve(t, say(whole(good...)))
		row := &run.Request{}
		perform(ctx, engine(t, Options{}), prepared(t, s.url()), row)
		checkRow(t, row)
		if row.Outcome != run.Cancelled || s.requests.Load() != 0 {
			t.Errorf("outcome %s, %d requests; want cancelled and none", row.Outcome, s.requests.Load())
		}
	})
}

// A server may repeat what it was sent; the row must not.
func TestSecretsStayOut(t *testing.T) { both(t, testSecretsStayOut) }

func testSecretsStayOut(t *testing.T, engine opener) {
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		return say(plain("401 Unauthorized", "bad key "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+" "+r.Header.Get("X-Team")))(c, r, b)
	})
	p := prepared(t, s.url())
	p.Header = http.Header{"Authorization": {"Bearer sk-12345"}, "x-api-key": {"k-9876"}, "X-Team": {"t-555"}}
	row := do(t, engine(t, Options{Secrets: []string{"t-555"}}), p)
	for _, secret := range []string{"sk-12345", "k-9876", "t-555"} {
		if strings.Contains(row.Error, secret) {
			t.Errorf("error %q contains %s", row.Error, secret)
		}
	}
	if row.Outcome != run.HTTPError || !strings.Contains(row.Error, "bad key") {
		t.Errorf("outcome %s %q; want the rest of the text", row.Outcome, row.Error)
	}
}

// One attempt per row, also when a kept connection dies under the request and a header
// invites the transport to send it again.
func TestNoSecondAttempt(t *testing.T) { both(t, testNoSecondAttempt) }

func testNoSecondAttempt(t *testing.T, engine opener) {
	var first sync.Once
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		answer := false
		first.Do(func() { answer = true })
		return answer && say(whole(good...))(c, r, b)
	})
	e := engine(t, Options{})
	p := prepared(t, s.url())
	p.Header = http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}
	if row := do(t, e, p); row.Outcome != run.OK {
		t.Fatalf("first request: %s %q", row.Outcome, row.Error)
	}
	row := do(t, e, p)
	if row.Outcome != run.ConnectError || row.ConnReused != formats.Some(1) {
		t.Errorf("outcome %s %q, reused %v; want connect_error on the kept connection", row.Outcome, row.Error, row.ConnReused)
	}
	if n := s.requests.Load(); n != 2 {
		t.Errorf("the server saw %d requests of 2 rows", n)
	}
}

// A large body is written whole before the answer, and an answer that comes first is seen
// as early.
func TestLargeBody(t *testing.T) { both(t, testLargeBody) }

func testLargeBody(t *testing.T, engine opener) {
	const size = 16 << 20
	s := serve(t, say(whole(good...)))
	p := prepared(t, s.url())
	p.Body = []byte(strings.Repeat("x", size))
	row := do(t, engine(t, Options{}), p)
	if row.Outcome != run.OK || row.EarlyResponse != formats.Some(0) || row.BytesSent.V < size {
		t.Errorf("outcome %s, early %v, sent %v", row.Outcome, row.EarlyResponse, row.BytesSent)
	}

	early := &server{}
	early.listen(t, func(c net.Conn) {
		// read no more than the header: the body fills the socket and the write waits
		head := make([]byte, 0, 4096)
		for !slices.Equal(head[max(0, len(head)-4):], []byte("\r\n\r\n")) {
			var b [1]byte
			if _, err := io.ReadFull(c, b[:]); err != nil {
				return
			}
			head = append(head, b[0])
		}
		say(plain("413 Too Large", "too large"))(c, nil, nil)
		hold(c)
	})
	p.URL = early.url()
	row = do(t, engine(t, Options{}), p)
	if row.Outcome != run.HTTPError || row.HTTPStatus != formats.Some(413) || row.EarlyResponse != formats.Some(1) {
		t.Errorf("outcome %s, status %v, early %v (%s); want an early 413", row.Outcome, row.HTTPStatus, row.EarlyResponse, row.Error)
	}
}

func TestLongLineThroughHTTP(t *testing.T) { both(t, testLongLineThroughHTTP) }

func testLongLineThroughHTTP(t *testing.T, engine opener) {
	text := strings.Repeat("x", 1<<20)
	s := serve(t, say(whole(contentEvent(text), doneEvent)))
	p := prepared(t, s.url())
	p.KeepReply = true
	if row := do(t, engine(t, Options{}), p); row.Outcome != run.OK || string(p.Reply) != text {
		t.Errorf("outcome %s %q, reply of %d bytes", row.Outcome, row.Error, len(p.Reply))
	}
}
