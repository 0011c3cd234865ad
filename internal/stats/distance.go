package stats

import (
	"math"
	"math/big"
)

// KS returns the Kolmogorov–Smirnov distance of two samples sorted in ascending
// order: the largest difference of their distribution functions, 0..1. It returns
// 0 when either is empty.
func KS(a, b []int64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	na, nb := int64(len(a)), int64(len(b))
	var i, j, most int64
	for i < na && j < nb {
		v := min(a[i], b[j])
		for i < na && a[i] == v {
			i++
		}
		for j < nb && b[j] == v {
			j++
		}
		d := i*nb - j*na
		most = max(most, d, -d)
	}
	return float64(most) / float64(na) / float64(nb)
}

// Dispersion returns the index of dispersion of counts in n consecutive windows,
// population variance over mean, from their sum and sum of squares; NaN when
// there is no count at all. A Poisson process has 1, a constant rate nearly 0.
func Dispersion(n, sum int64, squares Sum) float64 {
	if n == 0 || sum == 0 {
		return math.NaN()
	}
	// (n·Σc² − (Σc)²)/(n·Σc), one division.
	k, total := big.NewInt(n), big.NewInt(sum)
	top := new(big.Int).Mul(k, squares.Big())
	top.Sub(top, new(big.Int).Mul(total, total))
	f, _ := new(big.Rat).SetFrac(top, total.Mul(total, k)).Float64()
	return f
}
