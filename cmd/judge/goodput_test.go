package main

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"hydrant/cmd/judge/internal/rule"
	rows "hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/fold"
	"hydrant/internal/slo"
)

// What reduce prints as goodput and what the judge says of the same objectives are one
// number, whatever the rows.
func TestGoodputIsThatOfReduce(t *testing.T) {
	p := plan{n: 2000, gap: 20 * time.Millisecond, ttft: 100 * time.Millisecond, slow: 7, fail: 40, status: rows.Complete}
	var run bytes.Buffer
	if err := p.write(&run); err != nil {
		t.Fatal(err)
	}
	for _, texts := range [][]string{{"ttft:p90<500ms"}, {"good(ttft<500ms,tpot<60ms):p90", "icl_max:p99<19ms"}, {"ttft:p50<99ms+10us*in", "goodput>=40"},
		{"tpot:p90<20ms"}, {"error_rate<5%"}, {"out_tps>=100", "goodput>=90%"}, {"ttft/wire:p90<1s"}} {
		set, err := slo.Args(texts, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := fold.Run(ctx(), []fold.Input{{Name: "run", R: bytes.NewReader(run.Bytes())}}, fold.Options{SLO: set})
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
