package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"hydrant/cmd/tracegen/internal/analyze"
	"hydrant/internal/fixture"
)

// witnessed is what testdata/analysis.py prints.
type witnessed struct {
	Requests     int64                `json:"requests"`
	InputTokens  map[string]int64     `json:"input_tokens"`
	OutputTokens map[string]int64     `json:"output_tokens"`
	TotalTokens  map[string]int64     `json:"total_tokens"`
	GapCV        float64              `json:"gap_cv"`
	Windows      []map[string]float64 `json:"windows"`
	Rate         []int64              `json:"rate"`
	Blocks       int64                `json:"blocks"`
	Distinct     int64                `json:"distinct"`
	Reused       int64                `json:"reused"`
	ReusedUses   int64                `json:"reused_uses"`
	WhollyCached int64                `json:"wholly_cached"`
	HitBlocks    int64                `json:"hit_blocks"`
	HitTokens    int64                `json:"hit_tokens"`
	SetBlocks    int64                `json:"set_blocks"`
	ServerBlocks []int64              `json:"server_blocks"`
	Caches       []struct {
		HitBlocks int64 `json:"hit_blocks"`
		HitTokens int64 `json:"hit_tokens"`
	} `json:"caches"`
}

// A program in Python computes the figures on its own, of both files and of what is left
// when every seventh row is gone, so that no figure is tied to one file.
func TestAnalyzeWitness(t *testing.T) {
	python, err := exec.LookPath("python3")
	fixture.Need(t, err == nil, "no python3")
	const sizes, caches = "1,16,100,512,2048", "500,100000,1000000,7000000,50000000,900000000000"
	for _, file := range []string{"conversation_lines_1-6011", "synthetic_trace"} {
		packed, err := os.ReadFile(fixture.Shared(t, "data/mooncake/"+file+".jsonl.zst"))
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.SplitAfter(lines(t, packed), []byte("\n"))
		var some [][]byte
		for i, row := range all {
			if i%7 != 6 {
				some = append(some, row)
			}
		}
		for name, rows := range map[string][][]byte{"whole": all, "without every seventh row": some} {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			if err := os.WriteFile(path, bytes.Join(rows, nil), 0o666); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(python, filepath.Join("testdata", "analysis.py"), path, sizes, caches).Output()
			if err != nil {
				t.Fatal(err)
			}
			var want witnessed
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatal(err)
			}
			want.compare(t, file+", "+name, analysis(t, path, "--block-sizes", sizes, "--cache-tokens", caches))
		}
	}
}

func (want *witnessed) compare(t *testing.T, name string, f *analyze.Figures) {
	t.Helper()
	for _, d := range []struct {
		name string
		got  analyze.Dist
		want map[string]int64
	}{{"input", f.InputTokens, want.InputTokens}, {"output", f.OutputTokens, want.OutputTokens}, {"total", f.TotalTokens, want.TotalTokens}} {
		got := map[string]int64{"n": d.got.N, "sum": d.got.Sum.V, "min": d.got.Min.V, "max": d.got.Max.V, "zeros": d.got.Zeros,
			"p10": d.got.P10.V, "p50": d.got.P50.V, "p90": d.got.P90.V, "p95": d.got.P95.V, "p99": d.got.P99.V, "p999": d.got.P999.V}
		for key, v := range d.want {
			if got[key] != v {
				t.Errorf("%s: %s %s = %d; want %d", name, d.name, key, got[key], v)
			}
		}
		if len(d.want) != len(got) {
			t.Errorf("%s: %s: %d figures; want %d", name, d.name, len(got), len(d.want))
		}
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s: %s = %v; want %v", name, what, got, want)
		}
	}
	near("gap CV", *f.Time.GapCV, want.GapCV)
	if len(want.Windows) != len(f.Time.Windows) || !slices.Equal(f.Time.Rate.Counts, want.Rate) {
		t.Errorf("%s: %d windows, rate %v; want %d and %v", name, len(f.Time.Windows), f.Time.Rate.Counts, len(want.Windows), want.Rate)
	}
	for i, w := range f.Time.Windows {
		for key, got := range map[string]float64{"windows": float64(w.Windows), "empty": float64(w.Empty), "most": float64(w.Most), "peak_to_mean": *w.PeakToMean, "idc": *w.IDC} {
			near(key, got, want.Windows[i][key])
		}
	}
	r := f.Reuse
	got := []int64{f.Requests, r.Blocks, r.Distinct, r.Reused, r.ReusedUses, r.WhollyCached, r.Time.Blocks, r.Time.Tokens, r.Set.Blocks}
	if w := []int64{want.Requests, want.Blocks, want.Distinct, want.Reused, want.ReusedUses, want.WhollyCached, want.HitBlocks, want.HitTokens, want.SetBlocks}; !slices.Equal(got, w) {
		t.Errorf("%s: requests and reuse %v; want %v", name, got, w)
	}
	if len(r.ServerBlocks) != len(want.ServerBlocks) || len(r.Caches) != len(want.Caches) {
		t.Fatalf("%s: %d block sizes, %d caches; want %d and %d", name, len(r.ServerBlocks), len(r.Caches), len(want.ServerBlocks), len(want.Caches))
	}
	for i, s := range r.ServerBlocks {
		if s.Tokens != want.ServerBlocks[i] {
			t.Errorf("%s: server blocks of %d: %d; want %d", name, s.BlockTokens, s.Tokens, want.ServerBlocks[i])
		}
	}
	for i, c := range r.Caches {
		if c.Blocks != want.Caches[i].HitBlocks || c.Tokens != want.Caches[i].HitTokens {
			t.Errorf("%s: cache of %d tokens: %d blocks, %d tokens; want %+v", name, c.CacheTokens, c.Blocks, c.Tokens, want.Caches[i])
		}
	}
}
