package scripts

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// A real trace on a server that forgets nothing: what the server finds in its cache is
// what the trace's rows share, counted here again, and so the schedule's hit ratio.
func TestServerHitsWhatTheTraceShares(t *testing.T) {
	const traceBlock, serverBlock = 512, 16 // tokens; a server finds whole blocks of its own
	dir := t.TempDir()
	sh := func(script string) string {
		t.Helper()
		code, stdout, stderr := status(t, dir, script)
		if code != 0 {
			t.Fatalf("status %d\n%s", code, stderr)
		}
		return stdout
	}

	seen := map[int64]bool{}
	var rows, input, shared, found int64
	for line := range strings.Lines(sh(`zstd -dc ` + archive)) {
		var r struct {
			Time  int64   `json:"timestamp"` // ms
			Input int64   `json:"input_length"`
			IDs   []int64 `json:"hash_ids"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Time >= 300_000 {
			break
		}
		n := 0
		for n < len(r.IDs) && seen[r.IDs[n]] {
			n++
		}
		for _, id := range r.IDs {
			seen[id] = true
		}
		prefix := min(int64(n)*traceBlock, r.Input)
		rows, input, shared, found = rows+1, input+r.Input, shared+prefix, found+prefix/serverBlock*serverBlock
	}

	var plan struct {
		End struct {
			HitTokens int64   `json:"hit_tokens"`
			Ratio     float64 `json:"token_hit_ratio"`
		}
	}
	if err := json.Unmarshal([]byte(sh(`tracegen mooncake `+archive+` --window 0s:5m --max-output 1 --quiet -o "$OUT/plan.sched.zst" && zstd -dc "$OUT/plan.sched.zst" | tail -n 1`)), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.End.HitTokens != shared || plan.End.Ratio != float64(shared)/float64(input) {
		t.Errorf("the schedule says %+v; want %d of %d tokens", plan.End, shared, input)
	}

	var summary struct {
		Scalars []struct {
			ID    string
			Value *float64
			N     int64
		}
	}
	if err := json.Unmarshal([]byte(sh(`replay "$OUT/plan.sched.zst" --sim null,cache=unbounded,block=16 --timing asap --concurrency 8 --workers 2 --calibrate off --quiet | reduce`)), &summary); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, s := range summary.Scalars {
		if s.Value != nil && s.N == rows {
			got[s.ID] = *s.Value
		}
	}
	if got["input_tokens_total"] != float64(input) || got["cached_tokens_total"] != float64(found) {
		t.Errorf("the server counted %.0f tokens and found %.0f; want %d and %d", got["input_tokens_total"], got["cached_tokens_total"], input, found)
	}
	// Each request may lose less than one block of the server.
	if lost := plan.End.Ratio - got["cache_reported"]; lost < 0 || math.IsNaN(lost) || lost*float64(input) >= float64(rows*serverBlock) || got["cache_reported"] == 0 {
		t.Errorf("the server's hit ratio is %v; want the schedule's %v", got["cache_reported"], plan.End.Ratio)
	}
}
