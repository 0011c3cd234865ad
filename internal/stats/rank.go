package stats

// NearestRank returns the rank, counted from 1, of the percentile at level
// thousandths among n sorted values: ⌈n·level/1000⌉, at least 1. It is computed
// in integers, so that no rounding of a float moves a rank. It returns 0 for n < 1.
func NearestRank(n, level int64) int64 {
	if n < 1 {
		return 0
	}
	// n·level is split so that it cannot overflow.
	q, r := n/1000, n%1000
	return max(1, q*level+(r*level+999)/1000)
}

// Floor returns the smallest number of values for which a percentile at level
// thousandths is published: with one value beyond the rank a level of 99 % can
// just be certified, 1 + min{h : I_p(h, 2) < 0.01}. Levels below the median
// mirror those above. It returns 0 for levels outside 1..999, which have no floor
// of this kind.
func Floor(level int64) int64 {
	if level < 1 || level > 999 {
		return 0
	}
	p := float64(max(level, 1000-level)) / 1000
	low, high := int64(0), int64(1) // I_p(0, 2) is 1, not below the limit
	for IncompleteBeta(p, float64(high), 2) >= 0.01 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if h := (low + high) / 2; IncompleteBeta(p, float64(h), 2) >= 0.01 {
			low = h
		} else {
			high = h
		}
	}
	return 1 + high
}

// Interval returns the ranks, counted from 1, whose order statistics bound the
// percentile at level thousandths with 95 % confidence among n values of which
// tau in a row carry the information of one. high is 0 when no rank bounds it
// from above. Formula: m = ⌊n/tau⌋; low is the largest l with I_p(l, m−l+1) ≥
// 0.975, high the smallest h with I_p(h, m−h+1) ≤ 0.025, carried over to n.
func Interval(n, level int64, tau float64) (low, high int64) {
	if n < 1 || level < 1 || level > 999 || !(tau >= 1) {
		return 0, 0
	}
	m := int64(float64(n) / tau)
	if m < 1 {
		return 1, 0
	}
	p := float64(level) / 1000
	// I_p(k, m−k+1) = P(at least k of m values lie at or below the quantile): it
	// falls as k grows, from 1 at k = 0.
	atLeast := func(k int64) float64 { return IncompleteBeta(p, float64(k), float64(m-k+1)) }
	l := lastRank(m, func(k int64) bool { return atLeast(k) >= 0.975 })
	h := 1 + lastRank(m, func(k int64) bool { return atLeast(k) > 0.025 })
	low = max(1, mulDiv(l, n, m))
	if h > m {
		return low, 0
	}
	return low, min(n, mulDivUp(h, n, m))
}

// lastRank returns the largest k in 0..m for which ok holds; ok holds at 0 and
// turns false once.
func lastRank(m int64, ok func(int64) bool) int64 {
	low, high := int64(0), m+1
	for high-low > 1 {
		if k := (low + high) / 2; ok(k) {
			low = k
		} else {
			high = k
		}
	}
	return low
}

// mulDiv returns ⌊a·b/c⌋ for a ≤ c and c > 0 without overflow.
func mulDiv(a, b, c int64) int64 { return a*(b/c) + a*(b%c)/c }

// mulDivUp returns ⌈a·b/c⌉ for a ≤ c and c > 0 without overflow.
func mulDivUp(a, b, c int64) int64 { return a*(b/c) + (a*(b%c)+c-1)/c }
