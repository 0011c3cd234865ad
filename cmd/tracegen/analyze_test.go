package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hydrant/cmd/tracegen/internal/analyze"
	"hydrant/formats"
	"hydrant/internal/fixture"
)

// analysis runs tracegen analyze on an input and reads what it writes.
func analysis(t testing.TB, args ...string) *analyze.Figures {
	t.Helper()
	f, err := analyze.Document.Read(bytes.NewReader(made(t, append([]string{"analyze"}, args...)...)), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// expected reads an entry of the figures that were computed by others.
func expected(t testing.TB, key string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	if all[key] == nil {
		t.Fatalf("expected.json has no %q", key)
	}
	return all[key]
}

// figure is one that is compared with expected.json.
type figure struct {
	path   string // in expected.json
	got    any
	digits int // of the expected value behind the point, where it was rounded
}

// compare looks each figure up and compares it, by the digits that the expectation has.
func compare(t *testing.T, want map[string]any, all []figure) {
	t.Helper()
	for _, f := range all {
		var v any = want
		for key := range strings.SplitSeq(f.path, "/") {
			v = v.(map[string]any)[key]
		}
		if v == nil {
			t.Errorf("%s: not expected", f.path)
			continue
		}
		var got string
		switch g := f.got.(type) {
		case int64:
			got = fmt.Sprint(g)
		case formats.Int:
			got = g.String()
		case *float64:
			if g == nil {
				t.Errorf("%s: null; want %v", f.path, v)
				continue
			}
			w, err := v.(json.Number).Float64()
			if err != nil || math.Abs(*g-w) > 0.51*math.Pow(10, -float64(f.digits)) {
				t.Errorf("%s = %v; want %v", f.path, *g, v)
			}
			continue
		default:
			t.Fatalf("%s: a %T", f.path, f.got)
		}
		if w := strings.TrimSuffix(fmt.Sprint(v), ".0"); got != w {
			t.Errorf("%s = %s; want %s", f.path, got, w)
		}
	}
}

func lengthFigures(f *analyze.Figures) (all []figure) {
	all = append(all, figure{"records", f.Requests, 0}, figure{"sum_input", f.InputTokens.Sum, 0}, figure{"sum_output", f.OutputTokens.Sum, 0})
	for _, d := range []struct {
		name string
		d    analyze.Dist
	}{{"input", f.InputTokens}, {"output", f.OutputTokens}} {
		all = append(all, figure{d.name + "/p50", d.d.P50, 0}, figure{d.name + "/p90", d.d.P90, 0}, figure{d.name + "/p99", d.d.P99, 0},
			figure{d.name + "/min", d.d.Min, 0}, figure{d.name + "/max", d.d.Max, 0}, figure{d.name + "/zeros", d.d.Zeros, 0})
	}
	return all
}

// timeFigures are those of time, under a key, in a unit of so many ns.
func timeFigures(f *analyze.Figures, key string, unit int64) []figure {
	in := func(v formats.Int) int64 { return v.V / unit }
	tm := f.Time
	all := []figure{{key + "/min", in(tm.FirstNS), 0}, {key + "/max", in(tm.LastNS), 0}, {key + "/span", in(tm.SpanNS), 0},
		{key + "/adjacent_ties", tm.Ties, 0}, {key + "/distinct_instants", tm.Instants, 0}, {key + "/rate_per_s", tm.RatePerS, 6}, {key + "/gap_cv", tm.GapCV, 4}}
	for _, w := range tm.Windows {
		s := fmt.Sprintf("_%ds", w.WidthNS/1e9)
		all = append(all, figure{key + "/windows" + s, w.Windows, 0}, figure{key + "/idc" + s, w.IDC, 4}, figure{key + "/peak_to_mean" + s, w.PeakToMean, 4})
	}
	return all
}

func reuseFigures(f *analyze.Figures) []figure {
	r := f.Reuse
	return []figure{{"reuse/blocks", r.Blocks, 0}, {"reuse/hit_blocks", r.Time.Blocks, 0}, {"reuse/hit_tokens", r.Time.Tokens, 0}, {"reuse/distinct_ids", r.Distinct, 0},
		{"reuse/block_hit_ratio", r.Time.BlockRatio, 10}, {"reuse/token_hit_ratio", r.Time.TokenRatio, 10}, {"reuse/fully_cached_requests", r.WhollyCached, 0}}
}

func firstWindows(t *testing.T, f *analyze.Figures, want map[string]any) {
	t.Helper()
	var list []int64
	for _, n := range want["first10_60s"].([]any) {
		k, _ := n.(json.Number).Int64()
		list = append(list, k)
	}
	if got := f.Time.Rate; got.WidthNS != 60e9 || !slices.Equal(got.Counts[:min(10, len(got.Counts))], list) {
		t.Errorf("rate = %d ns, %v; want 60 s and %v", got.WidthNS, got.Counts[:min(10, len(got.Counts))], list)
	}
}

// The figures that other programs computed from the files.
func TestAnalyzeExpected(t *testing.T) {
	for _, tt := range []struct {
		format, file, time string
		unit               int64
		reuse              bool
	}{
		{"mooncake", "mooncake/conversation_lines_1-6011.jsonl.zst", "time", 1e6, true},
		{"mooncake", "mooncake/synthetic_trace.jsonl.zst", "time", 1e6, true},
		{"azure", "azure/AzureLLMInferenceTrace_code.csv.zst", "time", 1e3, false},
		{"azure", "azure/AzureLLMInferenceTrace_code_1week_head5.csv", "time", 1e3, false},
		{"vidur", "vidur/splitwise_code.csv.zst", "time", 1e3, false},
		{"burstgpt", "burstgpt/BurstGPT_1_head3.csv", "time", 1e9, false},
		{"burstgpt", "burstgpt/BurstGPT_3_head4.csv", "time", 1e9, false},
		{"burstgpt", "burstgpt/BurstGPT_3_rows_0-51_reconstructed.csv", "time", 1e9, false},
		{"ragpulse", "ragpulse/0_trace_lines_1-2500_and_3801-5300.jsonl.zst", "time_unwrapped", 1e9, false},
	} {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			want := expected(t, tt.file)
			f := analysis(t, fixture.Shared(t, "data/"+tt.file))
			if f.Input.Format != tt.format {
				t.Errorf("format = %q; want %q", f.Input.Format, tt.format)
			}
			all := append(lengthFigures(f), timeFigures(f, tt.time, tt.unit)...)
			if tt.reuse {
				all = append(all, reuseFigures(f)...)
			}
			if n, ok := want["sessions"].(json.Number); ok && n != "0" {
				all = append(all, figure{"sessions", f.Sessions.N, 0})
			}
			compare(t, want, all)
			firstWindows(t, f, want[tt.time].(map[string]any))
		})
	}
}

// What reference pages say of the Mooncake files beside that, and which no other figure
// shows.
func TestAnalyzeMooncake(t *testing.T) {
	for _, tt := range []struct {
		file               string
		reused, uses, most int64
	}{
		{"conversation_lines_1-6011", 23_404, 76_261, 124_741},
		{"synthetic_trace", 18_251, 96_204, 191_386},
	} {
		f := analysis(t, fixture.Shared(t, "data/mooncake/"+tt.file+".jsonl.zst"))
		r := f.Reuse
		if r.Reused != tt.reused || r.ReusedUses != tt.uses || f.TotalTokens.Max.V != tt.most || r.ChainBreaks != 0 || r.Scopes != 1 {
			t.Errorf("%s: %d ids used at least twice, %d uses, at most %d tokens, %d breaks; want %d, %d, %d, 0", tt.file, r.Reused, r.ReusedUses, f.TotalTokens.Max.V, r.ChainBreaks, tt.reused, tt.uses, tt.most)
		}
		// In a tree of ids every order has the same hits, and a prefix is a set.
		for name, h := range map[string]analyze.Hit{"listed": *r.Listed, "isolated": r.Isolated, "set": r.Set} {
			if h.Blocks != r.Time.Blocks || h.Tokens != r.Time.Tokens {
				t.Errorf("%s: %s: %d blocks, %d tokens; want %d and %d", tt.file, name, h.Blocks, h.Tokens, r.Time.Blocks, r.Time.Tokens)
			}
		}
	}
	f := analysis(t, fixture.Shared(t, "data/mooncake/aiperf_multiturn_delay_sample.jsonl"))
	want := expected(t, "mooncake/aiperf_multiturn_delay_sample.jsonl")
	compare(t, want, []figure{{"records", f.Requests, 0}, {"sessions", f.Sessions.N, 0}, {"sum_input_length_as_listed", f.InputTokens.Sum, 0}, {"sum_output", f.OutputTokens.Sum, 0},
		{"sum_delay_ms", f.Delays.DelayNS.Sum.V / 1e6, 0}, {"rows_without_timestamp", f.Time.Untimed, 0}})
	if r := f.Reuse; r.Time.Blocks != 63 || r.Blocks != 253 || r.Time.Tokens != 32_256 || r.Distinct != 190 || f.DeltaRequests != 7 || f.Sessions.Requests.Max.V != 7 || len(f.Notes) != 2 {
		t.Errorf("aiperf sample: %+v, %d delta, notes %q", r, f.DeltaRequests, f.Notes)
	}
}

// A schedule gives the figures of the trace that it was made from, and its trailer's.
func TestAnalyzeSchedule(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	path := filepath.Join(t.TempDir(), "s.sched.zst")
	made(t, "mooncake", trace, "-o", path)
	of, from := analysis(t, trace), analysis(t, path)
	if from.Input != (analyze.Source{Name: "s.sched.zst", Format: "schedule"}) {
		t.Errorf("input = %+v", from.Input)
	}
	from.Input = of.Input
	a, b := new(bytes.Buffer), new(bytes.Buffer)
	if err := analyze.Document.Write(a, of); err != nil {
		t.Fatal(err)
	}
	if err := analyze.Document.Write(b, from); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("the schedule has other figures than its trace")
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := trailer(t, lines(t, packed))
	if h := from.Reuse.Time; end.HitBlocks != h.Blocks || end.HitTokens != h.Tokens || *end.BlockHitRatio != *h.BlockRatio || *end.TokenHitRatio != *h.TokenRatio || end.DistinctBlocks != from.Reuse.Distinct {
		t.Errorf("hits %+v; the trailer says %+v", h, end)
	}
}

// Blocks made of RAGPulse's components: their ids stand for all that is before them, so
// that no other order and no set finds more.
func TestAnalyzeRAGPulse(t *testing.T) {
	trace := fixture.Shared(t, "data/ragpulse/0_trace_lines_1-2500_and_3801-5300.jsonl.zst")
	for _, tt := range []struct {
		size, hits, blocks, distinct int64
		ratio                        float64
	}{{16, 230_627, 727_394, 496_767, 0.3152886678}, {64, 57_640, 180_382, 0, 0.3151970725}, {512, 7_188, 20_972, 0, 0.3144533737}} {
		path := filepath.Join(t.TempDir(), "s.sched.zst")
		made(t, "ragpulse", trace, "--block-size", fmt.Sprint(tt.size), "-o", path)
		r := analysis(t, path).Reuse
		if r.Time.Blocks != tt.hits || r.Blocks != tt.blocks || tt.distinct > 0 && r.Distinct != tt.distinct || math.Abs(*r.Time.TokenRatio-tt.ratio) > 1e-9 || r.Set.Blocks != tt.hits || r.ChainBreaks != 0 {
			t.Errorf("blocks of %d: %+v; want %+v", tt.size, r, tt)
		}
	}
}

// The table keeps to 80 columns, whatever the figures.
func TestAnalyzeTableWidth(t *testing.T) {
	for _, input := range []string{conversation, "data/weka", "data/ragpulse/0_trace_lines_1-2500_and_3801-5300.jsonl.zst", "data/mooncake/aiperf_multiturn_delay_sample.jsonl",
		"data/semianalysis/cc-traces-weka-no-subagents-051226_sessions_1-7_no_hash_ids.jsonl.zst"} {
		for i, line := range strings.Split(string(made(t, "analyze", "--format", "table", fixture.Shared(t, input))), "\n") {
			if n := utf8.RuneCountInString(line); n > 80 && i > 0 { // the first has the name of the input
				t.Errorf("%s: %d columns: %s", input, n, line)
			}
		}
	}
}
