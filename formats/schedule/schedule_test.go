package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"hydrant/formats"

	"github.com/google/go-cmp/cmp"
)

// write returns the lines of a schedule of these requests.
func write(t testing.TB, h Header, reqs ...*Request) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reqs {
		if err := w.Write(r); err != nil {
			t.Fatalf("Write(%+v) = %v", r, err)
		}
	}
	if _, err := w.Close(Trailer{}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// read returns all requests and the error that ended them (nil for io.EOF).
func read(lines []byte) (reqs []*Request, r *Reader, err error) {
	r, err = NewReader(bytes.NewReader(lines), "t.jsonl")
	for err == nil {
		var q *Request
		if q, err = r.Next(); err == nil {
			reqs = append(reqs, q.Clone())
		}
	}
	if err == io.EOF {
		err = nil
	}
	return reqs, r, err
}

var some = formats.Some

// example holds requests that together use every key.
func example() (Header, []*Request) {
	h := Header{
		Build: "hydrant 1", Args: []string{"mooncake"}, QuantumNS: 1e6,
		Sources:    []Source{{Name: "day.jsonl", Format: "mooncake", Licence: "Apache-2.0", URL: "https://example.org/day?a=1&b=<2>"}},
		Block:      &Block{Tokens: 512, Last: Partial},
		Transforms: []Transform{{Name: "speed", Params: map[string]string{"factor": "2"}}},
	}
	whole := func(q Request) *Request {
		q.Context = Whole
		if q.Stream == "" {
			q.Stream = "0"
		}
		return &q
	}
	return h, []*Request{
		whole(Request{ID: 0, AtNS: some(0), Session: "a", InputTokens: some(1536), OutputTokens: some(20),
			Blocks: &Blocks{Scope: "day", Add: []Run{{0, 2}, {7, 1}}}}),
		whole(Request{ID: 1, AtNS: some(0), Session: "r2", Last: true, InputTokens: some(600), OutputTokens: some(0),
			Blocks: &Blocks{Scope: "day", Add: []Run{{0, 1}, {1 << 53, 1}}}}),
		whole(Request{ID: 2, AtNS: some(5_000_000), After: []int64{0}, DelayNS: some(6_573_600_000), Session: "a", Turn: 1,
			InputTokens: some(1600), OutputTokens: some(5), Blocks: &Blocks{Scope: "day", Keep: 3, Add: []Run{{1<<53 + 1, 1}}},
			Recorded: Recorded{TTFTNS: some(1), E2ENS: some(2), CachedTokens: some(3)}}),
		whole(Request{ID: 3, After: []int64{0, 2}, Session: "a", Stream: "sub/1", Turn: 0, Last: true, OutputTokens: some(9),
			Model: "m", Class: "interactive", Priority: some(-2),
			Body: json.RawMessage(`{"messages":[{"role":"user","content":"quote \" and é"}]}`), Extra: json.RawMessage(`{"top_p":0.9}`)}),
		{ID: 7, AtNS: some(6_000_000), Session: "quote\"\\\t\u2028é", Stream: "0", Context: Delta, InputTokens: some(10)},
	}
}

func TestRoundTrip(t *testing.T) {
	h, reqs := example()
	lines := write(t, h, reqs...)
	got, r, err := read(lines)
	if err != nil {
		t.Fatalf("%v\n%s", err, lines)
	}
	if d := cmp.Diff(reqs, got); d != "" {
		t.Errorf("requests (-written +read)\n%s", d)
	}
	h.Format, h.Version = Format, Version
	if d := cmp.Diff(h, r.Header()); d != "" {
		t.Errorf("header (-written +read)\n%s", d)
	}
	end := r.Trailers()[0]
	if end.Requests != 5 || end.Sessions != 3 || end.InputTokens != 3746 || end.OutputTokens != 34 || end.SpanNS != 6_000_000 ||
		end.Blocks != 9 || end.DistinctBlocks != 5 || end.HitBlocks != 4 || end.HitTokens != 512+1536 {
		t.Errorf("trailer = %+v", end)
	}
	if !json.Valid(r.HeaderJSON()) || !bytes.Contains(lines, r.HeaderJSON()) {
		t.Errorf("HeaderJSON = %s", r.HeaderJSON())
	}
	if again := write(t, r.Header(), got...); !bytes.Equal(again, lines) {
		t.Errorf("written again = %s; want %s", again, lines)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	lines := write(t, first(example()), second(example())...)
	for n := range lines {
		got, _, err := read(lines[:n])
		var cut *formats.TruncatedError
		if !errors.As(err, &cut) {
			t.Fatalf("cut at %d of %d: error = %v; want a TruncatedError", n, len(lines), err)
		}
		whole := max(bytes.Count(lines[:n], []byte("\n"))-1, 0)
		if len(got) != whole {
			t.Fatalf("cut at %d: %d requests handed out; want %d", n, len(got), whole)
		}
	}
}

func first(h Header, _ []*Request) Header      { return h }
func second(_ Header, r []*Request) []*Request { return r }

func TestHandEditIsCaught(t *testing.T) {
	lines := string(write(t, first(example()), second(example())...))
	edits := map[string][2]string{
		"a length":  {`"input_tokens":1536`, `"input_tokens":1535`},
		"a session": {`"session":"r2"`, `"session":"r3"`},
		"a space":   {`"turn":1`, `"turn": 1`},
		"a model":   {`"model":"m"`, `"model":"n"`},
	}
	for name, e := range edits {
		_, _, err := read([]byte(strings.Replace(lines, e[0], e[1], 1)))
		var syntax *formats.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Hint(), "tracegen schedule --reseal") {
			t.Errorf("%s changed: error = %v; want a SyntaxError with the reseal hint", name, err)
		}
	}
}
