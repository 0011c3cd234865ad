package traces

import (
	"fmt"
	"testing"

	"hydrant/formats/schedule"

	"github.com/google/go-cmp/cmp"
)

// figures are counts over the block ids and times of a trace, made here in a plain way
// that shares nothing with the package.
type figures struct {
	Runs, Ceil, Exact            int64 // runs in add; rows with ceil(n/512) ids; with full blocks only
	Partial, PartialShared       int64 // ids that stand for less than a block; of these on several rows
	Cached, FirstCached          int64 // rows all of whose ids were seen; line of the first
	Exceed, FirstExceed          int64 // rows whose shared prefix × 512 exceeds their length; line of the first
	Instants, MostAtOne, At      int64 // distinct times, most rows at one, that time in ms
	Steps3000, Steps2999, Steps3 int64 // steps between instants of 3000, 2999 and 3001 ms
	Largest                      int64 // input + output
}

func figure(t *testing.T, rel string) (f figures) {
	reqs, _ := plan(t, load(t, Mooncake, rel, Options{}))
	seen := map[int64]bool{}
	uses := map[int64]int{}
	for _, r := range reqs {
		for _, run := range r.Blocks.Add {
			for j := range run[1] {
				uses[run[0]+j]++
			}
		}
	}
	rows := map[int64]int{} // partial id → rows that have it
	atOne := map[int64]int64{}
	before := int64(-1)
	for i, r := range reqs {
		line := int64(i + 1)
		var ids []int64
		for _, run := range r.Blocks.Add {
			f.Runs++
			for j := range run[1] {
				ids = append(ids, run[0]+j)
			}
		}
		n, m := r.InputTokens.V, int64(len(ids))
		if m == (n+511)/512 {
			f.Ceil++
		}
		if m*512 == n {
			f.Exact++
		} else {
			rows[ids[m-1]]++
		}
		hit := int64(0)
		for hit < m && seen[ids[hit]] {
			hit++
		}
		for _, id := range ids {
			seen[id] = true
		}
		if hit == m {
			if f.Cached++; f.Cached == 1 {
				f.FirstCached = line
			}
		}
		shared := int64(0) // leading ids that occur twice in the trace
		for shared < m && uses[ids[shared]] > 1 {
			shared++
		}
		if shared*512 > n {
			if f.Exceed++; f.Exceed == 1 {
				f.FirstExceed = line
			}
		}
		ms := r.AtNS.V / 1_000_000
		if atOne[ms]++; atOne[ms] > f.MostAtOne {
			f.MostAtOne, f.At = atOne[ms], ms
		}
		if before >= 0 && ms != before {
			switch ms - before {
			case 3000:
				f.Steps3000++
			case 2999:
				f.Steps2999++
			case 3001:
				f.Steps3++
			}
		}
		before = ms
		f.Largest = max(f.Largest, n+r.OutputTokens.V)
	}
	f.Instants = int64(len(atOne))
	f.Partial = int64(len(rows))
	for _, n := range rows {
		if n > 1 {
			f.PartialShared++
		}
	}
	return f
}

func TestMooncakeFigures(t *testing.T) {
	for _, tt := range []struct {
		rel  string
		want figures
	}{
		{"data/mooncake/conversation_lines_1-6011.jsonl.zst", figures{
			Runs: 15_658, Ceil: 6_011, Exact: 13, Partial: 5_953, PartialShared: 34, Cached: 45, FirstCached: 262, Exceed: 79, FirstExceed: 41,
			Instants: 627, MostAtOne: 23, At: 1_371_000, Steps3000: 354, Steps2999: 136, Steps3: 136, Largest: 124_741}},
		{"data/mooncake/synthetic_trace.jsonl.zst", figures{
			Runs: 5_727, Ceil: 3_993, Exact: 4, Partial: 3_776, PartialShared: 194, Cached: 213, FirstCached: 75, Exceed: 407, FirstExceed: 16,
			Instants: 3_982, MostAtOne: 2, Largest: 191_386}},
	} {
		got := figure(t, tt.rel)
		if tt.want.At == 0 {
			got.At, got.Steps3000, got.Steps2999, got.Steps3 = 0, 0, 0, 0
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", tt.rel, d)
		}
	}
}

func TestMooncakeLines(t *testing.T) {
	tr := load(t, Mooncake, "data/mooncake/conversation_lines_1-6011.jsonl.zst", Options{})
	reqs, _ := plan(t, tr)
	for i, want := range [][]schedule.Run{{{0, 14}}, {{0, 1}, {14, 14}}, {{0, 1}, {28, 14}}} {
		r := reqs[i]
		if r.AtNS != some(0) || !cmp.Equal(r.Blocks.Add, want) || r.Session != fmt.Sprint("r", i+1) || !r.Last || r.Context != schedule.Whole {
			t.Errorf("line %d = %+v, ids %v; want ids %v at 0 in a session of its own", i+1, r, r.Blocks.Add, want)
		}
	}
	if at := reqs[6010].AtNS; at != some(1_878_000_000_000) {
		t.Errorf("last line at %v; want 1878 s", at)
	}
	r := reqs[261]
	if r.InputTokens != some(1902) || !cmp.Equal(r.Blocks.Add, []schedule.Run{{0, 1}, {975, 3}}) {
		t.Errorf("line 262 = %+v with ids %v; want 1,902 tokens in ids 0, 975 to 977", r, r.Blocks.Add)
	}
	var c schedule.Cache
	for _, q := range reqs[:261] {
		c.Add(q, tr.Block)
	}
	if blocks, tokens := c.Add(r, tr.Block); blocks != 4 || tokens != 1902 {
		t.Errorf("line 262 hits %d blocks and %d tokens; want 4 and 1,902", blocks, tokens)
	}
}

func TestAIPerfSample(t *testing.T) {
	const name = "mooncake/aiperf_multiturn_delay_sample.jsonl"
	want := expect(t, name)
	tr := load(t, Mooncake, "data/"+name, Options{})
	reqs, end := plan(t, tr)
	byTurn := map[int64]*schedule.Request{}
	var delays, untimed, notCeil int64
	for _, r := range reqs {
		delays += r.DelayNS.V
		if !r.AtNS.Valid {
			untimed++
		}
		if r.Session == "sess-ff14c6c4aab3" {
			byTurn[r.Turn] = r
			if r.Context != schedule.Delta {
				t.Errorf("turn %d: context %s; want delta", r.Turn, r.Context)
			}
		} else if r.Session != "sess-d298eacdfb24" || r.Context != schedule.Whole || r.AtNS != some(0) {
			t.Errorf("the other session: %+v", r)
		}
		ids := int64(0)
		for _, run := range r.Blocks.Add {
			ids += run[1]
		}
		if ids != (r.InputTokens.V+511)/512 {
			notCeil++
		}
	}
	for _, q := range []struct {
		what      string
		got, want int64
	}{
		{"records", end.Requests, want.Records}, {"sessions", end.Sessions, want.Sessions}, {"output", end.OutputTokens, want.SumOutput},
		{"input as listed", end.InputTokens, want.SumListed}, {"delays, us", delays / 1000, int64(want.SumDelay * 1000)}, {"delays", delays, 45_696_000_000},
		{"without a time", untimed, want.NoTime}, {"not ceil", notCeil, int64(len(want.NotCeil))}, {"bytes", tr.Sources[0].Bytes, want.Bytes},
		{"blocks", end.Blocks, 253}, {"hit blocks", end.HitBlocks, 63}, {"hit tokens", end.HitTokens, 32_256}, {"input", end.InputTokens, 127_457},
		{"distinct", end.DistinctBlocks, 190}, {"group_id", count(end, "unknown_key:group_id"), 2}, {"delta sessions", count(end, "sessions_delta"), 1},
	} {
		if q.got != q.want {
			t.Errorf("%s = %d; want %d", q.what, q.got, q.want)
		}
	}
	if tr.Sources[0].SHA256 != want.SHA256 {
		t.Errorf("sha256 = %s; want %s", tr.Sources[0].SHA256, want.SHA256)
	}
	two, three := byTurn[1], byTurn[2]
	if two.AtNS.Valid || !cmp.Equal(two.After, []int64{byTurn[0].ID}) || two.DelayNS != some(614_000_000) ||
		!cmp.Equal(two.Blocks.Add, []schedule.Run{{208067, 2}}) || two.InputTokens.V-512 != 66 {
		t.Errorf("row 2 = %+v with ids %v", two, two.Blocks.Add)
	}
	if three.DelayNS != some(6_573_600_000) || !cmp.Equal(three.After, []int64{two.ID}) {
		t.Errorf("row 3 = %+v", three)
	}
	if len(tr.Warnings) != 1 {
		t.Errorf("warnings = %q; want one on group_id", tr.Warnings)
	}
	last := reqs[len(reqs)-1]
	if last.Turn != 6 || !last.Last {
		t.Errorf("last line = %+v; want the seventh turn, marked last", last)
	}
}
