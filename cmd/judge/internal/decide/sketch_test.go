package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// sketchOf is the evidence of a summary without columns: n independent TTFTs around 100 ms,
// of which some are misses, with the n_eff of every level.
func sketchOf(t *testing.T, n int, misses int64, neff float64, also ...int64) Evidence {
	t.Helper()
	r := rand.New(rand.NewPCG(5, uint64(n)))
	var w stats.Wide
	var all stats.Moments
	for range n {
		v := int64(100e6 * (0.5 + r.Float64()))
		w.Add(v, 1)
		all.Add(v)
	}
	for _, v := range also {
		w.Add(v, 1)
		all.Add(v)
	}
	over, under, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s := summary.Spread{ID: "ttft_user", Side: "user", N: all.N, Misses: misses, Over: over, Under: under, Min: formats.Some(all.Min), Max: formats.Some(all.Max)}
	m := summary.Metric{ID: "ttft_user", Side: "user", Population: "planned"}
	for _, level := range []int64{500, 900, 990, 999} {
		m.Percentiles = append(m.Percentiles, summary.Percentile{Level: level})
		x := &neff
		if neff == 0 || level == 999 {
			x = nil
		}
		s.Neff = append(s.Neff, x)
	}
	return Evidence{ToNS: 60e9, Sums: &summary.Sums{Spreads: []summary.Spread{s}}, Metrics: []summary.Metric{m}}
}

// Without columns a latency is decided by its sketch, and what the sketch does not know
// stays open.
func TestSketchDecides(t *testing.T) {
	for _, c := range []struct {
		objective string
		e         Evidence
		want      string
		reason    string
	}{
		{"ttft:p99<200ms", sketchOf(t, 20000, 0, 20000), Pass, ""},
		{"ttft:p90<120ms", sketchOf(t, 20000, 0, 20000), Fail, ""},
		{"ttft:p99<200ms", sketchOf(t, 20000, 0, 400), Inconclusive, "too few independent requests"},
		{"ttft:p99<200ms", sketchOf(t, 20000, 0, 0), Inconclusive, "not settled"},
		{"ttft:p99.9<200ms", sketchOf(t, 20000, 0, 20000), Inconclusive, "not settled"},
		{"ttft:p99<200ms", sketchOf(t, 20000, 400, 20000), Fail, ""}, // misses are beyond every limit
		{"ttft:p99<200ms", sketchOf(t, 0, 3, 20000), Inconclusive, "not measured"},
		{"ttft:p99<200ms+1us*in", sketchOf(t, 20000, 0, 20000), Inconclusive, "no per-request columns"},
		{"e2e:p99<200ms", sketchOf(t, 20000, 0, 20000), Inconclusive, "no per-request columns"},
		{"error_rate<1%", sketchOf(t, 20000, 0, 20000), Inconclusive, "no per-request columns"},
	} {
		set, err := slo.Parse("test", c.objective)
		if err != nil {
			t.Fatal(err)
		}
		d := All(set, c.e)[0]
		if d.Result != c.want || !strings.Contains(d.Reason, c.reason) {
			t.Errorf("%s: %s (%s), want %s (%s)", c.objective, d.Result, d.Reason, c.want, c.reason)
		}
	}
}

// A stretch of the run whose requests hang together leaves the decision open, wherever the
// percentile lies: the limit may fall into it.
func TestSketchOfDependentRequests(t *testing.T) {
	e := sketchOf(t, 20000, 0, 20000)
	one := 1.0
	e.Sums.Spreads[0].Neff[0] = &one
	set, err := slo.Parse("test", "ttft:p99<200ms")
	if err != nil {
		t.Fatal(err)
	}
	if d := All(set, e)[0]; d.Result != Inconclusive {
		t.Errorf("%s (%s), want INCONCLUSIVE", d.Result, d.Reason)
	}
}

// Requests in the bucket of the limit count against a PASS, and not for a FAIL.
func TestLimitInsideTheSketchError(t *testing.T) {
	limit := int64(200_000_000) // its bucket is 131,072 ns wide
	many := make([]int64, 2000)
	for i := range many {
		many[i] = limit - 1 // within the limit, though the sketch cannot tell
	}
	e := sketchOf(t, 20000, 0, 20000, many...)
	set, err := slo.Parse("test", fmt.Sprintf("ttft:p99<%dns", limit))
	if err != nil {
		t.Fatal(err)
	}
	d := All(set, e)[0]
	if d.Result != Inconclusive || d.Misses != 2000 || d.Doubtful != 2000 || !strings.Contains(d.Reason, "2000 requests are in the bucket") {
		t.Errorf("%s with %d misses, %d doubtful (%s); want INCONCLUSIVE, 2000 of both", d.Result, d.Misses, d.Doubtful, d.Reason)
	}
	set, _ = slo.Parse("test", "ttft:p99<200.3ms") // 0.15 % above: out of the bucket
	if d := All(set, e)[0]; d.Result != Pass {
		t.Errorf("beyond the error: %s (%s), want PASS", d.Result, d.Reason)
	}
	set, _ = slo.Parse("test", "ttft:p99<199.7ms")
	if d := All(set, e)[0]; d.Result != Fail {
		t.Errorf("below the error: %s (%s), want FAIL", d.Result, d.Reason)
	}
}
