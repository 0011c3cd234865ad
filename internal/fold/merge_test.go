package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// sharded are runs with the shards of one, under names, as they come from one process
// each: a session lies in one shard.
func sharded(t testing.TB, seed uint64, k, n int, inputs map[string][]byte) (runs []string) {
	t.Helper()
	for i, b := range shards(t, seed, k, n) {
		name := fmt.Sprintf("shard%d.arrows", i)
		inputs[name] = b
		runs = append(runs, name)
	}
	return runs
}

// Summaries without rows give the same bytes in any order and any grouping, alone and
// among runs and summaries with rows.
func TestSumsMergeInAnyOrder(t *testing.T) {
	set, err := slo.Parse("test", "ttft:p99<1s")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Build: "test", NoColumns: true}, {Build: "test", NoColumns: true, SLO: set}} {
		inputs := map[string][]byte{}
		runs := sharded(t, 51, 7, 900, inputs)
		var leaves, mixed []string
		for i, name := range runs {
			inputs["s"+name] = folded(t, o, []string{name}, inputs)
			leaves = append(leaves, "s"+name)
			inputs["r"+name] = folded(t, Options{Build: "test"}, []string{name}, inputs)
			mixed = append(mixed, []string{"s", "r", ""}[i%3]+name)
		}
		for _, names := range [][]string{leaves, mixed} {
			want := folded(t, Options{Build: "test"}, names, inputs)
			r := rand.New(rand.NewPCG(1, 3))
			for range 2 {
				r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				if got := folded(t, Options{Build: "test"}, names, inputs); !bytes.Equal(got, want) {
					t.Fatalf("the order %v shows: %s", names, firstDifference(string(want), string(got)))
				}
				inputs["ab"] = folded(t, Options{Build: "test"}, names[:2], inputs)
				inputs["cde"] = folded(t, Options{Build: "test"}, names[2:5], inputs)
				inputs["cdeab"] = folded(t, Options{Build: "test"}, []string{"cde", "ab"}, inputs)
				if got := folded(t, Options{Build: "test"}, []string{names[6], "cdeab", names[5]}, inputs); !bytes.Equal(got, want) {
					t.Fatalf("the grouping of %v shows: %s", names, firstDifference(string(want), string(got)))
				}
			}
		}
		var a, b summary.Summary // rows or not, the numbers are the same
		_ = json.Unmarshal(folded(t, Options{Build: "test"}, leaves, inputs), &a)
		_ = json.Unmarshal(folded(t, Options{Build: "test"}, mixed, inputs), &b)
		if len(o.SLO) == 0 && (!slices.EqualFunc(a.Metrics, b.Metrics, func(x, y summary.Metric) bool { return fmt.Sprint(jsonOf(x)) == fmt.Sprint(jsonOf(y)) }) || jsonOf(a.Scalars) != jsonOf(b.Scalars)) {
			t.Error("summaries without rows and those with rows give other numbers")
		}
	}
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Against the summary of the union over the same window: what is not null is equal to the
// last bit, and percentiles of sketches lie 0 to 0.1 % above.
func TestSumsAgainstTheUnion(t *testing.T) {
	for seed := range uint64(2) {
		rows := randomRows(60+seed, 4000)
		inputs := map[string][]byte{}
		all := testHeader()
		var names, bare []string
		for i := range 7 {
			var mine []run.Request
			for _, q := range rows {
				if int(q.RequestID)%7 == i {
					mine = append(mine, q)
				}
			}
			// All shards plan something at the same first and last instant: one window.
			name := fmt.Sprint("shard", i)
			inputs[name] = encode(t, all, mine, clientRows(seed+uint64(i), mine, 12), run.End{Detail: run.Detail{ScheduleSHA256: []string{"abc"}}}, 64)
			names = append(names, name)
		}
		w := &Span{FromNS: 10 * second, ToNS: some(130 * second), Wall: true}
		o := Options{Build: "test", NoColumns: true, Window: w}
		w.FromNS += all.Epoch.WallNS
		w.ToNS.V += all.Epoch.WallNS
		for _, name := range names {
			inputs["s"+name] = folded(t, o, []string{name}, inputs)
			bare = append(bare, "s"+name)
		}
		var want, got summary.Summary
		if err := json.Unmarshal(folded(t, o, names, inputs), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(folded(t, Options{Build: "test"}, bare, inputs), &got); err != nil {
			t.Fatal(err)
		}
		if got.Window.FromNS != want.Window.FromNS || got.Window.ToNS != want.Window.ToNS || got.Plan != want.Plan || jsonOf(got.Outcomes) != jsonOf(want.Outcomes) {
			t.Errorf("window, plan or outcomes: %+v %+v, want %+v %+v", got.Window, got.Plan, want.Window, want.Plan)
		}
		exact, sketched := 0, 0
		for i, x := range want.Metrics {
			y := got.Metrics[i]
			if x.N != y.N || x.Nulls != y.Nulls {
				if x.ID != "sessions_open" && x.ID != "fluidity" {
					t.Errorf("%s %s: n %d, %d nulls, want %d, %d", x.ID, x.Population, y.N, y.Nulls, x.N, x.Nulls)
				}
			}
			for _, v := range [][2]any{{x.Sum, y.Sum}, {x.Mean, y.Mean}, {x.Std, y.Std}, {x.Min, y.Min}, {x.Max, y.Max}} {
				if jsonOf(v[1]) == "null" {
					continue
				}
				if exact++; jsonOf(v[0]) != jsonOf(v[1]) {
					t.Errorf("%s %s: got %s, want %s", x.ID, x.Population, jsonOf(v[1]), jsonOf(v[0]))
				}
			}
			if x.Weighting == byRequest && x.N > 0 && x.ID != "fluidity" && jsonOf(y.Mean) != jsonOf(x.Mean) {
				t.Errorf("%s %s: the mean is null", x.ID, x.Population)
			}
			for k, p := range x.Percentiles {
				q := y.Percentiles[k]
				if p.Infinite != q.Infinite {
					t.Errorf("%s %s p%d: infinite %v, want %v", x.ID, x.Population, p.Level, q.Infinite, p.Infinite)
				}
				if !q.Value.Valid {
					if x.Weighting == byRequest && p.Value.Valid {
						t.Errorf("%s %s p%d: null, want %d", x.ID, x.Population, p.Level, p.Value.V)
					}
					continue
				}
				sketched++
				if d := float64(q.Value.V - p.Value.V); d < 0 || d > stats.WideError*math.Abs(float64(p.Value.V)) {
					t.Errorf("%s %s p%d: %d, want %d or at most 0.1 %% more", x.ID, x.Population, p.Level, q.Value.V, p.Value.V)
				}
				if q.Low.Valid && x.Weighting == byRequest || q.Reason == "" && q.Tau == nil && x.Weighting == byRequest {
					t.Errorf("%s %s p%d: an interval, or no reason why there is none", x.ID, x.Population, p.Level)
				}
			}
		}
		known := 0
		for i, x := range want.Scalars {
			y := got.Scalars[i]
			switch {
			case y.Value == nil && (y.Reason == "" || y.N != 0):
				t.Errorf("%s: null without a reason, or over %d", y.ID, y.N)
			case y.Value == nil:
				if x.Value != nil && slices.Contains(slices.Concat(addedUp, largest, ratios, perTime), x.ID) && x.ID != "turn_disorder" {
					t.Errorf("%s: null (%s), want %v", x.ID, y.Reason, *x.Value)
				}
			case x.Value == nil || *x.Value != *y.Value || x.N != y.N && !slices.Contains(largest, x.ID):
				t.Errorf("%s: %s over %d, want %s over %d", x.ID, jsonOf(y.Value), y.N, jsonOf(x.Value), x.N)
			default:
				known++
			}
		}
		if exact < 200 || sketched < 200 || known < 80 {
			t.Errorf("compared only %d exact figures, %d percentiles, %d scalars", exact, sketched, known)
		}
		for _, x := range want.Series {
			for _, y := range got.Series {
				if x.ID == y.ID && strings.HasPrefix(x.ID, "batch_") && jsonOf(x) != jsonOf(y) {
					t.Errorf("series %s: got %s, want %s", x.ID, jsonOf(y), jsonOf(x))
				}
			}
		}
	}
}

// What a merge adds is sealed: a part of it that is lost, renamed or changed would pass for
// a smaller count.
func TestSumsAreSealed(t *testing.T) {
	inputs := map[string][]byte{}
	names := sharded(t, 51, 2, 300, inputs)
	whole := folded(t, Options{Build: "test", NoColumns: true}, names[:1], inputs)
	other := folded(t, Options{Build: "test", NoColumns: true}, names[1:], inputs)
	if _, err := summary.Read(bytes.NewReader(whole), "whole"); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string]func(s *summary.Summary){
		"spread renamed":  func(s *summary.Summary) { s.Sums.Spreads[3].ID += "x" },
		"spread lost":     func(s *summary.Summary) { s.Sums.Spreads = s.Sums.Spreads[1:] },
		"tally changed":   func(s *summary.Summary) { s.Sums.Tallies[1].B = "0" },
		"counts lost":     func(s *summary.Summary) { s.Sums.Counts = s.Sums.Counts[1:] },
		"sketch renamed":  func(s *summary.Summary) { s.Sketches[0].ID += "x" },
		"outcome changed": func(s *summary.Summary) { s.Outcomes[0].N++; s.Outcomes[1].N-- },
		"series lost":     func(s *summary.Summary) { s.Series = s.Series[1:] },
		"not sealed":      func(s *summary.Summary) { s.Sums.CRC32C = 0 },
	} {
		s, err := summary.Read(bytes.NewReader(whole), "whole")
		if err != nil {
			t.Fatal(err)
		}
		edit(s)
		var b bytes.Buffer
		if err := summary.Write(&b, s); err != nil {
			t.Fatal(err)
		}
		var syntax *formats.SyntaxError
		if _, err := summary.Read(&b, "edited"); !errors.As(err, &syntax) {
			t.Errorf("%s: %v, want a syntax error", what, err)
		}
	}
	// Columns that were asked for cannot be made of it.
	_, err := Run(t.Context(), []Input{{Name: "a", R: bytes.NewReader(whole)}, {Name: "b", R: bytes.NewReader(other)}}, Options{Build: "test", MaxColumns: summary.MaxRows})
	if err == nil || !strings.Contains(err.Error(), "without rows") {
		t.Errorf("columns asked for: %v, want an error", err)
	}
	// One that is sealed again names what nobody knows.
	s, err := summary.Read(bytes.NewReader(whole), "whole")
	if err != nil {
		t.Fatal(err)
	}
	s.Sums.Spreads[3].ID = "zzz"
	s.Seal()
	var b bytes.Buffer
	if err := summary.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	var syntax *formats.SyntaxError
	_, err = Run(t.Context(), []Input{{Name: "a", R: &b}, {Name: "b", R: bytes.NewReader(other)}}, Options{Build: "test"})
	if !errors.As(err, &syntax) {
		t.Errorf("an unknown id: %v, want a syntax error", err)
	}
}
