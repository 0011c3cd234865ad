package calibrate

import (
	"errors"
	"math"
	"slices"
	"testing"

	"hydrant/formats/run"
)

// generator is a client whose ceiling is known.
type generator struct {
	ceiling float64 // what comes through
	holds   float64 // up to which all limits hold
	flukes  []int   // trials that break narrowly whatever the load, from 0
	trials  []float64
}

func (g *generator) try(times float64) (run.Point, error) {
	n := len(g.trials)
	g.trials = append(g.trials, times)
	p := run.Point{SentShare: 1, Offered: run.Rates{RequestsPS: times, EventsPS: 100 * times}}
	p.Sent = run.Rates{RequestsPS: times, EventsPS: 100 * min(times, g.ceiling)}
	p.Through = times <= g.ceiling && !slices.Contains(g.flukes, n)
	p.Held = p.Through && times <= g.holds
	return p, nil
}

// settled is what a calibration makes of a search for an offered load of 1.
func settled(points []run.Point, offered float64) *run.Calibration {
	c := &run.Calibration{Points: points}
	c.Settle(offered)
	return c
}

func TestSearchFindsTheCeiling(t *testing.T) {
	known := Range{Start: 1, Most: 16, Grow: 2, Fine: 1.05, Hold: 2}
	for _, c := range []struct {
		name    string
		g       generator
		r       Range
		trials  int // for which there is time
		want    float64
		near    float64 // ratio
		atLeast bool
		most    int // trials it may take
	}{
		{"far beyond what is tried", generator{ceiling: 1000, holds: 1000}, known, 99, 16, 1, true, 5},
		{"just above the largest", generator{ceiling: 16.1, holds: 16.1}, known, 99, 16, 1, true, 5},
		{"between two loads", generator{ceiling: 5.3, holds: 5.3}, known, 99, 5.3, 1.05, false, 10},
		{"below the offered load", generator{ceiling: 0.33, holds: 0.33}, known, 99, 0.33, 1.05, false, 8},
		{"far below the offered load", generator{ceiling: 0.004, holds: 0.004}, known, 99, 0.004, 1.05, false, 16},
		{"does not hold at twice, though it comes through", generator{ceiling: 7, holds: 1.4}, known, 99, 1.4, 1.05, false, 12},
		{"holds at twice, not beyond", generator{ceiling: 7, holds: 2.5}, known, 99, 7, 1.05, false, 10},
		{"holds nowhere, comes through", generator{ceiling: 1.5, holds: 0}, known, 99, 1.5, 1.05, false, 10},
		{"a fluke at twice", generator{ceiling: 1000, holds: 1000, flukes: []int{1}}, known, 99, 16, 1, true, 6},
		{"no time for more than two", generator{ceiling: 1000, holds: 1000}, known, 2, 2, 1, true, 2},
		{"no time to narrow it down", generator{ceiling: 6, holds: 6}, known, 4, 4, 1, false, 4},
		{"unknown load", generator{ceiling: 777, holds: 777}, Range{Start: 1, Most: 1 << 14, Grow: 4, Fine: 1.05, Hold: 2}, 99, 777, 1.05, false, 14},
	} {
		points, err := Search(c.r, func() bool { return len(c.g.trials) < c.trials }, c.g.try)
		got := settled(points, 1)
		if err != nil || got.Ceiling == nil {
			t.Errorf("%s: %v, no ceiling in %v", c.name, err, c.g.trials)
			continue
		}
		if ratio := c.want / got.Ceiling.RequestsPS; ratio < 1-1e-9 || ratio > c.near+1e-9 || got.AtLeast != c.atLeast {
			t.Errorf("%s: ceiling %g, at least %v; want %g within %g, %v; tried %v", c.name, got.Ceiling.RequestsPS, got.AtLeast, c.want, c.near, c.atLeast, c.g.trials)
		}
		if len(c.g.trials) > c.most {
			t.Errorf("%s: %d trials, want at most %d: %v", c.name, len(c.g.trials), c.most, c.g.trials)
		}
		if !slices.IsSortedFunc(points, func(a, b run.Point) int { return int(math.Copysign(1, a.Offered.RequestsPS-b.Offered.RequestsPS)) }) {
			t.Errorf("%s: points do not ascend", c.name)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	g := generator{}
	points, err := Search(Range{Start: 1, Most: 16, Grow: 2, Fine: 1.05, Hold: 2}, func() bool { return true }, g.try)
	if err != nil || settled(points, 1).Ceiling != nil || len(g.trials) > 30 {
		t.Errorf("%d trials, %v, a client that can do nothing; want few, no ceiling", len(g.trials), err)
	}
	broken := errors.New("broken")
	points, err = Search(Range{Start: 1, Most: 16, Grow: 2, Fine: 1.05, Hold: 2}, func() bool { return true }, func(times float64) (run.Point, error) {
		if times > 2 {
			return run.Point{}, broken
		}
		return (&generator{ceiling: 9, holds: 9}).try(times)
	})
	if err != broken || len(points) != 2 {
		t.Errorf("%v and %d points; want the error and the 2 before it", err, len(points))
	}
}

func TestSettleByWhatWasSent(t *testing.T) {
	g := generator{ceiling: 8, holds: 4}
	points, err := Search(Range{Start: 1, Most: 16, Grow: 2, Fine: 1.05, Hold: 2}, func() bool { return true }, g.try)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sent, ceiling, at float64 }{
		{1, 8, 1}, {2, 8, 2}, // twice the load held
		{3, 4, 4}, // 6 came through and did not hold
		{6, 8, 8}, // twice the load did not come through: the ceiling is what did
	} {
		got := settled(points, c.sent)
		if got.Ceiling == nil || got.Ceiling.RequestsPS != c.ceiling || got.AtOffered.Offered.RequestsPS != c.at {
			t.Errorf("sent %g: ceiling %+v, nearest %+v; want %g, %g", c.sent, got.Ceiling, got.AtOffered, c.ceiling, c.at)
		}
	}
	if none := settled(nil, 1); none.Ceiling != nil || none.AtOffered != nil {
		t.Errorf("without a point: %+v", none)
	}
}
