package stats

import (
	"math/bits"
	"slices"
)

// digit is the number of bits that Sort looks at in one pass.
const digit = 10

// Sort sorts values in ascending order. scratch is memory that it may use; it returns that,
// grown to 1¼ of the length of x, for the next call. Many values are dealt out to buckets of
// equal width, where they lie more or less evenly, as instants do; else by digits from the
// lowest up, where digits that all share are passed over.
func Sort(x, scratch []int64) []int64 {
	if len(x) < 1<<digit/2 {
		slices.Sort(x)
		return scratch
	}
	low, high, sorted := x[0], x[0], true
	last := low
	for _, v := range x {
		low, high = min(low, v), max(high, v)
		sorted = sorted && last <= v
		last = v
	}
	if sorted {
		return scratch
	}
	scratch = sized(scratch, len(x)+len(x)/4+1)
	if !spread(x, scratch[:len(x)], scratch[len(x):], low, high) {
		byDigits(x, scratch[:len(x)], low)
	}
	return scratch
}

// crowded is how many values a bucket may hold, squared and on average over the values, for
// spread to be faster than byDigits.
const crowded = 64

// few values of a bucket are sorted by insertion.
const inserted = 24

// spread sorts values that lie more or less evenly between two bounds; false, and nothing is
// done, when they do not. There is a count for each bucket, at most.
func spread(x, to, counts []int64, low, high int64) bool {
	reach := uint64(high) - uint64(low)
	shift := max(0, bits.Len64(reach)-bits.Len64(uint64(len(counts)))+1)
	for reach>>shift >= uint64(len(counts)) {
		shift++
	}
	counts = counts[:reach>>shift+1]
	clear(counts)
	for _, v := range x {
		counts[(uint64(v)-uint64(low))>>shift]++
	}
	squares, at := int64(0), int64(0)
	for i, n := range counts {
		squares += min(n, 1<<20) * n
		counts[i], at = at, at+n
	}
	if squares > crowded*int64(len(x)) {
		return false
	}
	for _, v := range x {
		p := &counts[(uint64(v)-uint64(low))>>shift]
		to[*p] = v
		*p++
	}
	from := int64(0)
	for _, end := range counts { // where each bucket ends
		if end-from > inserted {
			slices.Sort(to[from:end])
			copy(x[from:end], to[from:end])
		} else {
			for i := from; i < end; i++ {
				v, k := to[i], i
				for ; k > from && x[k-1] > v; k-- {
					x[k] = x[k-1]
				}
				x[k] = v
			}
		}
		from = end
	}
	return true
}

// byDigits sorts values of which low is the least.
func byDigits(x, to []int64, low int64) {
	var spread uint64
	for _, v := range x {
		spread |= uint64(v) - uint64(low)
	}
	from := x
	for shift := 0; shift < 64 && spread>>shift > 0; shift += digit {
		if spread>>shift&(1<<digit-1) == 0 {
			continue
		}
		var ends [1 << digit]int32
		for _, v := range from {
			ends[(uint64(v)-uint64(low))>>shift&(1<<digit-1)]++
		}
		at := int32(0)
		for i, n := range ends {
			ends[i], at = at, at+n
		}
		for _, v := range from {
			p := &ends[(uint64(v)-uint64(low))>>shift&(1<<digit-1)]
			to[*p] = v
			*p++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}
