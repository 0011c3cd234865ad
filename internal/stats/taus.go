package stats

import (
	"math/bits"
	"slices"
)

// MaxLimits is the most limits that Taus takes.
const MaxLimits = 100

// Taus returns what Tau says, for each limit, of the indicators of lying above it, in the
// order in which the values were loaded. Limits must ascend. Where n is less than the number of
// values it is of the n values below the largest one, which is known to stand for all others.
func (o *Order) Taus(limits []int64, n int) (taus []float64, settled []bool) {
	o.classify(limits)
	o.leave(n)
	taus, settled = make([]float64, len(limits)), make([]bool, len(limits))
	o.above = sized(o.above, n/64+2)
	for k := range limits {
		total := o.pick(uint8(k))
		taus[k], settled[k] = tau(o.above, n, total)
	}
	return taus, settled
}

// leave leaves the classes of n values, those below the largest.
func (o *Order) leave(n int) {
	if n < len(o.x) {
		largest, k := slices.Max(o.x), 0
		for i, v := range o.x {
			o.class[k] = o.class[i]
			if v != largest {
				k++
			}
		}
	}
	o.class = o.class[:(n+7)/8*8]
	clear(o.class[n:])
}

// classify counts for each value the limits that it lies above.
func (o *Order) classify(limits []int64) {
	n := len(o.x)
	o.class = sized(o.class, (n+7)/8*8)
	count := func(v int64) (c uint8) {
		for c = 0; int(c) < len(limits) && v > limits[c]; c++ {
		}
		return c
	}
	if n <= few {
		for i, v := range o.x {
			o.class[i] = count(v)
		}
		return
	}
	// All values of a bucket lie above the same limits, unless a limit is among them.
	const mixed = 255
	if o.slot == nil {
		o.slot = make([]uint8, buckets)
	}
	at, c := 0, uint8(0)
	for _, q := range limits {
		if q < o.base {
			c++
			continue
		}
		k := int(bucketOf(uint64(q) - uint64(o.base)))
		for ; at < k; at++ {
			o.slot[at] = c
		}
		o.slot[k] = mixed
		at = k + 1
		c++
	}
	for ; at < buckets; at++ {
		o.slot[at] = c
	}
	for i, k := range o.bucket {
		c := o.slot[k]
		if c == mixed {
			c = count(o.x[i])
		}
		o.class[i] = c
	}
}

// pick sets the bits of the values above limit k and returns their number.
func (o *Order) pick(k uint8) (total int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	add := uint64(127-k) * ones // brings what is above k to 128 and more
	n := len(o.class)
	words := o.above
	for w := range words {
		var x uint64
		for j := 0; j < 64; j += 8 {
			i := 64*w + j
			if i >= n {
				break
			}
			c := o.class[i : i+8 : i+8]
			eight := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 | uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
			// One bit a byte, moved together into the top byte.
			x |= ((eight + add) & high >> 7) * 0x0102040810204080 >> 56 << j
		}
		words[w] = x
		total += bits.OnesCount64(x)
	}
	return total
}
