package analyze

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
	"hydrant/traces"
)

// archived reads all requests of the archived Mooncake trace.
func archived(b *testing.B) (reqs []*schedule.Request, block *schedule.Block) {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(fixture.Root(), "traces", "archive", "mooncake*.jsonl.zst"))
	if err != nil || len(found) != 1 {
		b.Fatalf("archived traces = %q, %v; want one", found, err)
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		b.Fatal(err)
	}
	plain, err := codec.Unzstd(packed, 1<<26)
	if err != nil {
		b.Fatal(err)
	}
	i := slices.IndexFunc(traces.Formats, func(f traces.Format) bool { return f.Name == "mooncake" })
	trace, err := traces.Formats[i].Read(traces.Input{Place: "archive", Name: "archive", R: bytes.NewReader(plain)}, traces.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer trace.Close()
	for {
		r, err := trace.Next()
		if err != nil {
			return reqs, trace.Block
		}
		reqs = append(reqs, r.Clone())
	}
}

// BenchmarkAnalyze gives the cost of a request, without and with caches. Compare it with
// BenchmarkRead of formats/schedule, the cost of reading one.
func BenchmarkAnalyze(b *testing.B) {
	reqs, block := archived(b)
	for _, bb := range []struct {
		name string
		o    Options
	}{
		{"plain", Options{}},
		{"caches", Options{ServerBlocks: []int64{1, 16, 64, 512}, CacheTokens: []int64{1e6, 1e7, 1e8, 1e9}}},
		{"curves", Options{Curve: true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Analyze(stream(reqs), block, bb.o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(reqs)), "ns/request")
		})
	}
}
