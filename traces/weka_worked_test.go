package traces

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/fixture"
)

// totalsOf counts what requests wait for.
func totalsOf(reqs []*schedule.Request) (after, several, null, zero, sum int64) {
	for _, r := range reqs {
		after += int64(len(r.After))
		switch {
		case len(r.After) == 0:
			continue
		case len(r.After) > 1:
			several++
		}
		switch {
		case !r.DelayNS.Valid:
			null++
		case r.DelayNS.V == 0:
			zero++
		}
		sum += r.DelayNS.V
	}
	return after, several, null, zero, sum / 1e6
}

// added encodes the ids of requests and returns how many are listed, how many of them
// are added to the prompt before, and in how many runs.
func added(reqs []*schedule.Request) (ids, add, runs int64) {
	var chains schedule.Chains
	for _, r := range reqs {
		if r.Blocks == nil {
			chains.Encode(r, "", nil)
			continue
		}
		keep, rest := chains.Encode(r, r.Blocks.Scope, slices.Clone(r.Blocks.Add))
		ids += keep
		for _, run := range rest {
			ids += run[1]
			add += run[1]
		}
		runs += int64(len(rest))
	}
	return ids, add, runs
}

func TestWekaDependencies(t *testing.T) {
	var all [9]int64
	check := func(name string, got, want []int64) {
		t.Helper()
		if !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: requests, after, several, null, zero, sum ms, ids, added, runs = %v; want %v", name, got, want)
		}
	}
	want := map[string][]int64{
		"trace_0003": {409, 408, 0, 0, 0, 39434720, 749712, 37635, 413},
		"trace_0010": {172, 173, 1, 0, 0, 29434942},
		"trace_0277": {53, 54, 1, 0, 0, 573755, 40230, 5567, 56},
		"trace_0295": {416, 416, 1, 0, 0, 18773749, 565303, 25720, 435},
		"trace_0300": {140, 143, 4, 115, 0, 5761570, 205148, 5476, 148},
		"trace_0310": {154, 153, 0, 33, 0, 7777370},
	}
	totals := func(reqs []*schedule.Request) []int64 {
		after, several, null, zero, sum := totalsOf(reqs)
		ids, add, runs := added(reqs)
		return []int64{int64(len(reqs)), after, several, null, zero, sum, ids, add, runs}
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(fixture.Shared(t, "data/"+wekaBundle)), "trace_*.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		reqs, _ := plan(t, load(t, Weka, "data/weka/"+filepath.Base(path), Options{}))
		got := totals(reqs)
		for i, n := range got {
			all[i] += n
		}
		if w := want[stem(filepath.Base(path))]; w != nil {
			check(filepath.Base(path), got, w)
		}
	}
	check("48 files", all[:], []int64{4136, 4103, 12, 452, 17, 936926723, 7166615, 320411, 4201})
	reqs, end := plan(t, load(t, Weka, "data/"+wekaBundle, Options{}))
	check("bundle", totals(reqs), []int64{19799, 19489, 0, 1408, 2, 3055672360, 40662545, 1409296, 19837})
	if end.Sessions != 310 || end.HitBlocks != 39263913 || end.DistinctBlocks != 1398632 {
		t.Errorf("bundle: %d sessions, %d hits, %d ids", end.Sessions, end.HitBlocks, end.DistinctBlocks)
	}
	for i := range reqs[1:] {
		if reqs[i].AtNS.V > reqs[i+1].AtNS.V {
			t.Fatalf("bundle: request %d at %d, then %d", i, reqs[i].AtNS.V, reqs[i+1].AtNS.V)
		}
	}
}

// Requests that take some thought: what they wait for, when, and how long after.
func TestWekaWorked(t *testing.T) {
	// A request is named by its stream and turn. Turns of the parent count without the
	// subagents that stand in its list.
	for trace, rows := range map[string][]string{
		"0003": {"agent_001/0: 0/0 at 8.212 +0.942", "0/1: agent_001/9 at 153 +22.508"},
		"0010": {"0/9: agent_002/%d agent_003/%d agent_004/%d at 772 +14.645"},
		"0277": {"0/1: agent_001/%d agent_002/%d agent_003/%d at 228 +20.466"},
		"0295": {"0/65: 0/64 at 8799 +16.05", "agent_005/0: 0/65 at 8818.228 +0.158", "0/66: 0/65 at 8826 +7.93"},
		"0004": {"agent_001/0: 0/181 at 440149.292 +143028.572", "agent_002/0: 0/181 at 440149.292 +143028.572"},
		"0300": {"0/2: 0/1 at 2759 +2658.84", "0/3: 0/1 at 2762 +2661.84", "0/4: 0/2 0/3 at 2770 +1.01",
			"0/8: 0/5 0/7 at 2801 +3.2", "0/9: 0/5 0/7 at 2812 +14.2", "0/10: 0/8 0/9 at 2825 +11"},
		"0310": {"0/1: 0/0 at 1080 +1064.6", "0/2: 0/1 at 1129 –"},
		"0338": {"0/56: 0/55 at 2922 +1.36", "0/57: 0/55 at 2929 +8.36", "0/58: 0/56 0/57 at 2942 +8.68"},
	} {
		t.Run(trace, func(t *testing.T) {
			reqs, _ := plan(t, load(t, Weka, "data/weka/trace_"+trace+".json.zst", Options{}))
			turns := map[string]int64{} // of the last of each stream
			lines := map[string]string{}
			for _, r := range reqs {
				turns[r.Stream] = r.Turn
			}
			for _, r := range reqs {
				line := fmt.Sprintf("%s/%d:", r.Stream, r.Turn)
				for _, id := range r.After {
					line += fmt.Sprintf(" %s/%d", reqs[id].Stream, reqs[id].Turn)
				}
				line += " at " + strconv.FormatFloat(float64(r.AtNS.V)/1e9, 'f', -1, 64)
				if r.DelayNS.Valid {
					line += " +" + strconv.FormatFloat(float64(r.DelayNS.V)/1e9, 'f', -1, 64)
				} else {
					line += " –"
				}
				lines[line[:strings.Index(line, ":")]] = line
			}
			for _, want := range rows {
				for strings.Contains(want, "%d") { // the last turn of a subagent
					at := strings.Index(want, "%d")
					from := strings.LastIndex(want[:at], " ") + 1
					want = want[:at] + strconv.FormatInt(turns[want[from:at-1]], 10) + want[at+2:]
				}
				// Predecessors stand in order of their ids.
				if got := lines[want[:strings.Index(want, ":")]]; sortedWords(got) != sortedWords(want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

// Delays as the traces say them, for comparison with other tools: 1,113 and 1,122 s
// for requests that follow after 49 and 9 s.
func TestWekaRecordedThink(t *testing.T) {
	tr := load(t, Weka, "data/weka/trace_0310.json.zst", Options{Think: RecordedThink})
	reqs, _ := plan(t, tr)
	if reqs[0].DelayNS.Valid || reqs[2].DelayNS.V != 1113e9 || reqs[3].DelayNS.V != 1122e9 || countOf(tr, "think_time_used") != 153 {
		t.Errorf("delays %v, %v, %v, %d of them recorded", reqs[0].DelayNS, reqs[2].DelayNS, reqs[3].DelayNS, countOf(tr, "think_time_used"))
	}
	if tr, _ := readWeka(t, wekaJSON("x", call("0", "1")+","+call("5", "1")), Options{Think: RecordedThink}); tr.Undecided != "think" {
		t.Errorf("a trace without think times: undecided %q", tr.Undecided)
	}
}

func sortedWords(s string) string {
	words := strings.Fields(s)
	slices.Sort(words)
	return strings.Join(words, " ")
}
