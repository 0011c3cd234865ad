package stats

import "math"

// Tau estimates how many consecutive indicators carry the information of one
// independent observation: the variance of block means, relative to that of
// independent indicators, with a block length that grows until it is at least ten
// times the estimate. The result is at least 1. settled is false when the row is
// too short for the block length it needs; a row of equal indicators is settled
// at 1.
func Tau(miss []bool) (tau float64, settled bool) {
	n := len(miss)
	t := 0
	for _, b := range miss {
		if b {
			t++
		}
	}
	if t == 0 || t == n {
		return 1, true
	}
	mean := float64(t) / float64(n)
	v := mean * (1 - mean)
	for b := int(math.Sqrt(float64(n))); ; b *= 2 {
		tau = float64(b) * blockVariance(miss, b, mean) / v * float64(n) / float64(n-b)
		if float64(b) >= 10*tau {
			return max(1, tau), true
		}
		if 2*b > n/10 {
			return max(1, tau), false
		}
	}
}

// blockVariance returns the mean of (block mean − mean)² over all overlapping
// blocks of length b. The sums are whole numbers, so the result does not depend
// on the order of addition.
func blockVariance(miss []bool, b int, mean float64) float64 {
	var s, sum, squares int64
	for i, m := range miss {
		if m {
			s++
		}
		if i >= b && miss[i-b] {
			s--
		}
		if i >= b-1 {
			sum += s
			squares += s * s
		}
	}
	blocks := float64(len(miss) - b + 1)
	w := float64(b)
	// Σ(s/w − mean)² = (Σ(s − c)² + …)/w² is expanded about the mean block sum.
	first := float64(sum) / blocks
	spread := float64(squares)/blocks - first*first
	shift := first/w - mean
	return max(0, spread/(w*w)+shift*shift)
}
