package schedule

import (
	"bytes"
	"io"
	"strconv"
	"testing"
)

// day returns the lines of a schedule of n requests as tracegen makes them from a
// trace without sessions: two or three runs of block ids a line.
func day(tb testing.TB, n int) []byte {
	var buf bytes.Buffer
	w, err := NewWriter(&buf, Header{Block: &Block{Tokens: 512, Last: Partial}})
	if err != nil {
		tb.Fatal(err)
	}
	next := int64(1)
	for i := range int64(n) {
		r := &Request{ID: i, AtNS: some(i / 4 * 3_000_000_000), Session: "r" + strconv.FormatInt(i+1, 10), Stream: "0", Last: true, Context: Whole,
			InputTokens: some(512*20 + i%512), OutputTokens: some(100 + i%900),
			Blocks: &Blocks{Scope: "mooncake/conversation_trace", Add: []Run{{0, 1}, {next, 18}, {next + 100, 1}}}}
		next += 19
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Close(Trailer{}); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func BenchmarkRead(b *testing.B) {
	const n = 20_000
	lines := day(b, n)
	b.SetBytes(int64(len(lines)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(lines), "b")
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

func BenchmarkWrite(b *testing.B) {
	const n = 20_000
	reqs, _, err := read(day(b, n))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w, err := NewWriter(io.Discard, Header{Block: &Block{Tokens: 512, Last: Partial}})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range reqs {
			if err := w.Write(r); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Close(Trailer{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
