package analyze

import (
	"math/bits"
	"slices"

	"hydrant/formats"
	"hydrant/internal/stats"
)

// Counts is a distribution of whole numbers of at least 0: how often each value occurs.
// It is exact up to maxDistinct values of at least maxSmall; from there on those keep
// their leading keptBits bits, so that a percentile may be too low by 1 part in 4,096,
// and memory stays below some 16 MiB. Count, sum, least and greatest value stay exact.
// The zero value is empty.
type Counts struct {
	n, zeros int64
	sum      stats.Sum
	min, max int64
	small    []int64         // by value
	large    map[int64]int64 // values of at least maxSmall
	coarse   bool
}

const (
	maxSmall    = 1 << 16
	maxDistinct = 1 << 18
	keptBits    = 13 // 2^13 + 50·2^12 values at most: fewer than maxDistinct
)

// Add takes in a value of at least 0.
func (c *Counts) Add(v int64) {
	if c.n == 0 || v < c.min {
		c.min = v
	}
	c.max = max(c.max, v)
	c.n++
	c.sum.Add(v)
	if v == 0 {
		c.zeros++
	}
	if v < maxSmall {
		if v >= int64(len(c.small)) {
			c.small = append(c.small, make([]int64, max(64, bitCeil(v+1))-int64(len(c.small)))...)
		}
		c.small[v]++
		return
	}
	if c.large == nil {
		c.large = map[int64]int64{}
	}
	if c.coarse {
		v = rounded(v)
	}
	c.large[v]++
	if len(c.large) > maxDistinct && !c.coarse {
		c.coarse = true
		exact := c.large
		c.large = map[int64]int64{}
		for v, n := range exact {
			c.large[rounded(v)] += n
		}
	}
}

// bitCeil is the smallest power of two that is at least v.
func bitCeil(v int64) int64 { return 1 << bits.Len64(uint64(v-1)) }

// rounded clears all bits below the leading keptBits.
func rounded(v int64) int64 {
	if drop := bits.Len64(uint64(v)) - keptBits; drop > 0 {
		return v >> drop << drop
	}
	return v
}

// Each calls f with every value and how often it occurs, in ascending order.
func (c *Counts) Each(f func(v, n int64)) {
	for v, n := range c.small {
		if n > 0 {
			f(int64(v), n)
		}
	}
	keys := make([]int64, 0, len(c.large))
	for v := range c.large {
		keys = append(keys, v)
	}
	slices.Sort(keys)
	for _, v := range keys {
		f(v, c.large[v])
	}
}

// levels are the percentiles of a Dist, in thousandths.
var levels = [...]int64{100, 500, 900, 950, 990, 999}

// dist returns the figures of the values; of is how many there could have been.
func (c *Counts) dist(of int64) Dist {
	d := Dist{N: c.n, Nulls: of - c.n, Zeros: c.zeros, Exact: !c.coarse}
	if c.n == 0 {
		return d
	}
	if sum := c.sum.Big(); sum.IsInt64() {
		d.Sum = formats.Some(sum.Int64())
	}
	mean := c.sum.OverInt(c.n)
	d.Mean, d.Min, d.Max = &mean, formats.Some(c.min), formats.Some(c.max)
	to := [...]*formats.Int{&d.P10, &d.P50, &d.P90, &d.P95, &d.P99, &d.P999}
	at, passed := 0, int64(0)
	c.Each(func(v, n int64) {
		passed += n
		for at < len(levels) && passed >= stats.NearestRank(c.n, levels[at]) {
			*to[at] = formats.Some(min(max(v, c.min), c.max))
			at++
		}
	})
	return d
}
