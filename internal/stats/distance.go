package stats

import "math/big"

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

// Dispersion returns the index of dispersion of counts in consecutive windows,
// population variance over mean, and false when there is no count at all. A
// Poisson process has 1, a constant rate nearly 0.
func Dispersion(counts []int64) (float64, bool) {
	var sum int64
	var squares Sum
	for _, c := range counts {
		sum += c
		squares.AddProduct(c, c)
	}
	if sum == 0 {
		return 0, false
	}
	// (k·Σc² − (Σc)²)/(k·Σc), one division.
	k := big.NewInt(int64(len(counts)))
	total := big.NewInt(sum)
	top := new(big.Int).Mul(k, squares.Big())
	top.Sub(top, new(big.Int).Mul(total, total))
	f, _ := new(big.Rat).SetFrac(top, total.Mul(total, k)).Float64()
	return f, true
}
