package decide

import (
	"math"
	"math/rand/v2"
	"testing"

	"hydrant/formats"
	"hydrant/internal/fixture"
	"hydrant/internal/slo"
)

// response draws the response times of a queue with one server, Poisson arrivals and
// exponential service of mean 1 ms, in ns, by the recursion of waiting times. It starts
// in equilibrium.
func response(r *rand.Rand, load float64, n int) []int64 {
	x := make([]int64, n)
	wait := 0.0 // of a customer who finds the queue in equilibrium: 0 with chance 1 − load
	if r.Float64() < load {
		wait = r.ExpFloat64() / (1 - load)
	}
	for i := range x {
		service := r.ExpFloat64()
		x[i] = int64(1e6 * (wait + service))
		wait = max(0, wait+service-r.ExpFloat64()/load)
	}
	return x
}

// limitFor is the limit that a share miss of such response times exceeds in truth: they
// are exponential with mean 1/(1 − load).
func limitFor(load, miss float64) int64 { return int64(-math.Log(miss) / (1 - load) * 1e6) }

// decideAlone decides one latency objective on made-up response times.
func decideAlone(x []int64, limit int64, p float64) Decision {
	v := make([]formats.Int, len(x))
	s := sample{miss: make([]bool, len(x)), measured: int64(len(x))}
	for i, t := range x {
		v[i] = formats.Some(t)
		if s.miss[i] = t > limit; s.miss[i] {
			s.misses++
		}
	}
	_, _, q := quantile(v, p)
	s.above = [][]bool{beyond(v, q)}
	d := Decision{Objective: slo.Objective{Kind: slo.Quantile, P: p}, Result: Inconclusive, needed: needed}
	d.count(s)
	d.estimate(s)
	d.weigh()
	all := []Decision{d}
	finish(all)
	return all[0]
}

// How often the procedure errs: PASS and FAIL where the true miss rate is just what is
// allowed, and how often it decides rightly at half and twice that. The shares are those
// of docs/validity.md; between simulations they may differ by their own noise.
func TestErrorRates(t *testing.T) {
	fixture.Slow(t)
	for _, c := range []struct {
		load                        float64
		n, runs                     int
		p                           float64
		pass, fail, passHalf, fail2 float64
	}{
		{0.3, 10_000, 600, 0.99, 0.013, 0.028, 0.69, 1.00},
		{0.7, 10_000, 600, 0.99, 0.035, 0.028, 0.07, 0.45},
		{0.7, 30_000, 400, 0.99, 0.028, 0.035, 0.33, 0.88},
		{0.7, 100_000, 300, 0.99, 0.030, 0.025, 0.73, 1.00},
		{0.9, 200_000, 200, 0.99, 0.047, 0.020, 0.27, 0.67},
		{0.7, 10_000, 600, 0.90, 0.017, 0.043, 0.85, 1.00},
		{0.9, 60_000, 300, 0.90, 0.037, 0.023, 0.59, 1.00},
	} {
		r := rand.New(rand.NewPCG(uint64(1000*c.load), uint64(c.n)))
		count := map[string]float64{}
		tau := 0.0
		for range c.runs {
			x := response(r, c.load, c.n)
			boundary := decideAlone(x, limitFor(c.load, 1-c.p), c.p)
			count["boundary "+boundary.Result]++
			count["half "+decideAlone(x, limitFor(c.load, (1-c.p)/2), c.p).Result]++
			count["twice "+decideAlone(x, limitFor(c.load, 2*(1-c.p)), c.p).Result]++
			tau += boundary.Tau
		}
		runs := float64(c.runs)
		t.Logf("load %v, n %d, p %v: tau %.3g, boundary PASS %.3f FAIL %.3f, PASS at half %.2f, FAIL at twice %.2f", c.load, c.n, c.p, tau/runs,
			count["boundary PASS"]/runs, count["boundary FAIL"]/runs, count["half PASS"]/runs, count["twice FAIL"]/runs)
		for _, m := range []struct {
			what       string
			want, room float64 // beside four deviations of both simulations
		}{{"boundary PASS", c.pass, 0.01}, {"boundary FAIL", c.fail, 0.01}, {"half PASS", c.passHalf, 0.03}, {"twice FAIL", c.fail2, 0.03}} {
			got := count[m.what] / runs
			slack := m.room + 4*math.Sqrt(m.want*(1-m.want)*(1/runs+1/200.0))
			if math.Abs(got-m.want) > slack {
				t.Errorf("load %v, n %d, p %v: %s %.3f; want %.3f ± %.3f", c.load, c.n, c.p, m.what, got, m.want, slack)
			}
		}
	}
}
