package fold

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/run"
)

const ms = 1_000_000

// The first two rows are the published vectors of the index.
func TestFluidity(t *testing.T) {
	limits := Fluidity{FirstNS: 500 * ms, GapNS: 50 * ms}
	for _, c := range []struct {
		name   string
		ttft   int64 // ms
		gaps   []int64
		tokens []int64
		limits Fluidity
		input  int64
		want   int64
	}{
		{"3 of 7 missed", 400, []int64{60, 40, 250, 50}, nil, limits, 0, 571_429},
		{"3 of 4 missed", 620, []int64{50}, nil, limits, 0, 250_000},
		{"one token in time", 500, nil, nil, limits, 0, 1_000_000},
		{"one token late", 501, nil, nil, limits, 0, 0},
		{"a chunk of 4 lends time", 500, []int64{50, 200}, []int64{1, 4, 1}, limits, 0, 1_000_000},
		{"without its count it does not", 500, []int64{50, 200}, nil, limits, 0, 333_333},
		{"an empty chunk adds its gap to the next", 500, []int64{50, 50}, []int64{1, 0, 1}, limits, 0, 333_333},
		{"a longer prompt may take longer", 700, nil, nil, Fluidity{FirstNS: 500 * ms, PerInputNS: ms, GapNS: 50 * ms}, 200, 1_000_000},
		{"but must be counted", 700, nil, nil, Fluidity{FirstNS: 500 * ms, PerInputNS: ms, GapNS: 50 * ms}, null, -1},
	} {
		q := run.Request{}
		for _, g := range c.gaps {
			q.ChunkGapUS = append(q.ChunkGapUS, 1000*g)
		}
		for _, n := range c.tokens {
			q.ChunkTokens = append(q.ChunkTokens, formats.Some(n))
		}
		if got := c.limits.index(c.ttft*ms, c.input, int64(len(c.gaps))+1, &q); got != c.want {
			t.Errorf("%s: %d; want %d", c.name, got, c.want)
		}
	}
	if limits.index(400*ms, 0, 5, &run.Request{}) != -1 || limits.index(null, 0, 1, &run.Request{}) != -1 || limits.index(400*ms, 0, null, &run.Request{}) != -1 {
		t.Error("a row whose tokens have no times has an index")
	}
}

// Without deadlines the metric is there and has no value; a summary that carries its rows
// can be asked for it.
func TestFluidityOfRun(t *testing.T) {
	o := whole()
	b := encode(t, testHeader(), randomRows(7, 300), nil, run.End{}, 100)
	without := reduce(t, o, b)
	if m := metricOf(t, without, "fluidity", popOK); m.N != 0 || m.Note != "no deadlines given" {
		t.Errorf("without deadlines: n %d, note %q", m.N, m.Note)
	}
	o.Fluidity = &Fluidity{FirstNS: 100 * ms, GapNS: 5 * ms}
	anew := metricOf(t, reduce(t, o, written(t, without)), "fluidity", popOK)
	m := metricOf(t, reduce(t, o, b), "fluidity", popOK)
	if m.N == 0 || m.Max.V > fluidityUnit || m.Min.V < 0 || m.Min.V == m.Max.V {
		t.Errorf("with deadlines: n %d, %v to %v", m.N, m.Min, m.Max)
	}
	if d := cmp.Diff(m, anew); d != "" {
		t.Errorf("from a summary with its rows: %s", d)
	}
}
