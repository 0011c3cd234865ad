package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/formats"
	"hydrant/formats/run"
)

// answered feeds pieces to a stream as reads of their own, ends it with err, and
// returns the row and the reply.
func answered(t testing.TB, stream bool, limit int, err error, pieces ...string) (*run.Request, string) {
	t.Helper()
	p := &Prepared{Kind: &Kind{Endpoint: chat(t), Stream: stream, Chunks: true}, KeepReply: true}
	e := NewHTTP(Options{Clock: clock.New(clock.Epoch()), LineCap: limit}).(*httpEngine)
	a := &attempt{e: e, p: p, row: &run.Request{}}
	s := a.listen()
	for _, piece := range pieces {
		a.firstByte()
		if fault := s.take([]byte(piece), arrival{}); fault != nil {
			err = fault
			break
		}
	}
	a.arm(0, nil)
	a.row.HTTPStatus = formats.Some(200)
	outcome, text := s.outcome(nil, err)
	s.fill(a.row)
	a.end(outcome, text)
	checkRow(t, a.row)
	return a.row, string(p.Reply)
}

func reasoningEvent(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"reasoning_content":"` + text + `"}}]}` + "\n\n"
}

const toolEvent = `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}` + "\n\n"

// withUsage is a content event that carries a usage.
func withUsage(text string, in, out int) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":"%s"}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n", text, in, out)
}

const plainAnswer = `{"choices":[{"message":{"content":"all of it"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`

// facts are the columns of a row that must not depend on how the bytes were cut.
type facts struct {
	Outcome   string
	Tokens    int64
	Events    int64
	Out       formats.Int
	Source    string
	Finish    string
	FirstOnly bool // a first event but no token
	Answer    bool // first_answer_ns is there
	Text      string
	Error     string // contained in the error
}

func factsOf(r *run.Request, text string) facts {
	return facts{r.Outcome, r.TokenEvents.V, r.Events.V, r.OutputTokens, r.TokenSource, r.FinishReason,
		r.FirstEventNS.Valid && !r.FirstTokenNS.Valid, r.FirstAnswerNS.Valid, text, r.Error}
}

var streamCases = []struct {
	name string
	in   string
	end  error // nil: a clean end
	want facts
}{
	{"plain", roleEvent + contentEvent("a") + contentEvent("b") + finishEvent + usageEvent(5, 2) + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 6, Out: formats.Some(2), Source: run.Usage, Finish: "stop", Answer: true, Text: "ab"}},
	{"CRLF", strings.ReplaceAll(roleEvent+contentEvent("a")+finishEvent+doneEvent, "\n", "\r\n"), nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 4, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true, Text: "a"}},
	{"CR", strings.ReplaceAll(roleEvent+contentEvent("a")+finishEvent+doneEvent, "\n", "\r"), nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 4, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true, Text: "a"}},
	{"no finish reason but [DONE]", contentEvent("a") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"a finish reason and no [DONE]", contentEvent("a") + finishEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true, Text: "a"}},
	{"[DONE] without its blank line", contentEvent("a") + finishEvent + "data: [DONE]", nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true, Text: "a"}},
	{"[DONE], then a broken connection", contentEvent("a") + doneEvent, io.ErrUnexpectedEOF,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"neither finish reason nor [DONE]", contentEvent("a") + contentEvent("b"), nil,
		facts{Outcome: run.Truncated, Tokens: 2, Events: 2, Out: formats.Some(2), Source: run.Events, Answer: true, Text: "ab", Error: "before its finish reason"}},
	{"content without its blank line", contentEvent("a") + strings.TrimSuffix(contentEvent("b"), "\n"), nil,
		facts{Outcome: run.Truncated, Tokens: 1, Events: 1, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "before its finish reason"}},
	{"broken inside an event", contentEvent("a") + contentEvent("b")[:30], io.ErrUnexpectedEOF,
		facts{Outcome: run.Truncated, Tokens: 1, Events: 1, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "unexpected EOF"}},
	{"broken between events, finished", contentEvent("a") + finishEvent, io.ErrUnexpectedEOF,
		facts{Outcome: run.Truncated, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true, Text: "a", Error: "unexpected EOF"}},
	{"broken before any token", roleEvent, io.ErrUnexpectedEOF,
		facts{Outcome: run.Truncated, Events: 1, Out: formats.Some(0), Source: run.Events, FirstOnly: true, Error: "unexpected EOF"}},
	{"comments", ": a\n\n: b\n\n", nil, facts{Outcome: run.Empty, Out: formats.Some(0), Source: run.Events}},
	{"[DONE] alone", doneEvent, nil, facts{Outcome: run.Empty, Events: 1, Out: formats.Some(0), Source: run.Events, FirstOnly: true}},
	{"nothing", "", nil, facts{Outcome: run.Empty, Out: formats.Some(0), Source: run.Events}},
	{"role, finish, no token", roleEvent + finishEvent + doneEvent, nil,
		facts{Outcome: run.Empty, Events: 3, Out: formats.Some(0), Source: run.Events, Finish: "stop", FirstOnly: true}},
	{"counted tokens without a text", roleEvent + finishEvent + usageEvent(5, 1) + doneEvent, nil,
		facts{Outcome: run.OK, Events: 4, Out: formats.Some(1), Source: run.Usage, Finish: "stop", FirstOnly: true}},
	{"empty data", "data\n\n" + contentEvent("a") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"comments around events", ": ping\n\n" + contentEvent("a") + ": ping\n" + contentEvent("b") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 3, Out: formats.Some(2), Source: run.Events, Answer: true, Text: "ab"}},
	{"not JSON between good events", contentEvent("a") + "data: {not json}\n\n" + contentEvent("b") + finishEvent + doneEvent, nil,
		facts{Outcome: run.Malformed, Tokens: 2, Events: 5, Out: formats.Some(2), Source: run.Events, Finish: "stop", Answer: true, Text: "ab", Error: "{not json}"}},
	{"data behind [DONE]", contentEvent("a") + doneEvent + contentEvent("b"), nil,
		facts{Outcome: run.Malformed, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "behind [DONE]"}},
	{"[DONE] twice", contentEvent("a") + doneEvent + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"comment behind [DONE]", contentEvent("a") + doneEvent + ": bye\n\n", nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"error first", `data: {"error":{"message":"boom"}}` + "\n\n" + doneEvent, nil,
		facts{Outcome: run.StreamError, Events: 2, Out: formats.Some(0), Source: run.Events, FirstOnly: true, Error: "boom"}},
	{"error behind tokens", contentEvent("a") + `data: {"error":{"message":"boom"}}` + "\n\n" + doneEvent, nil,
		facts{Outcome: run.StreamError, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "boom"}},
	{"event of type error", contentEvent("a") + "event: error\ndata: boom\n\n", io.ErrUnexpectedEOF,
		facts{Outcome: run.StreamError, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a", Error: "boom"}},
	{"finish reason error", contentEvent("a") + strings.ReplaceAll(finishEvent, "stop", "abort") + doneEvent, nil,
		facts{Outcome: run.StreamError, Tokens: 1, Events: 3, Out: formats.Some(1), Source: run.Events, Finish: "abort", Answer: true, Text: "a", Error: "finish_reason abort"}},
	{"JSON error instead of a stream", "\r\n" + `{"error":{"message":"boom"}}`, nil,
		facts{Outcome: run.StreamError, Events: 1, Out: formats.Some(0), Source: run.Events, FirstOnly: true, Error: "boom"}},
	{"answer instead of a stream", plainAnswer, nil,
		facts{Outcome: run.Malformed, Tokens: 1, Events: 1, Out: formats.Some(4), Source: run.Usage, Finish: "stop", Answer: true, Text: "all of it", Error: "want an event stream"}},
	{"JSON cut short", plainAnswer[:40], io.ErrUnexpectedEOF,
		facts{Outcome: run.Truncated, Out: formats.Some(0), Source: run.Events, Error: "unexpected EOF"}},
	{"reasoning, then the answer", roleEvent + reasoningEvent("hm") + contentEvent("a") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 4, Out: formats.Some(2), Source: run.Events, Answer: true, Text: "a"}},
	{"only reasoning", reasoningEvent("hm") + finishEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Finish: "stop"}},
	{"tool call", toolEvent + finishEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Finish: "stop", Answer: true}},
	{"usage before the content", usageEvent(5, 2) + contentEvent("a") + contentEvent("b") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 4, Out: formats.Some(2), Source: run.Usage, Answer: true, Text: "ab"}},
	{"early usage that counted nothing yet", usageEvent(5, 0) + contentEvent("a") + contentEvent("b") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 4, Out: formats.Some(2), Source: run.Events, Answer: true, Text: "ab"}},
	{"empty usage last", contentEvent("a") + usageEvent(5, 9) + `data: {"choices":[],"usage":{}}` + "\n\n" + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 4, Out: formats.Some(9), Source: run.Usage, Answer: true, Text: "a"}},
	{"usage per chunk", roleEvent + withUsage("a", 5, 3) + withUsage("b", 5, 4) + finishEvent + usageEvent(5, 4) + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 2, Events: 6, Out: formats.Some(4), Source: run.UsageChunks, Finish: "stop", Answer: true, Text: "ab"}},
	{"multi-byte text", contentEvent("é→😀") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "é→😀"}},
	{"a byte that is not UTF-8", contentEvent("a\xffb") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a\uFFFDb"}},
	{"byte order mark", bom + contentEvent("a") + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
	{"JSON over two data lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n" + doneEvent, nil,
		facts{Outcome: run.OK, Tokens: 1, Events: 2, Out: formats.Some(1), Source: run.Events, Answer: true, Text: "a"}},
}

// Every case gives the same row whole, byte by byte and cut in two at every offset.
func TestStream(t *testing.T) {
	for _, c := range streamCases {
		t.Run(c.name, func(t *testing.T) {
			end := c.end
			if end == nil {
				end = io.EOF
			}
			check := func(how string, pieces ...string) {
				t.Helper()
				got := factsOf(answered(t, true, 0, end, pieces...))
				if c.want.Error != "" && strings.Contains(got.Error, c.want.Error) {
					got.Error = c.want.Error
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Fatalf("%s: row (-want +got):\n%s", how, diff)
				}
			}
			check("whole", c.in)
			check("byte by byte", strings.Split(c.in, "")...)
			var bytes []string
			for i := range len(c.in) {
				bytes = append(bytes, c.in[i:i+1])
				check(fmt.Sprintf("cut at %d", i), c.in[:i], c.in[i:])
			}
			check("single bytes", bytes...)
		})
	}
}

func TestStreamDocument(t *testing.T) {
	r, text := answered(t, false, 0, io.EOF, plainAnswer)
	if got, want := factsOf(r, text), (facts{Outcome: run.OK, Tokens: 1, Events: 1, Out: formats.Some(4), Source: run.Usage, Finish: "stop", Answer: true, Text: "all of it"}); got != want {
		t.Errorf("answer without a stream: %+v; want %+v", got, want)
	}
	if r.FirstChunkTokens != formats.Some(4) {
		t.Errorf("first_chunk_tokens = %v; want all 4", r.FirstChunkTokens)
	}
	for in, want := range map[string]string{
		`{"choices":[`: run.Malformed,
		`{"a":1}`:      run.Malformed,
		`{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`: run.Empty,
		`{"object":"error","message":"boom"}`:                             run.StreamError,
	} {
		if r, _ := answered(t, false, 0, io.EOF, in); r.Outcome != want {
			t.Errorf("%s is %s; want %s", in, r.Outcome, want)
		}
	}
	if r, _ := answered(t, false, 100, io.EOF, plainAnswer); r.Outcome != run.Malformed || !strings.Contains(r.Error, "longer than 100 bytes") {
		t.Errorf("document above the cap: %s %q; want malformed", r.Outcome, r.Error)
	}
}

// Events of one read have one stamp and count as one read of several events.
func TestStreamReads(t *testing.T) {
	row, _ := answered(t, true, 0, io.EOF, roleEvent, contentEvent("a")+contentEvent("b"), contentEvent("c")[:20], contentEvent("c")[20:],
		contentEvent("d")+contentEvent("e")+contentEvent("f"), finishEvent+doneEvent)
	if row.Events.V != 9 || row.MultiEventReads.V != 3 || row.TokenEvents.V != 6 {
		t.Errorf("events %v, multi_event_reads %v, token_events %v; want 9, 3, 6", row.Events, row.MultiEventReads, row.TokenEvents)
	}
	if g := row.ChunkGapUS; len(g) != 5 || g[0] != 0 || g[3] != 0 || g[4] != 0 {
		t.Errorf("gaps %v; want 0 inside a read", g)
	}
	if row.FirstTokenNS.V <= row.FirstEventNS.V {
		t.Errorf("first_token %v, first_event %v; want the role-only event before", row.FirstTokenNS, row.FirstEventNS)
	}
}

func TestStreamChannels(t *testing.T) {
	row, _ := answered(t, true, 0, io.EOF, reasoningEvent("hm"), contentEvent("a"), doneEvent)
	if row.FirstAnswerNS.V <= row.FirstTokenNS.V {
		t.Errorf("first_answer %v, first_token %v; want the reasoning before", row.FirstAnswerNS, row.FirstTokenNS)
	}
	row, _ = answered(t, true, 0, io.EOF, toolEvent, contentEvent("a"), doneEvent)
	if row.FirstAnswerNS != row.FirstTokenNS {
		t.Errorf("first_answer %v, first_token %v; want a tool call to be an answer", row.FirstAnswerNS, row.FirstTokenNS)
	}
}

// Four tokens an event, one of them held back by the server at first.
func TestStreamUsagePerChunk(t *testing.T) {
	row, _ := answered(t, true, 0, io.EOF, withUsage("", 9, 1), withUsage("a", 9, 4), withUsage("", 9, 6), withUsage("b", 9, 8), withUsage("c", 9, 8), usageEvent(9, 9), doneEvent)
	if diff := cmp.Diff([]formats.Int{formats.Some(4), formats.Some(4), formats.Some(0)}, row.ChunkTokens); diff != "" {
		t.Errorf("chunk_tokens (-want +got):\n%s", diff)
	}
	if row.TokenSource != run.UsageChunks || row.FirstChunkTokens != formats.Some(4) || row.OutputTokens != formats.Some(9) || row.InputTokens != formats.Some(9) {
		t.Errorf("source %s, first chunk %v, output %v, input %v", row.TokenSource, row.FirstChunkTokens, row.OutputTokens, row.InputTokens)
	}
	// a token event without a count: the chunks are not known
	row, _ = answered(t, true, 0, io.EOF, withUsage("a", 9, 4), contentEvent("b"), withUsage("c", 9, 8), doneEvent)
	if row.TokenSource != run.Usage || row.ChunkTokens != nil || row.FirstChunkTokens.Valid || row.OutputTokens != formats.Some(8) {
		t.Errorf("one count missing: source %s, chunks %v, first %v; want usage and no chunks", row.TokenSource, row.ChunkTokens, row.FirstChunkTokens)
	}
}

func TestStreamUsageDetails(t *testing.T) {
	row, _ := answered(t, true, 0, io.EOF, contentEvent("a"),
		`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}`+"\n\n", doneEvent)
	if row.CachedTokens != formats.Some(0) || row.ReasoningTokens != formats.Some(1) {
		t.Errorf("cached %v, reasoning %v; want 0 and 1", row.CachedTokens, row.ReasoningTokens)
	}
	row, _ = answered(t, true, 0, io.EOF, contentEvent("a"), usageEvent(9, 1), doneEvent)
	if row.CachedTokens.Valid || row.ReasoningTokens.Valid {
		t.Errorf("cached %v, reasoning %v; want null where the server said nothing", row.CachedTokens, row.ReasoningTokens)
	}
}

func TestStreamCap(t *testing.T) {
	row, _ := answered(t, true, 1000, io.EOF, contentEvent("a"), "data: "+strings.Repeat("x", 1000))
	if row.Outcome != run.Malformed || !strings.Contains(row.Error, "longer than 1000 bytes") || row.TokenEvents.V != 1 {
		t.Errorf("line above the cap: %s, %q, %v tokens; want malformed with what came before", row.Outcome, row.Error, row.TokenEvents)
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("é", maxError)
	if got := clip("x"+long, nil); len(got) != maxError-1 || strings.Contains(got, "\uFFFD") {
		t.Errorf("clip cuts to %d bytes; want %d, at a character", len(got), maxError-1)
	}
	if got := clip("key sk-1234 of sk-1234", []string{"", "sk-1234"}); got != "key [secret] of [secret]" {
		t.Errorf("clip = %q; want the secret gone", got)
	}
	if got := clip("a\xff", nil); got != "a\uFFFD" {
		t.Errorf("clip = %q; want valid UTF-8", got)
	}
}

// What failed on this host is told from what the network or the server did.
func TestUnconnected(t *testing.T) {
	l := limitsOf(&Options{ConnectTimeout: time.Second})
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(syscall.EADDRNOTAVAIL), "local: dial tcp: connect: cannot assign requested address"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}, "local: dial tcp: socket: too many open files"},
		{dial(syscall.ENOBUFS), "local: dial tcp: connect: no buffer space available"},
		{dial(syscall.ECONNREFUSED), "dial tcp: connect: connection refused"},
		{dial(syscall.EHOSTUNREACH), "dial tcp: connect: no route to host"},
		{dial(syscall.ETIMEDOUT), "connect timeout after 1s: dial tcp: connect: connection timed out"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}}, "local: dial tcp: lookup h: no such host"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "i/o timeout", Name: "h", IsTimeout: true}}, "local: connect timeout after 1s: dial tcp: lookup h: i/o timeout"},
	} {
		outcome, text := l.unconnected(c.err)
		if outcome != run.ConnectError || text != c.want {
			t.Errorf("unconnected(%v) = %s, %q; want connect_error, %q", c.err, outcome, text, c.want)
		}
	}
}

func TestEnded(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  string
	}{
		{errors.New("stop"), run.Cancelled}, {errPlanned, run.CancelledPlanned}, {fmt.Errorf("wrapped: %w", errPlanned), run.CancelledPlanned}, {errDrained, ""},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.cause)
		if got, _ := ended(causeOf(ctx)); got != c.want {
			t.Errorf("ended by %v is %q; want %q", c.cause, got, c.want)
		}
	}
	if got, _ := ended(nil); got != "" {
		t.Errorf("not ended is %q", got)
	}
}
