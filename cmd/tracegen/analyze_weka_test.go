package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hydrant/cmd/tracegen/internal/analyze"
	"hydrant/internal/fixture"
)

// wekaFigures are those of agent sessions, by their names in expected.json and
// per_trace.csv.
func wekaFigures(f *analyze.Figures) map[string]int64 {
	r := f.Reuse
	return map[string]int64{
		"parent_requests": f.Sessions.Main.Requests, "subagents": f.Sessions.SideStreams, "subagent_requests": f.Sessions.Side.Requests,
		"in_parent": f.Sessions.Main.InputTokens, "out_parent": f.Sessions.Main.OutputTokens, "in_sub": f.Sessions.Side.InputTokens, "out_sub": f.Sessions.Side.OutputTokens,
		"api_time_sum_cs": f.Recorded.E2ENS.Sum.V / 1e7, "api_time_missing": f.Recorded.E2ENS.Nulls, "ttft_present": f.Recorded.TTFTNS.N, "zero_out": f.OutputTokens.Zeros,
		"blocks": r.Blocks, "distinct_ids": r.Distinct, "context_drops": f.Sessions.Shrunk,
		"hit_blocks_listed": r.Listed.Blocks, "hit_blocks_time": r.Time.Blocks, "hit_blocks_isolated": r.Isolated.Blocks,
	}
}

// Every file of agent sessions, with its hits in all three orders.
func TestAnalyzeWekaFiles(t *testing.T) {
	path := fixture.Shared(t, "data/weka/per_trace.csv")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	files := 0
	for _, row := range rows[1:] {
		if row[at["container"]] != "file" {
			continue
		}
		files++
		id := row[at["trace_id"]]
		for name, got := range wekaFigures(analysis(t, filepath.Join(filepath.Dir(path), id+".json.zst"))) {
			if want, err := strconv.ParseInt(row[at[name]], 10, 64); err != nil || got != want {
				t.Errorf("%s: %s = %d; want %s", id, name, got, row[at[name]])
			}
		}
	}
	if files != 48 {
		t.Errorf("%d files; want 48", files)
	}
}

// All 358 sessions, from files and a bundle in one folder.
func TestAnalyzeWekaFolder(t *testing.T) {
	f := analysis(t, fixture.Shared(t, "data/weka"))
	want := expected(t, "weka/ (all)")
	all := []figure{{"total/traces", f.Sessions.N, 0},
		{"total/block_hit_ratio_listed", f.Reuse.Listed.BlockRatio, 10}, {"total/block_hit_ratio_isolated", f.Reuse.Isolated.BlockRatio, 10}, {"total/token_hit_ratio_listed", f.Reuse.Listed.TokenRatio, 10}}
	for name, got := range wekaFigures(f) {
		all = append(all, figure{"total/" + name, got, 0})
	}
	compare(t, want, all)
	if d := f.Delays; d.Entries != 4_103+19_489 || d.Several != 12 || d.DelayNS.Nulls != 452+1_408 || d.DelayNS.Zeros != 17+2 || d.DelayNS.Sum.V/1e6 != 936_926_723+3_055_672_360 {
		t.Errorf("delays = %+v; want those of the files and the bundle", d)
	}
}

// Sessions without ids: times to the millisecond, lengths, no figure of reuse.
func TestAnalyzeSemiAnalysis(t *testing.T) {
	const file = "semianalysis/cc-traces-weka-no-subagents-051226_sessions_1-7_no_hash_ids.jsonl.zst"
	f := analysis(t, fixture.Shared(t, "data/"+file))
	want := expected(t, file)
	all := lengthFigures(f)[1:]
	compare(t, want, append(all, figure{"requests", f.Requests, 0}, figure{"records", f.Sessions.N, 0}))
	if api, err := want["sum_api_s"].(interface{ Float64() (float64, error) }).Float64(); err != nil || f.Recorded.E2ENS.Sum.V/1e6 != int64(api*1e3+0.5) {
		t.Errorf("recorded end-to-end times sum to %d ns; want %v s", f.Recorded.E2ENS.Sum.V, want["sum_api_s"])
	}
	if f.Reuse != nil || f.Recorded.TTFTNS.Nulls != 0 {
		t.Errorf("reuse = %+v, %d without a first token; want neither", f.Reuse, f.Recorded.TTFTNS.Nulls)
	}
}
