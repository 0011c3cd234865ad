package fold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hydrant/formats/run"
	"hydrant/internal/fixture"
)

// queueRun puts the rows of a simulated server into a fold: Poisson arrivals, 32 slots,
// lognormal service of mean 1 s and a coefficient of variation of 1.
func queueRun(r *rand.Rand, load float64, n int) *fold {
	const slots = 32
	f := newFold(Options{})
	f.parts = []*part{{header: run.Header{Workers: 1}}}
	var free [slots]float64 // when each slot is free
	sigma := math.Sqrt(math.Log(2))
	t := 0.0
	for i := range n {
		at := 0
		for k := range free {
			if free[k] < free[at] {
				at = k
			}
		}
		start := max(t, free[at])
		free[at] = start + math.Exp(sigma*r.NormFloat64()-sigma*sigma/2)
		f.rows.put(&rec{id: int64(i), scheduled: null, due: int64(t * 1e9), asked: int64(t * 1e9), end: int64(free[at] * 1e9), dispatched: int64(t * 1e9),
			first: null, firstKernel: null, connect: null, outcome: outcomeOK})
		t += r.ExpFloat64() / (load * slots)
	}
	f.rows.close()
	return f
}

// growing applies the limit of check D3.
func growing(f *fold) (bool, error) {
	if err := f.findLoad(); err != nil {
		return false, err
	}
	f.look(f.backlog())
	v := func(id string) float64 { return value(f.sheet.values[id].Value) }
	return v("backlog_growth") > max(0.02, 3*math.Sqrt2*v("backlog_spread")/v("backlog_arrivals")), nil
}

// How often the backlog of a simulated server is called growing, below its capacity and
// above: seldom where it is stable, nearly always at 110 % once the run is long enough.
func TestGrowthOfBacklog(t *testing.T) {
	fixture.Slow(t)
	for _, c := range []struct {
		n, runs   int
		low, high map[float64]float64 // bounds of the share by load
	}{
		{600, 400, map[float64]float64{1.02: 0.2, 1.05: 0.3, 1.10: 0.6}, map[float64]float64{0.90: 0.12, 0.95: 0.25}},
		{2700, 200, map[float64]float64{1.02: 0.3, 1.05: 0.65, 1.10: 0.95}, map[float64]float64{0.90: 0.03, 0.95: 0.08}},
		{10_000, 100, map[float64]float64{1.02: 0.35, 1.05: 0.9, 1.10: 0.99}, map[float64]float64{0.90: 0.01, 0.95: 0.03}},
	} {
		line := ""
		for _, load := range []float64{0.90, 0.95, 1.02, 1.05, 1.10} {
			r := rand.New(rand.NewPCG(uint64(c.n), uint64(100*load)))
			bad := 0.0
			for range c.runs {
				grows, err := growing(queueRun(r, load, c.n))
				if err != nil {
					t.Fatal(err)
				}
				if grows {
					bad++
				}
			}
			share := bad / float64(c.runs)
			line += fmt.Sprintf(" %.2f", share)
			if low, ok := c.low[load]; ok && share < low {
				t.Errorf("n %d, load %v: %.2f; want at least %v", c.n, load, share, low)
			}
			if high, ok := c.high[load]; ok && share > high {
				t.Errorf("n %d, load %v: %.2f; want at most %v", c.n, load, share, high)
			}
		}
		t.Logf("n %d, load 0.90 0.95 1.02 1.05 1.10:%s", c.n, line)
	}
}

// One run of each kind, so that the test above cannot rot unseen.
func TestBacklogGrowsAboveCapacityOnly(t *testing.T) {
	for load, want := range map[float64]bool{0.8: false, 1.3: true} {
		got, err := growing(queueRun(rand.New(rand.NewPCG(1, 1)), load, 5000))
		if err != nil || got != want {
			t.Errorf("load %v: grows %v, %v; want %v", load, got, err, want)
		}
	}
}
