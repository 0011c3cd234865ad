package fold

import (
	"math"

	"hydrant/formats"
)

// null is a value that did not happen or is not known. Rows hold plain integers
// with this mark: half the bytes of a formats.Int.
const null = math.MinInt64

// miss is a value beyond all others: a request that was planned and not served.
const miss = math.MaxInt64

func pack(v formats.Int) int64 {
	if !v.Valid {
		return null
	}
	return v.V
}

func unpack(v int64) formats.Int {
	if v == null {
		return formats.Int{}
	}
	return formats.Some(v)
}

// minus returns a − b, null when either is.
func minus(a, b int64) int64 {
	if a == null || b == null {
		return null
	}
	return a - b
}

// plus returns a + b, null when either is.
func plus(a, b int64) int64 {
	if a == null || b == null {
		return null
	}
	return a + b
}

// either returns a, or b when a is null.
func either(a, b int64) int64 {
	if a == null {
		return b
	}
	return a
}

// ratio returns a·scale/b rounded half up, null when an operand is or b ≤ 0.
func ratio(a, scale, b int64) int64 {
	if a == null || b == null || b <= 0 {
		return null
	}
	return roundDiv(a, scale, b)
}
