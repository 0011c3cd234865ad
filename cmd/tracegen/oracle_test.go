package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

const conversation = "data/mooncake/conversation_lines_1-6011.jsonl.zst"

// lines decompresses a schedule.
func lines(t testing.TB, packed []byte) []byte {
	t.Helper()
	b, err := codec.Unzstd(packed, 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// requests reads a schedule with its block ids in full.
func requests(t testing.TB, packed []byte) (reqs []*schedule.Request, end schedule.Trailer) {
	t.Helper()
	r, err := schedule.NewReader(bytes.NewReader(lines(t, packed)), "schedule")
	if err != nil {
		t.Fatal(err)
	}
	var chains schedule.Chains
	for {
		q, err := r.Next()
		if err == io.EOF {
			return reqs, r.Trailers()[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		runs, err := chains.IDs(q)
		if err != nil {
			t.Fatal(err)
		}
		q = q.Clone()
		if q.Blocks != nil {
			q.Blocks.Keep, q.Blocks.Add = 0, slices.Clone(runs)
		}
		reqs = append(reqs, q)
	}
}

func count(end schedule.Trailer, name string) int64 {
	for _, c := range end.Counts {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

func TestWindowOracles(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	for _, tt := range []struct {
		window                            string
		requests, input, hits, blocks, in int64 // 0: not asserted; in: dropped
	}{
		{"0s:3s", 10, 0, 0, 0, 6001},
		{":3s", 10, 0, 0, 0, 6001},
		{":3001ms", 26, 0, 0, 0, 5985},
		{"600s:1200s", 1908, 24_542_096, 12_204, 48_824, 4103},
		{"10m:20m", 1908, 24_542_096, 12_204, 48_824, 4103},
		{":10m", 1750, 24_486_514, 13_821, 48_671, 4261},
	} {
		reqs, end := requests(t, made(t, "mooncake", trace, "--window", tt.window))
		if end.Requests != tt.requests || tt.input > 0 && (end.InputTokens != tt.input || end.HitBlocks != tt.hits || end.Blocks != tt.blocks) ||
			count(end, "window_dropped") != tt.in {
			t.Errorf("--window %s: %+v; want %+v", tt.window, end, tt)
		}
		if tt.window == "600s:1200s" && (reqs[0].AtNS.V < 600e9 || reqs[0].ID != 0 || reqs[1907].AtNS.V >= 1200e9) {
			t.Errorf("--window %s: times were shifted: %d to %d", tt.window, reqs[0].AtNS.V, reqs[1907].AtNS.V)
		}
	}
	zero, _ := requests(t, made(t, "mooncake", trace, "--window", "600s:1200s", "--zero", "first"))
	kept, _ := requests(t, made(t, "mooncake", trace, "--window", "600s:1200s"))
	for i := range zero {
		if zero[i].AtNS.V != kept[i].AtNS.V-kept[0].AtNS.V {
			t.Fatalf("--zero first: request %d at %d; want %d", i, zero[i].AtNS.V, kept[i].AtNS.V-kept[0].AtNS.V)
		}
	}
}

// Windows that touch take the trace apart without a gap or an overlap.
func TestWindowsPartition(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	all, _ := requests(t, made(t, "mooncake", trace))
	var parts []*schedule.Request
	for _, w := range []string{":3s", "3s:600s", "600s:1371s", "1371s:"} {
		reqs, _ := requests(t, made(t, "mooncake", trace, "--window", w))
		parts = append(parts, reqs...)
	}
	if len(parts) != len(all) {
		t.Fatalf("%d requests in all windows; want %d", len(parts), len(all))
	}
	for i, p := range parts {
		p.ID = int64(i)
		if got, want := schedule.AppendRequest(nil, p), schedule.AppendRequest(nil, all[i]); !bytes.Equal(got, want) {
			t.Fatalf("request %d of the windows\n%s\nwant\n%s", i, got, want)
		}
	}
}

func TestSpeedOracles(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	plain := made(t, "mooncake", trace)
	for speed, last := range map[string]int64{"2": 939_000_000_000, "3": 626_000_000_000, "1.5": 1_252_000_000_000} {
		reqs, end := requests(t, made(t, "mooncake", trace, "--speed", speed))
		if n := len(reqs); n != 6011 || reqs[n-1].AtNS.V != last || end.SpanNS != last || end.HitBlocks != 52_857 {
			t.Errorf("--speed %s: %d requests, last at %d; want 6,011 and %d", speed, n, reqs[n-1].AtNS.V, last)
		}
	}
	for _, args := range [][]string{{"--speed", "1"}, {"--speed", "1.000"}, {"--zero", "trace"}} {
		if !bytes.Equal(made(t, append([]string{"mooncake", trace}, args...)...), plain) {
			t.Errorf("%v changes bytes", args)
		}
	}
	// floor(x / 3), not the nearest: 1,000,000 ns and 2,000,000 ns.
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(`{"timestamp":1,"input_length":1}`+"\n"+`{"timestamp":2,"input_length":1}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	reqs, _ := requests(t, made(t, "mooncake", path, "--speed", "3"))
	if reqs[0].AtNS.V != 333_333 || reqs[1].AtNS.V != 666_666 {
		t.Errorf("--speed 3: %d and %d; want 333,333 and 666,666", reqs[0].AtNS.V, reqs[1].AtNS.V)
	}
}

// The order of the flags does not matter, and the two commands transform alike: window,
// then speed, whichever tool does it.
func TestTransformsCompose(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	dir := t.TempDir()
	one := made(t, "mooncake", trace, "--speed", "2", "--window", "600s:1200s")
	if two := made(t, "mooncake", "--window", "10m:20m", trace, "--speed", "2.0"); !bytes.Equal(one, two) {
		t.Error("flags in another order give other bytes")
	}
	whole := filepath.Join(dir, "whole.sched.zst")
	made(t, "mooncake", trace, "-o", whole)
	three := made(t, "schedule", whole, "--window", "600s:1200s", "--speed", "2")
	strip := func(packed []byte) []byte { // the header and trailer name the commands
		b := lines(t, packed)
		return b[bytes.IndexByte(b, '\n')+1 : bytes.LastIndex(b, []byte(`{"end":`))]
	}
	if !bytes.Equal(strip(one), strip(three)) {
		t.Error("schedule gives other lines than mooncake with the same transforms")
	}
	r, err := schedule.NewReader(bytes.NewReader(lines(t, three)), "three")
	if err != nil {
		t.Fatal(err)
	}
	if ts := r.Header().Transforms; len(ts) != 2 || ts[0].Name != "window" || ts[0].Params["from_ns"] != "600000000000" || ts[1].Params["factor"] != "2" {
		t.Errorf("transforms in the header = %+v", ts)
	}
}

// A session of deltas is kept or dropped by its first line; one of whole prompts line
// by line, with its keep/add written again.
func TestWindowOfSessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	trace := `{"session_id":"d","timestamp":1000,"input_length":512,"hash_ids":[100]}
{"session_id":"w","timestamp":1000,"input_length":512,"hash_ids":[1]}
{"session_id":"w","timestamp":5000,"input_length":1024,"hash_ids":[1,2]}
{"session_id":"d","delay":9000,"input_length":512,"hash_ids":[101]}
{"session_id":"w","delay":1000,"input_length":1536,"hash_ids":[1,2,3]}
{"session_id":"e","timestamp":6000,"input_length":512,"hash_ids":[200]}
{"session_id":"e","delay":9000,"input_length":512,"hash_ids":[201]}
{"session_id":"v","timestamp":1000,"input_length":512,"hash_ids":[1]}
{"session_id":"v","delay":1000,"input_length":1024,"hash_ids":[1,7]}
`
	if err := os.WriteFile(path, []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	reqs, end := requests(t, made(t, "mooncake", path, "--window", "4s:"))
	var got []string
	for _, r := range reqs {
		got = append(got, string(schedule.AppendRequest(nil, r)))
	}
	want := []string{
		`{"id":0,"at_ns":5000000000,"session":"w","stream":"0","turn":1,"context":"whole","input_tokens":1024,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,2]]}}`,
		`{"id":1,"after":[0],"delay_ns":1000000000,"session":"w","stream":"0","turn":2,"last":true,"context":"whole","input_tokens":1536,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,3]]}}`,
		`{"id":2,"at_ns":6000000000,"session":"e","stream":"0","turn":0,"context":"delta","input_tokens":512,"blocks":{"scope":"mooncake/t","keep":0,"add":[[200,1]]}}`,
		`{"id":3,"after":[2],"delay_ns":9000000000,"session":"e","stream":"0","turn":1,"last":true,"context":"delta","input_tokens":512,"blocks":{"scope":"mooncake/t","keep":0,"add":[[201,1]]}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", got, want)
	}
	if count(end, "window_dropped") != 5 || count(end, "window_sessions_cut") != 1 || count(end, "after_dropped") != 1 || end.Sessions != 2 {
		t.Errorf("trailer = %+v; want 5 dropped, 1 session cut, 1 wait dropped", end)
	}
	kept := bytes.Count(lines(t, made(t, "mooncake", path, "--window", "4s:")), []byte(`"keep":2`))
	if kept != 1 {
		t.Errorf("%d lines keep 2 ids; want the second line of session w", kept)
	}
}

func TestLengthOracles(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	_, end := requests(t, made(t, "mooncake", trace, "--max-input", "32768"))
	if end.InputTokens != 65_083_663 || count(end, "max_input_cut") != 456 || end.Requests != 6011 {
		t.Errorf("--max-input 32768: %+v; want 456 cut, 65,083,663 tokens", end)
	}
	_, end = requests(t, made(t, "mooncake", trace, "--max-output", "512"))
	if end.OutputTokens != 1_871_290 || count(end, "max_output_cut") != 1202 {
		t.Errorf("--max-output 512: %+v; want 1,202 cut, 1,871,290 tokens", end)
	}
	// The largest input and output together have 124,741 tokens.
	whole, _ := requests(t, made(t, "mooncake", trace, "--max-context", "124741"))
	less, end := requests(t, made(t, "mooncake", trace, "--max-context", "124740"))
	if len(whole) != 6011 || len(less) != 6010 || count(end, "max_context_dropped") != 1 || count(end, "max_context_sessions") != 1 {
		t.Errorf("--max-context: %d and %d requests left, %+v; want all, and all but one", len(whole), len(less), end.Counts)
	}
}

func TestCloneOracles(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	for _, tt := range []struct {
		args                   []string
		blocks, hits, sessions int64
	}{
		{[]string{"--clone", "2"}, 305_652, 105_714, 12_022},
		{[]string{"--clone", "2", "--clone-share"}, 305_652, 205_683, 12_022},
		{[]string{"--clone", "1"}, 152_826, 52_857, 6011},
	} {
		_, end := requests(t, made(t, append([]string{"mooncake", trace}, tt.args...)...))
		if end.Blocks != tt.blocks || end.HitBlocks != tt.hits || end.Sessions != tt.sessions {
			t.Errorf("%v: %d blocks, %d hits, %d sessions; want %+v", tt.args, end.Blocks, end.HitBlocks, end.Sessions, tt)
		}
	}
}

// The instants of the conversation trace are 3 s apart, and each request moves by less
// than that: no two instants mix, and hits stay what they were.
func TestSpreadOfConversation(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	reqs, end := requests(t, made(t, "mooncake", trace, "--spread"))
	if end.HitBlocks != 52_857 || len(reqs) != 6011 || count(end, "spread_moved") != 6011 {
		t.Errorf("--spread: %+v; want 52,857 hit blocks of 6,011 moved requests", end)
	}
	instants := map[int64]int64{}
	for _, r := range reqs {
		instants[r.AtNS.V]++
	}
	if len(instants) != 6011 {
		t.Errorf("%d instants; want 6,011", len(instants))
	}
}

// Re-timing keeps count, span and everything else of a line.
func TestArrivalsOfConversation(t *testing.T) {
	trace := fixture.Shared(t, conversation)
	plain, _ := requests(t, made(t, "mooncake", trace))
	for _, args := range [][]string{{"--arrivals", "constant"}, {"--arrivals", "poisson"}, {"--arrivals", "gamma:0.5", "--seed", "7"}} {
		reqs, end := requests(t, made(t, append([]string{"mooncake", trace}, args...)...))
		if end.SpanNS != 1_878_000_000_000 || end.HitBlocks != 52_857 {
			t.Errorf("%v: %+v; want a span of 1,878 s and 52,857 hits", args, end)
		}
		for i, r := range reqs {
			if r.AtNS = plain[i].AtNS; !bytes.Equal(schedule.AppendRequest(nil, r), schedule.AppendRequest(nil, plain[i])) {
				t.Fatalf("%v: request %d differs in more than its time", args, i)
			}
		}
	}
	reqs, _ := requests(t, made(t, "mooncake", trace, "--arrivals", "constant", "--rate", "10"))
	if reqs[6010].AtNS.V != 601_000_000_000 || reqs[10].AtNS.V != 1_000_000_000 {
		t.Errorf("--rate 10: request 10 at %d, the last at %d; want 1 s and 601 s", reqs[10].AtNS.V, reqs[6010].AtNS.V)
	}
}

func TestCapOracles(t *testing.T) {
	azure := fixture.Shared(t, "data/azure/AzureLLMInferenceTrace_code.csv.zst")
	for _, tt := range []struct {
		most       string
		cuts, last int64
	}{{"10s", 45, 1_508_503_092_000}, {"30s", 25, 2_185_921_856_000}} {
		_, end := requests(t, made(t, "azure", azure, "--gap-cap", tt.most))
		if count(end, "gap_cap_cuts") != tt.cuts || end.SpanNS != tt.last || end.Requests != 8819 {
			t.Errorf("--gap-cap %s: %+v; want %d cuts, the last at %d", tt.most, end, tt.cuts, tt.last)
		}
	}
	for _, tt := range []struct {
		trace             string
		cuts, last, waits int64 // ms
	}{
		{"0003", 88, 13_680_900, 9_278_620}, {"0004", 56, 6_604_830, 5_214_250}, {"0277", 3, 809_240, 564_995}, {"0295", 48, 11_699_592, 8_050_341},
	} {
		path := fixture.Shared(t, "data/weka/trace_"+tt.trace+".json.zst")
		reqs, end := requests(t, made(t, "weka", path, "--think-cap", "60s"))
		var last, waits int64
		for _, r := range reqs {
			last, waits = max(last, r.AtNS.V), waits+r.DelayNS.V
		}
		if count(end, "think_cap_cuts") != tt.cuts || last != tt.last*1e6 || waits != tt.waits*1e6 {
			t.Errorf("--think-cap 60s of %s: %d cuts, last %d, waits %d; want %+v", tt.trace, count(end, "think_cap_cuts"), last, waits, tt)
		}
	}
}
