package stats

import (
	"math/bits"
	"slices"
)

// Order answers for exact order statistics of many values without sorting them: values are
// counted in buckets of a relative width of 2⁻¹⁰ above the smallest, and only buckets that
// hold a rank asked for are sorted. Its memory is reused from one Load to the next, 11¼
// bytes a value. The zero value is empty; it is not safe for concurrent use.
type Order struct {
	x      []int64 // as loaded, in their order
	sorted []int64 // of few values
	base   int64   // the smallest
	bucket []uint16
	counts []uint32
	slot   []uint8 // of each bucket: which limits its values lie above
	held   []int64
	inside *Order // of a bucket with many values

	class []uint8
	above []uint64
}

const (
	subBits = 10
	buckets = (64-subBits-1)<<subBits + 2<<subBits
	few     = 1 << 9 // values that are sorted at once
)

// bucketOf is the bucket of a distance from the smallest value: exact up to 2¹¹, then by the
// leading bits.
func bucketOf(d uint64) uint16 {
	s := max(0, bits.Len64(d)-subBits-1)
	return uint16(s<<subBits + int(d>>s))
}

// Load takes in values, which must not change until the next Load.
func (o *Order) Load(x []int64) {
	o.x = x
	if len(x) <= few {
		o.sorted = append(o.sorted[:0], x...)
		slices.Sort(o.sorted)
		return
	}
	o.base = slices.Min(x)
	if o.counts == nil {
		o.counts = make([]uint32, buckets)
	} else {
		clear(o.counts)
	}
	o.bucket = sized(o.bucket, len(x))
	base := uint64(o.base)
	for i, v := range x {
		k := bucketOf(uint64(v) - base)
		o.bucket[i] = k
		o.counts[k]++
	}
}

// sized returns a slice of n elements of any value, s where it is long enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// N returns the number of values.
func (o *Order) N() int64 { return int64(len(o.x)) }

// At returns the values at ranks, counted from 1, in the order of the ranks; at most 200.
func (o *Order) At(ranks []int64) []int64 {
	out := make([]int64, len(ranks))
	if len(o.x) <= few {
		for i, r := range ranks {
			out[i] = o.sorted[r-1]
		}
		return out
	}
	by := make([]int, len(ranks)) // of out, by rank
	for i := range by {
		by[i] = i
	}
	slices.SortFunc(by, func(a, b int) int { return int(ranks[a] - ranks[b]) })
	// Which buckets hold a rank, how many values lie below each, and where in the list of
	// values that are looked at its own begin.
	type holder struct{ bucket, below, from int }
	var holders []holder
	if o.slot == nil {
		o.slot = make([]uint8, buckets)
	} else {
		clear(o.slot)
	}
	below, k, total := 0, 0, 0
	of := make([]int, len(ranks)) // holder of each rank
	for _, i := range by {
		for int64(below)+int64(o.counts[k]) < ranks[i] {
			below += int(o.counts[k])
			k++
		}
		if n := len(holders); n == 0 || holders[n-1].bucket != k {
			holders = append(holders, holder{k, below, total})
			total += int(o.counts[k])
			o.slot[k] = uint8(len(holders))
		}
		of[i] = len(holders) - 1
	}
	o.held = sized(o.held, total)
	at := make([]int, len(holders))
	for i, h := range holders {
		at[i] = h.from
	}
	for i, k := range o.bucket {
		if s := o.slot[k]; s > 0 {
			o.held[at[s-1]] = o.x[i]
			at[s-1]++
		}
	}
	for n, h := range holders {
		values := o.held[h.from:at[n]]
		var own []int
		for _, i := range by {
			if of[i] == n {
				own = append(own, i)
			}
		}
		if len(values) <= few || h.bucket < 2<<subBits { // the first buckets hold one value each
			slices.Sort(values)
			for _, i := range own {
				out[i] = values[ranks[i]-int64(h.below)-1]
			}
			continue
		}
		if o.inside == nil {
			o.inside = &Order{}
		}
		inner := make([]int64, len(own))
		for j, i := range own {
			inner[j] = ranks[i] - int64(h.below)
		}
		o.inside.Load(values)
		for j, v := range o.inside.At(inner) {
			out[own[j]] = v
		}
	}
	return out
}
