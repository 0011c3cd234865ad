package aiperf

import (
	"maps"
	"math"
	"slices"
)

// result is one metric as AIPerf writes it: scalars have a unit and an average only.
type result struct {
	Unit  string   `json:"unit"`
	Avg   *float64 `json:"avg,omitempty"`
	P1    *float64 `json:"p1,omitempty"`
	P5    *float64 `json:"p5,omitempty"`
	P10   *float64 `json:"p10,omitempty"`
	P25   *float64 `json:"p25,omitempty"`
	P50   *float64 `json:"p50,omitempty"`
	P75   *float64 `json:"p75,omitempty"`
	P90   *float64 `json:"p90,omitempty"`
	P95   *float64 `json:"p95,omitempty"`
	P99   *float64 `json:"p99,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Std   *float64 `json:"std,omitempty"`
	Count *int64   `json:"count,omitempty"`
	Sum   *float64 `json:"sum,omitempty"`
}

func scalar(unit string, v float64) *result { return &result{Unit: unit, Avg: &v} }

// counted is a set of values, each as often as it occurs. It keeps no order, so that the
// order of the rows cannot show.
type counted map[float64]int64

func (c counted) add(v float64) {
	if !math.IsNaN(v) {
		c[v]++
	}
}

// distribution follows AIPerf: percentiles by linear interpolation at q/100·(n−1), the
// standard deviation of the population, no sample floor. nil without values.
func (c counted) distribution(unit string, scale float64) *result {
	x := slices.Sorted(maps.Keys(c))
	if len(x) == 0 {
		return nil
	}
	until := make([]int64, len(x)) // how many values are at most x[i]
	var n int64
	sum := 0.0
	for i, v := range x {
		n += c[v]
		until[i] = n
		sum += v * float64(c[v])
	}
	mean := sum / float64(n)
	square := 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean) * float64(c[v])
	}
	rank := func(r int64) float64 { // from 0
		i, _ := slices.BinarySearch(until, r+1)
		return x[i]
	}
	put := func(v float64) *float64 {
		v /= scale
		return &v
	}
	quantile := func(q float64) *float64 {
		h := q / 100 * float64(n-1)
		low := int64(h)
		v := rank(low)
		if part := h - float64(low); part > 0 {
			v += (rank(low+1) - v) * part
		}
		return put(v)
	}
	return &result{Unit: unit, Avg: put(mean), P1: quantile(1), P5: quantile(5), P10: quantile(10), P25: quantile(25), P50: quantile(50), P75: quantile(75),
		P90: quantile(90), P95: quantile(95), P99: quantile(99), Min: put(x[0]), Max: put(x[len(x)-1]), Std: put(math.Sqrt(square / float64(n))), Count: &n, Sum: put(sum)}
}
