package stats

import "math"

// Residual returns the standard deviation (over n) of values at equal steps about
// their least-squares line: how much they vary beside their trend. It returns NaN for
// fewer than 3 values, which a line always meets.
func Residual(values []int64) float64 {
	n := len(values)
	if n < 3 {
		return math.NaN()
	}
	// About the middle of the steps, and of the values, the sums do not cancel.
	var mean float64
	for _, v := range values {
		mean += float64(v)
	}
	mean /= float64(n)
	middle := float64(n-1) / 2
	var tt, ty, yy float64
	for i, v := range values {
		t, y := float64(i)-middle, float64(v)-mean
		tt += t * t
		ty += t * y
		yy += y * y
	}
	return math.Sqrt(max(0, yy-ty*ty/tt) / float64(n))
}
