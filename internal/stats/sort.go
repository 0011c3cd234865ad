package stats

import "slices"

// digit is the number of bits that Sort looks at in one pass.
const digit = 10

// Sort sorts values in ascending order. scratch is memory that it may use; it returns that,
// grown to the length of x, for the next call. Many values are dealt out by digits from the
// lowest up, digits that all share are passed over.
func Sort(x, scratch []int64) []int64 {
	if len(x) < 1<<digit/2 {
		slices.Sort(x)
		return scratch
	}
	low, sorted := x[0], true
	var spread uint64
	for i, v := range x {
		low = min(low, v)
		sorted = sorted && (i == 0 || x[i-1] <= v)
	}
	if sorted {
		return scratch
	}
	for _, v := range x {
		spread |= uint64(v) - uint64(low)
	}
	scratch = sized(scratch, len(x))
	from, to := x, scratch
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
	return scratch
}
