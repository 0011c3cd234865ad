package fold

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/internal/fixture"
	"hydrant/internal/stats"
)

// coverage is how often the interval at a level held the true quantile, of so many
// simulated samples, and how often there was an interval.
func coverage(r *rand.Rand, samples, n int, level int64) (held, given int) {
	truth := int64(1e9 * -math.Log(1-float64(level)/1000)) // of an exponential with mean 1 s
	var d ranker
	x := make([]int64, n)
	for range samples {
		for i := range x {
			x[i] = int64(1e9 * r.ExpFloat64())
		}
		d.order.Load(x)
		p := d.percentiles(d.order.N())[slices.Index(Levels[:], level)]
		if !p.Low.Valid {
			continue
		}
		given++
		if p.Low.V <= truth && truth <= p.High.Or(math.MaxInt64) {
			held++
		}
	}
	return held, given
}

// An interval of 95 % holds the truth in 93 to 97 % of independent samples. Ranks are
// whole: with fewer than 50 values beyond the percentile no pair of ranks comes that near
// to 95 %, and the rule takes the wider one. Of 200 values, one sample in ten has no
// interval, since τ does not settle.
func TestCoverage(t *testing.T) {
	fixture.Slow(t)
	const samples, near = 10_000, 50
	r := rand.New(rand.NewPCG(7, 95))
	for _, n := range []int64{200, 700, 1000, 5000} {
		for _, level := range Levels {
			if n < stats.Floor(level) {
				continue
			}
			held, given := coverage(r, samples, int(n), level)
			got, most := float64(held)/float64(max(1, given)), 0.97
			if n*min(level, 1000-level)/1000 < near {
				most = 0.99
			}
			t.Logf("n %d, p%g: %.2f %% of %d", n, float64(level)/10, 100*got, given)
			if got < 0.93 || got > most || given < samples*4/5 {
				t.Errorf("n %d, p%g: %d of %d intervals hold the truth, of %d samples", n, float64(level)/10, held, given, samples)
			}
		}
	}
}
