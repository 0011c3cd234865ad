package stats

import "math"

// Tau estimates how many consecutive indicators carry the information of one
// independent observation: the variance of block means, relative to that of
// independent indicators, with a block length that grows until it is at least ten
// times the estimate. The result is at least 1. settled is false when the row is
// too short for the block length it needs; a row of equal indicators is settled
// at 1.
func Tau(miss []bool) (estimate float64, settled bool) {
	words, t := make([]uint64, len(miss)/64+2), 0
	for i, b := range miss {
		if b {
			words[i/64] |= 1 << (i % 64)
			t++
		}
	}
	return tau(words, len(miss), t)
}

// tau is Tau of n indicators as bits, of which t are set. A word follows that of the last.
func tau(words []uint64, n, t int) (estimate float64, settled bool) {
	if t == 0 || t == n {
		return 1, true
	}
	mean := float64(t) / float64(n)
	v := mean * (1 - mean)
	for b := int(math.Sqrt(float64(n))); ; b *= 2 {
		estimate = float64(b) * blockVariance(words, n, b, mean) / v * float64(n) / float64(n-b)
		if float64(b) >= 10*estimate {
			return max(1, estimate), true
		}
		if 2*b > n/10 {
			return max(1, estimate), false
		}
	}
}

// blockVariance returns the mean of (block mean − mean)² over all overlapping
// blocks of length b. The sums are whole numbers, so the result does not depend
// on the order of addition.
func blockVariance(words []uint64, n, b int, mean float64) float64 {
	sum, squares := blockSums(words, n, b)
	blocks := float64(n - b + 1)
	w := float64(b)
	// Σ(s/w − mean)² = (Σ(s − c)² + …)/w² is expanded about the mean block sum.
	first := float64(sum) / blocks
	spread := float64(squares)/blocks - first*first
	shift := first/w - mean
	return max(0, spread/(w*w)+shift*shift)
}

// four says what four steps of a sliding sum s add: Σ(s+dᵢ) = 4s + Σdᵢ and
// Σ(s+dᵢ)² = 4s² + 2s·Σdᵢ + Σdᵢ², where dᵢ is the change after i steps.
type four struct{ change, sum, squares int64 }

// fours is by the four bits that enter, times 16, and those that leave.
var fours = func() (t [256]four) {
	for i := range t {
		f := &t[i]
		for k := range 4 {
			f.change += int64(i>>(4+k)&1) - int64(i>>k&1)
			f.sum += f.change
			f.squares += f.change * f.change
		}
	}
	return t
}()

// blockSums adds up the numbers of set bits in all overlapping blocks of length b, and
// their squares.
func blockSums(words []uint64, n, b int) (sum, squares int64) {
	var s int64
	for i := range b {
		s += int64(words[i/64] >> (i % 64) & 1)
	}
	sum, squares = s, s*s
	i := b
	for ; i+64 <= n; i += 64 {
		in, out := bitsAt(words, i), bitsAt(words, i-b)
		if in == out && (in == 0 || in == math.MaxUint64) {
			sum += 64 * s
			squares += 64 * s * s
			continue
		}
		for range 16 {
			f := &fours[in&15<<4|out&15]
			in, out = in>>4, out>>4
			sum += 4*s + f.sum
			squares += 4*s*s + 2*s*f.sum + f.squares
			s += f.change
		}
	}
	for ; i < n; i++ {
		s += int64(bitsAt(words, i)&1) - int64(bitsAt(words, i-b)&1)
		sum += s
		squares += s * s
	}
	return sum, squares
}

// bitsAt returns 64 bits from bit i on.
func bitsAt(words []uint64, i int) uint64 {
	w := words[i/64:]
	if i %= 64; i == 0 {
		return w[0]
	}
	return w[0]>>i | w[1]<<(64-i)
}
