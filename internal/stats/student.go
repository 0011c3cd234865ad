package stats

import "math"

// TQuantile returns the p-quantile of Student's t distribution with df degrees of
// freedom, for 0 < p < 1 and df > 0; anything else gives NaN.
func TQuantile(p, df float64) float64 {
	switch {
	case !(p > 0 && p < 1 && df > 0):
		return math.NaN()
	case p == 0.5:
		return 0
	case p < 0.5:
		return -TQuantile(1-p, df)
	}
	// P(T > t) = ½ I_x(df/2, ½) at x = df/(df + t²), falling in t.
	above := func(t float64) float64 { return IncompleteBeta(df/(df+t*t), df/2, 0.5) / 2 }
	low, high := 0.0, 1.0
	for above(high) > 1-p {
		low, high = high, 2*high
		if math.IsInf(high, 1) {
			return high
		}
	}
	for {
		t := low + (high-low)/2
		if t <= low || t >= high { // no number lies between
			return t
		}
		if above(t) > 1-p {
			low = t
		} else {
			high = t
		}
	}
}
