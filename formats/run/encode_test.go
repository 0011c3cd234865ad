package run

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"hydrant/formats"
)

// streamed makes a finished request of n tokens, one per event, with gaps around
// 20 ms and, with kernel stamps, delays of some 20 µs.
func streamed(rng *rand.Rand, id int64, n int, kernel bool) Request {
	r := goldenRequests()[0][0]
	r.RequestID, r.Turn = id, id%8
	at := id*300_000_000 + rng.Int64N(1_000_000)
	for _, p := range []*formats.Int{&r.ScheduledNS, &r.DueNS, &r.PreparedNS, &r.DispatchedNS, &r.ConnAskedNS, &r.ConnReadyNS, &r.WriteDoneNS,
		&r.HeadersNS, &r.FirstByteNS, &r.FirstEventNS, &r.FirstTokenNS, &r.FirstAnswerNS, &r.LastTokenNS, &r.EndNS} {
		at += rng.Int64N(100_000)
		*p = some(at)
	}
	r.ChunkGapUS, r.ChunkDelayUS, r.ChunkTokens = nil, nil, nil
	for i := range n {
		if i > 0 {
			r.ChunkGapUS = append(r.ChunkGapUS, 20_000+int64(rng.NormFloat64()*200))
		}
		if kernel {
			r.ChunkDelayUS = append(r.ChunkDelayUS, some(15+int64(rng.ExpFloat64()*8)))
		}
		r.ChunkTokens = append(r.ChunkTokens, some(1))
	}
	return r
}

// TestSize holds the file to 1.4 KB per request of 500 tokens with all
// chunk lists. The figures are exact for one build of the zstd encoder.
func TestSize(t *testing.T) {
	for _, kernel := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		e := NewEncoder()
		for id := range int64(512) {
			r := streamed(rng, id, 500, kernel)
			e.Append(&r)
		}
		b, _, err := e.Batch()
		check(t, err)
		per := len(b.Message) / 512
		t.Logf("kernel stamps %v: %d bytes per request of 500 tokens", kernel, per)
		if per > 1400 {
			t.Errorf("kernel stamps %v: %d bytes per request; want at most 1400", kernel, per)
		}
	}
}

func TestErrorIsCut(t *testing.T) {
	r := Request{Outcome: HTTPError, Error: strings.Repeat("ü", 3000)}
	b := write(t, [][]Request{{r}}, nil, End{Status: Complete})
	if len(r.Error) != 6000 {
		t.Fatal("Append changed the caller's row")
	}
	parts, err := read(b, false)
	if err != io.EOF {
		t.Fatal(err)
	}
	if got := parts[0].Requests[0].Error; len(got) != 4096 || !utf8.ValidString(got) {
		t.Errorf("error of 6000 bytes kept as %d; want 4096 of whole characters", len(got))
	}
}

func TestFull(t *testing.T) {
	e := NewEncoder()
	for range MaxBatch - 1 {
		e.Append(&Request{Outcome: OK})
	}
	if e.Full() {
		t.Errorf("full after %d rows", e.Len())
	}
	e.Append(&Request{Outcome: OK})
	if !e.Full() {
		t.Errorf("not full after %d rows", e.Len())
	}
	e = NewEncoder()
	e.Append(&Request{ChunkGapUS: make([]int64, maxBatchSize/8)})
	if !e.Full() {
		t.Error("not full after lists of the largest size")
	}
}

// A batch of long answers ends with the row that brings its lists to the limit: short of
// it but for that row, however many rows the limit of rows would allow.
func TestLongAnswersEndABatch(t *testing.T) {
	const tokens = 2000
	rng := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder()
	batches, size := 0, 0
	for id := range int64(600) {
		if size >= maxBatchSize {
			t.Fatalf("not full at %d bytes of lists in %d rows", size, e.Len())
		}
		r := streamed(rng, id, tokens, true)
		e.Append(&r)
		size += 8*len(r.ChunkGapUS) + 8*len(r.ChunkDelayUS) + 4*len(r.ChunkTokens)
		if !e.Full() {
			continue
		}
		if size < maxBatchSize*9/10 || e.Len() >= MaxBatch/2 { // the rest is text
			t.Fatalf("full at %d bytes of lists in %d rows", size, e.Len())
		}
		if _, _, err := e.Batch(); err != nil {
			t.Fatal(err)
		}
		batches, size = batches+1, 0
	}
	if want := 600 * tokens * 20 / maxBatchSize; batches < want {
		t.Errorf("%d batches; want %d", batches, want)
	}
}

func BenchmarkAppend(b *testing.B) {
	r := streamed(rand.New(rand.NewPCG(1, 2)), 1, 500, true)
	e := NewEncoder()
	b.ReportAllocs()
	for b.Loop() {
		if e.Append(&r); e.Len() == 512 {
			b.StopTimer()
			if _, _, err := e.Batch(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for id := range int64(64) {
			r := streamed(rng, id, 500, true)
			e.Append(&r)
		}
		b.StartTimer()
		if _, _, err := e.Batch(); err != nil {
			b.Fatal(err)
		}
	}
}
