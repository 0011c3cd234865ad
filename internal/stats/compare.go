package stats

import (
	"math"
	"math/bits"
)

// Change is what the logarithms of a statistic say of two sets of runs: the run is the
// unit. Low and High are the ends of the 95 % interval of Ratio, Low90 and High90 of the
// 90 % one.
type Change struct {
	Ratio         float64 // geometric mean of the candidate/that of the baseline
	Low, High     float64
	Low90, High90 float64
	P             float64 // two-sided permutation test, exact
	Extreme, All  int64   // divisions at least as far apart, of all
}

// Results of Judge.
const (
	Worse      = "WORSE"
	Better     = "BETTER"
	Same       = "SAME"
	CannotTell = "CANNOT TELL"
)

// mostRuns is the number of runs of both sides up to which every division is tried.
const mostRuns = 26

// Compare compares a statistic of the runs of a baseline with that of a candidate.
// Values are above 0, and each side has at least two; else, and beyond 26 runs, ok is
// false. Formula: y = log value, d = mean of the candidate − mean of the baseline, its
// interval by Welch with the degrees of freedom of Satterthwaite.
func Compare(baseline, candidate []float64) (c Change, ok bool) {
	if len(baseline) < 2 || len(candidate) < 2 || len(baseline)+len(candidate) > mostRuns {
		return Change{}, false
	}
	y := make([]float64, 0, len(baseline)+len(candidate))
	for _, v := range append(append([]float64{}, candidate...), baseline...) {
		if !(v > 0) || math.IsInf(v, 1) {
			return Change{}, false
		}
		y = append(y, math.Log(v))
	}
	m := len(candidate)
	d, se, df := welch(y[m:], y[:m])
	ends := func(p float64) (float64, float64) {
		if se == 0 {
			return math.Exp(d), math.Exp(d)
		}
		t := TQuantile(p, df)
		return math.Exp(d - t*se), math.Exp(d + t*se)
	}
	c.Ratio = math.Exp(d)
	c.Low, c.High = ends(0.975)
	c.Low90, c.High90 = ends(0.95)
	c.Extreme, c.All = divisions(y, m)
	c.P = float64(c.Extreme) / float64(c.All)
	return c, true
}

// welch returns the difference of the means, b less a, its standard error, and the
// degrees of freedom.
func welch(a, b []float64) (d, se, df float64) {
	moments := func(x []float64) (mean, v float64) {
		for _, y := range x {
			mean += y
		}
		mean /= float64(len(x))
		for _, y := range x {
			v += (y - mean) * (y - mean)
		}
		return mean, v / float64(len(x)-1) / float64(len(x))
	}
	ma, va := moments(a)
	mb, vb := moments(b)
	df = (va + vb) * (va + vb) / (va*va/float64(len(a)-1) + vb*vb/float64(len(b)-1))
	return mb - ma, math.Sqrt(va + vb), df
}

// divisions counts the ways to call m of the values the candidate's whose means are at
// least as far apart as those of the first m.
func divisions(y []float64, m int) (extreme, all int64) {
	n := len(y)
	var total float64
	for _, v := range y {
		total += v
	}
	apart := func(sum float64) float64 { return math.Abs(sum/float64(m) - (total-sum)/float64(n-m)) }
	var first float64
	for _, v := range y[:m] {
		first += v
	}
	// Sums in another order differ by rounding: what is equal must not count as nearer.
	reach := apart(first) * (1 - 1e-9)
	for set := uint64(1)<<m - 1; set < 1<<n; {
		var sum float64
		for rest := set; rest != 0; rest &= rest - 1 {
			sum += y[bits.TrailingZeros64(rest)]
		}
		if all++; apart(sum) >= reach {
			extreme++
		}
		// The next larger number with as many ones.
		low := set & -set
		up := set + low
		set = up | (set^up)/low>>2
	}
	return extreme, all
}

// Judge says what a change means where delta is the logarithm of the smallest one that
// matters, for a statistic of which less is better. WORSE and BETTER need the 95 %
// interval beyond no change and at least delta; SAME needs the 90 % interval inside
// ± delta (two one-sided tests), since a large p proves no sameness.
func (c Change) Judge(delta float64) string {
	d := math.Log(c.Ratio)
	switch {
	case c.Low > 1 && d >= delta:
		return Worse
	case c.High < 1 && d <= -delta:
		return Better
	case math.Log(c.Low90) > -delta && math.Log(c.High90) < delta:
		return Same
	}
	return CannotTell
}
