package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type eventFunc func(typ string, data []byte) error

func (f eventFunc) takeEvent(typ string, data []byte) error { return f(typ, data) }

type got struct{ Type, Data string }

// read feeds the pieces and returns the events, and the number of pieces that had been
// fed when each was handed on.
func read(limit int, pieces ...[]byte) (events []got, at []int, err error) {
	var s sse
	for i, p := range pieces {
		// a copy in memory of its own: nothing may be kept past the feed
		p = slices.Clone(p)
		err = s.feed(p, eventFunc(func(typ string, data []byte) error {
			events = append(events, got{typ, string(data)})
			at = append(at, i)
			return nil
		}), limit)
		clear(p)
		if err != nil {
			return events, at, err
		}
	}
	return events, at, nil
}

func singles(b []byte) [][]byte {
	var p [][]byte
	for i := range b {
		p = append(p, b[i:i+1])
	}
	return p
}

func msg(data ...string) []got {
	var g []got
	for _, d := range data {
		g = append(g, got{"", d})
	}
	return g
}

const bom = "\uFEFF"

var sseCases = []struct {
	name, in string
	want     []got
}{
	{"LF", "data: a\n\ndata: b\n\n", msg("a", "b")},
	{"CR", "data: a\r\rdata: b\r\r", msg("a", "b")},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", msg("a", "b")},
	{"all three", "data: a\n\r\ndata: b\r\r\ndata: c\r\n\rdata: d\n\n", msg("a", "b", "c", "d")},
	{"CRLF is one end", "data: a\r\ndata: b\r\n\r\n", msg("a\nb")},
	{"LF CR is two ends", "data: a\n\rdata: b\n\n", msg("a", "b")},
	{"blank lines", "\n\n\ndata: a\n\n\n\r\n\r\ndata: b\n\n\n", msg("a", "b")},
	{"byte order mark", bom + "data: a\n\n", msg("a")},
	{"second byte order mark", bom + bom + "data: a\n\ndata: b\n\n", msg("b")},
	{"later byte order mark", "data: a\n\n" + bom + "data: b\n\n", msg("a")},
	{"byte order mark before a blank line", bom + "\ndata: a\n\n", msg("a")},
	{"spaces behind the colon", "data:x\n\ndata: x\n\ndata:  x\n\n", msg("x", "x", " x")},
	{"a tab is no space", "data:\tx\n\n", msg("\tx")},
	{"no colon", "data\n\ndata:\n\n", msg("", "")},
	{"data lines are joined", "data: a\ndata: b\n\n", msg("a\nb")},
	{"empty data lines", "data\ndata\n\n", msg("\n")},
	{"JSON over two lines", "data: {\"a\":\ndata: 1}\n\n", msg("{\"a\":\n1}")},
	{"colons in data", "data: a:b: c\n\n", msg("a:b: c")},
	{"comments", ": ping\n\n:\n\ndata: a\n: inside\ndata: b\n\n", msg("a\nb")},
	{"type once", "event: error\ndata: a\n\ndata: b\n\n", []got{{"error", "a"}, {"", "b"}}},
	{"type without data", "event: ping\n\ndata: a\n\n", msg("a")},
	{"type behind data", "data: a\nevent: x\n\n", []got{{"x", "a"}}},
	{"last type counts", "event: x\nevent: y\ndata: a\n\n", []got{{"y", "a"}}},
	{"other fields", "id: 1\n\nid: \x00\n\nretry: 10\n\nretry: x\n\nfoo: bar\n\nData: x\n\n data: x\n\ndata: a\n\n", msg("a")},
	{"other fields inside", "id: 1\nretry: 3\ndata: a\nfoo\n data: x\n\n", msg("a")},
	{"multi-byte characters", "data: é→😀\n\ndata: 日本\r\n\r\n", msg("é→😀", "日本")},
	{"characters that are no line ends", "data: a\u2028b\u2029c\u0085d\ve\ff\x00g\n\n", msg("a\u2028b\u2029c\u0085d\ve\ff\x00g")},
	{"not UTF-8", "data: a\xff\xfeb\n\n", msg("a\xff\xfeb")},
	{"a hundred", strings.Repeat("data: x\n\n", 100), msg(strings.Fields(strings.Repeat("x ", 100))...)},
	{"not completed", "data: a\n\ndata: b\n", msg("a")},
	{"not completed, no line end", "data: a\n\ndata: b", msg("a")},
	{"nothing", "", nil},
	{"only comments", ": a\n\n: b\n\n", nil},
}

// Every case gives the same events whole, byte by byte and cut in two at every offset.
func TestSSE(t *testing.T) {
	for _, c := range sseCases {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			check := func(how string, pieces ...[]byte) {
				t.Helper()
				events, _, err := read(DefaultLineCap, pieces...)
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := cmp.Diff(c.want, events); diff != "" {
					t.Fatalf("%s: events (-want +got):\n%s", how, diff)
				}
			}
			check("whole", in)
			check("byte by byte", singles(in)...)
			for i := range in {
				check(fmt.Sprintf("cut at %d", i), in[:i], in[i:])
			}
		})
	}
}

// An event belongs to the read that holds the first byte of its blank line's end.
func TestSSECompletedAt(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   []int
	}{
		{"at the CR of CRLF", []string{"data: a\r\n\r", "\ndata: b\r\n\r\n"}, []int{0, 1}},
		{"the LF opens no line", []string{"data: a\r", "\ndata: b\r", "\n\r", "\n"}, []int{2}},
		{"at the LF", []string{"data: a\n", "\n", "data: b\n\n"}, []int{1, 2}},
		{"two in one", []string{"data: a\n\ndata: b\n\ndata", ": c\n\n"}, []int{0, 0, 1}},
	} {
		var pieces [][]byte
		for _, p := range c.pieces {
			pieces = append(pieces, []byte(p))
		}
		_, at, err := read(DefaultLineCap, pieces...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, at); diff != "" {
			t.Errorf("%s: completed in feed (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSSELongLines(t *testing.T) {
	const limit = 2 << 20
	for _, n := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, limit, limit + 1} {
		line := append([]byte("data:"), bytes.Repeat([]byte("x"), n-len("data:"))...)
		in := append(line, "\n\ndata: y\n\n"...)
		cuts := [][][]byte{{in}, {in[:1], in[1:]}, {in[:n/2], in[n/2:]}, {in[:n], in[n:]}, {in[:n+1], in[n+1:]}}
		var chunks [][]byte
		for c := range slices.Chunk(in, 4096) {
			chunks = append(chunks, c)
		}
		for i, pieces := range append(cuts, chunks) {
			events, _, err := read(limit, pieces...)
			if n > limit {
				var too *TooLongError
				if !errors.As(err, &too) || too.What != "line" {
					t.Errorf("line of %d bytes, cut %d: error %v; want a TooLongError", n, i, err)
				}
				continue
			}
			if err != nil || len(events) != 2 || len(events[0].Data) != n-len("data:") || events[1].Data != "y" {
				t.Errorf("line of %d bytes, cut %d: %d events, %v; want it whole", n, i, len(events), err)
			}
		}
	}
}

// A stream without any line end, and an event of endless lines, end in an error at the
// cap with memory bounded by it.
func TestSSEBounded(t *testing.T) {
	const limit = 1 << 20
	for name, piece := range map[string]string{
		"line":  strings.Repeat("x", 32<<10),
		"event": strings.Repeat("data: y\n", 4<<10),
	} {
		var s sse
		var err error
		for fed := 0; err == nil; fed += len(piece) {
			if fed > 10<<20 {
				t.Fatalf("%s: 10 MiB taken without an error", name)
			}
			err = s.feed([]byte(piece), eventFunc(func(string, []byte) error { return errors.New("an event") }), limit)
		}
		var too *TooLongError
		if !errors.As(err, &too) || too.What != name || too.Cap != limit {
			t.Errorf("%s: %v; want a TooLongError of it", name, err)
		}
		if c := cap(s.open.line) + cap(s.open.data); c > 3*limit {
			t.Errorf("%s: %d bytes held for a cap of %d", name, c, limit)
		}
	}
}

// slowly reads a whole stream by the letter of the standard, one character at a time.
// It is the reader that ours is compared with.
func slowly(in string, limit int) (events []got, tooLong bool) {
	var lines []string
	line := ""
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case c == '\r' && i+1 < len(in) && in[i+1] == '\n':
			i++
			fallthrough
		case c == '\r' || c == '\n':
			lines = append(lines, line)
			line = ""
		default:
			line += string([]byte{c})
		}
	}
	typ, data := "", []string(nil)
	for i, l := range lines {
		if len(l) > limit {
			return events, true
		}
		if i == 0 {
			l = strings.TrimPrefix(l, bom)
		}
		if l == "" {
			if data != nil {
				events = append(events, got{typ, strings.Join(data, "\n")})
			}
			typ, data = "", nil
			continue
		}
		field, value := l, ""
		if colon := strings.Index(l, ":"); colon >= 0 {
			field, value = l[:colon], strings.TrimPrefix(l[colon+1:], " ")
		}
		switch field {
		case "data":
			if data = append(data, value); len(strings.Join(data, "\n")) > limit {
				return events, true
			}
		case "event":
			typ = value
		}
	}
	return events, len(line) > limit
}

// The rules as they are written down and the reader say the same of every case.
func TestSlowReader(t *testing.T) {
	for _, c := range sseCases {
		if events, long := slowly(c.in, 1<<20); long || cmp.Diff(c.want, events) != "" {
			t.Errorf("%s: %v; want %v", c.name, events, c.want)
		}
	}
}

func FuzzSSE(f *testing.F) {
	for _, c := range sseCases {
		f.Add([]byte(c.in), 3)
	}
	f.Add([]byte("data: "+strings.Repeat("x", 15)+"\ndata: "+strings.Repeat("y", 16)+"\n\n"), 5)
	f.Add([]byte("data: "+strings.Repeat("x", 15)+"\ndata: "+strings.Repeat("y", 17)+"\n\n"), 22)
	f.Add([]byte("data:"+strings.Repeat("x", 28)+"\n\n"), 7)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		const limit = 32
		want, long := slowly(string(in), limit)
		whole, _, err1 := read(limit, in)
		if (err1 != nil) != long {
			t.Fatalf("error %v; too long: %t", err1, long)
		}
		if diff := cmp.Diff(want, whole); diff != "" {
			t.Fatalf("events (-slow reader +got):\n%s", diff)
		}
		ones, _, err2 := read(limit, singles(in)...)
		var chunks [][]byte
		for c := range slices.Chunk(in, max(1, size)) {
			chunks = append(chunks, c)
		}
		parts, _, err3 := read(limit, chunks...)
		if (err1 == nil) != (err2 == nil) || (err1 == nil) != (err3 == nil) {
			t.Fatalf("errors differ: %v, %v, %v", err1, err2, err3)
		}
		if diff := cmp.Diff(whole, ones); diff != "" {
			t.Fatalf("whole and byte by byte differ:\n%s", diff)
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatalf("whole and in parts differ:\n%s", diff)
		}
	})
}

func BenchmarkSSE(b *testing.B) {
	chunk := []byte(`data: {"id":"chatcmpl-7f0e","object":"chat.completion.chunk","created":1730000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	var s sse
	n := 0
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.feed(chunk, eventFunc(func(string, []byte) error { n++; return nil }), DefaultLineCap); err != nil {
			b.Fatal(err)
		}
	}
}
