package main

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"hydrant/cmd/judge/internal/rule"
	rows "hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/fold"
	"hydrant/internal/slo"
)

// verdictOf judges a made-up run by objectives, from a summary made with the same.
func verdictOf(t *testing.T, p plan, texts ...string) (*summary.Summary, *verdict.Verdict) {
	t.Helper()
	var run bytes.Buffer
	if err := p.write(&run); err != nil {
		t.Fatal(err)
	}
	set, err := slo.Args(texts, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := fold.Run(ctx(), []fold.Input{{Name: "run", R: &run}}, fold.Options{SLO: set})
	if err != nil {
		t.Fatal(err)
	}
	in := rule.Input{Place: "run", Summary: s, Set: set}
	if in.Columns, err = summary.DecodeColumns(s.Columns, "run"); err != nil {
		t.Fatal(err)
	}
	v, err := rule.Judge(in)
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// What reduce prints as goodput and what the judge says of the same objectives are one
// number, whatever the rows.
func TestGoodputIsThatOfReduce(t *testing.T) {
	p := plan{n: 2000, gap: 20 * time.Millisecond, ttft: 100 * time.Millisecond, slow: 7, fail: 40, bundle: 3, status: rows.Complete}
	for _, texts := range [][]string{{"ttft:p90<500ms"}, {"good(ttft<500ms,tpot<60ms):p90", "icl_max:p99<19ms"}, {"ttft:p50<99ms+10us*in", "goodput>=40"},
		{"tpot:p90<20ms"}, {"tpot:p90<19ms"}, {"error_rate<5%"}, {"out_tps>=100", "goodput>=90%"}, {"ttft/wire:p90<1s"}} {
		s, v := verdictOf(t, p, texts...)
		value := func(id string) float64 {
			i := slices.IndexFunc(s.Scalars, func(x summary.Scalar) bool { return x.ID == id })
			if s.Scalars[i].Value == nil {
				t.Fatalf("%v: %s is null: %s", texts, id, s.Scalars[i].Reason)
			}
			return *s.Scalars[i].Value
		}
		if g := v.Goodput; g == nil || *g.Attainment != value("attainment") || *g.Rate != value("goodput_rps") {
			t.Errorf("%v: the judge says %+v, reduce %v and %v/s", texts, g, value("attainment"), value("goodput_rps"))
		}
	}
}

// An answer whose first chunk holds all its tokens has no time per output token, however
// many events followed: the fold leaves it out of tpot, and so does the judge.
func TestTPOTApplies(t *testing.T) {
	p := plan{n: 2000, gap: 20 * time.Millisecond, ttft: 100 * time.Millisecond, bundle: 4, status: rows.Complete}
	s, v := verdictOf(t, p, "tpot:p90<60ms", "good(ttft<500ms,tpot<60ms):p90")
	i := slices.IndexFunc(s.Metrics, func(m summary.Metric) bool { return m.ID == "tpot_user" && m.Population == "planned" })
	if m := s.Metrics[i]; m.N != 1500 || m.Nulls != 500 {
		t.Fatalf("tpot_user of planned rows: n %d, nulls %d; want 1500 and 500 left out", m.N, m.Nulls)
	}
	if o := v.Objectives[0]; o.N != 1500 || o.LeftOut != 500 || o.Misses != 0 || o.Unmeasured != 0 || o.Result != verdict.Pass {
		t.Errorf("tpot: %s, n %d, left out %d, misses %d, unmeasured %d; want PASS of 1500 with 500 left out", o.Result, o.N, o.LeftOut, o.Misses, o.Unmeasured)
	}
	if o := v.Objectives[1]; o.N != 2000 || o.Misses != 0 || o.Result != verdict.Pass {
		t.Errorf("joint: %s, n %d, misses %d; want PASS of 2000", o.Result, o.N, o.Misses)
	}
	if *v.Goodput.Attainment != 1 {
		t.Errorf("attainment %v; want 1", *v.Goodput.Attainment)
	}
}
