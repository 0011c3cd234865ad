package traces

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/fixture"
)

// Sessions of SemiAnalysis' corpus: times to the ms, no ids in this excerpt.
func TestWekaFineTimes(t *testing.T) {
	const rel = "semianalysis/cc-traces-weka-no-subagents-051226_sessions_1-7_no_hash_ids.jsonl.zst"
	var want struct {
		Records, Requests, Ties int
		SHA256                  string
		Input, Output           map[string]int64
		SumIn                   int64     `json:"sum_input"`
		SumOut                  int64     `json:"sum_output"`
		Blocks                  int64     `json:"sum_hash_blocks_upstream"`
		FirstT                  []float64 `json:"first_t"`
		Before                  int64     `json:"starts_before_previous_end"`
		Think                   int64     `json:"think_missing"`
		ThinkS                  float64   `json:"sum_think_s"`
		TTFT                    int64     `json:"ttft_missing"`
		APIS                    float64   `json:"sum_api_s"`
		SpanS                   float64   `json:"sum_span_s"`
	}
	wekaExpected(t, rel, &want)
	tr := load(t, Weka, "data/"+rel, Options{})
	if tr.Block != nil || tr.QuantumNS != 1e6 || tr.Sources[0].SHA256 != want.SHA256 {
		t.Errorf("block %v, quantum %d, sha256 %s", tr.Block, tr.QuantumNS, tr.Sources[0].SHA256)
	}
	reqs, end := plan(t, tr)
	if len(reqs) != want.Requests || int(end.Sessions) != want.Records || end.InputTokens != want.SumIn || end.OutputTokens != want.SumOut {
		t.Errorf("%d requests, %d sessions, %d in, %d out", len(reqs), end.Sessions, end.InputTokens, end.OutputTokens)
	}
	bySession := map[string][]*schedule.Request{}
	var in, out []int64
	var blocks, api, span, ties, ttft int64
	for _, r := range reqs {
		s := bySession[r.Session]
		if len(s) > 0 && s[len(s)-1].AtNS == r.AtNS {
			ties++
		}
		bySession[r.Session] = append(s, r)
		in, out = append(in, r.InputTokens.V), append(out, r.OutputTokens.V)
		blocks += (r.InputTokens.V + 63) / 64
		api += r.Recorded.E2ENS.V
		if !r.Recorded.TTFTNS.Valid {
			ttft++
		}
	}
	for name, list := range map[string][]int64{"input": in, "output": out} {
		slices.Sort(list)
		got := map[string]int64{"min": list[0], "max": list[len(list)-1], "zeros": 0}
		for _, p := range []int{50, 90, 99} {
			got["p"+strconv.Itoa(p)] = list[(p*len(list)+99)/100-1]
		}
		w := map[string]map[string]int64{"input": want.Input, "output": want.Output}[name]
		if fmt.Sprint(got) != fmt.Sprint(w) {
			t.Errorf("%s: %v; want %v", name, got, w)
		}
	}
	if blocks != want.Blocks || math.Abs(float64(api)/1e9-want.APIS) > 1e-6 || ttft != want.TTFT {
		t.Errorf("%d blocks, %d ns of service, %d without ttft", blocks, api, ttft)
	}
	for i, id := range sessionsInOrder(t, rel) {
		s := bySession[id]
		if first := float64(s[0].AtNS.V) / 1e9; first != want.FirstT[i] {
			t.Errorf("session %d starts at %v; want %v", i, first, want.FirstT[i])
		}
		span += s[len(s)-1].AtNS.V - s[0].AtNS.V
		after, _, null, _, sum := totalsOf(s)
		for name, got := range map[string][2]int64{
			"requests": {int64(len(s)), []int64{27, 102, 60, 306, 24, 37, 205}[i]}, "after": {after, []int64{26, 101, 59, 305, 23, 37, 204}[i]},
			"null": {null, 0}, "sum ms": {sum, []int64{245555, 4037245, 2581196, 674134789, 160276, 1286844, 669071632}[i]},
		} {
			if got[0] != got[1] {
				t.Errorf("session %d: %s = %d; want %d", i, name, got[0], got[1])
			}
		}
		turn := func(k int) string {
			line := fmt.Sprintf("at %d:", s[k].AtNS.V/1e6)
			for _, id := range s[k].After {
				line += fmt.Sprintf(" %d", reqs[id].Turn)
			}
			return line + fmt.Sprintf(" +%d", s[k].DelayNS.V/1e6)
		}
		switch i {
		case 4:
			if turn(22) != "at 290086: 21 +416" || turn(23) != "at 290086: 21 +416" {
				t.Errorf("equal starts: %q, %q", turn(22), turn(23))
			}
		case 5:
			if turn(1) != "at 7127: 0 +174" || turn(2) != "at 7127: 0 +174" || !strings.HasSuffix(turn(3), ": 1 2 +120431") {
				t.Errorf("equal starts: %q, %q, %q", turn(1), turn(2), turn(3))
			}
		}
	}
	var think, missing int64
	r, err := openFile(fixture.Shared(t, "data/"+rel))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parser, p, object := wekaParser{}, newPieces(r), wekaTrace{}
	for !p.done() {
		if parser.object(p, &object); p.err != nil {
			t.Fatal(p.err)
		}
		for i := range object.requests {
			if v := object.requests[i].think; v.Valid {
				think += v.V
			} else {
				missing++
			}
		}
	}
	if missing != want.Think || math.Abs(float64(think)/1e9-want.ThinkS) > 1e-6 {
		t.Errorf("%d requests without think_time, %d ns in the others", missing, think)
	}
	if int(ties) != want.Ties || math.Abs(float64(span)/1e9-want.SpanS) > 1e-6 {
		t.Errorf("%d ties, %d ns of sessions", ties, span)
	}
	if got := countOf(tr, "overlapping") + countOf(tr, "overlap_rounded"); got != want.Before {
		t.Errorf("%d start before the end of the one before; want %d", got, want.Before)
	}
}

func countOf(tr *Trace, name string) int64 {
	for _, c := range tr.Counts() {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

// sessionsInOrder returns the ids of a JSONL fixture.
func sessionsInOrder(t *testing.T, rel string) (ids []string) {
	t.Helper()
	r, err := openFile(fixture.Shared(t, "data/"+rel))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dec := json.NewDecoder(r)
	for dec.More() {
		var object struct{ ID string }
		if err := dec.Decode(&object); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, object.ID)
	}
	return ids
}
