package stats

import (
	"fmt"
	"math/bits"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// WideError is by how much a value of a Wide is at most too large, as a share of it.
const WideError = 0.001

// wideMax is the largest value of a Wide, 146 years in ns; larger ones count as this.
const wideMax = 1 << 62

// Wide counts whole numbers of any size and sign in the buckets of an HdrHistogram of
// 3 digits from 1 on: up to 2047 each number has its own, above them a bucket is at most
// 1/1024 of its values wide. Counts add, so that any split of the values and any order give
// the same. The zero value is empty. A Wide is not safe for concurrent use.
type Wide struct {
	over, under []int64 // by bucket of the value, and of the negative value without its sign
	n           int64
}

// wideBuckets is the number of buckets.
const wideBuckets = 1024*52 + 1024 + 1

// wideBucket is the bucket of v ≥ 0.
func wideBucket(v int64) int {
	if v < 2048 {
		return int(v)
	}
	s := bits.Len64(uint64(v)) - 11
	return s<<10 + int(v>>s)
}

// wideRange is the least and the largest value of a bucket.
func wideRange(i int) (low, high int64) {
	if i < 2048 {
		return int64(i), int64(i)
	}
	s := i>>10 - 1
	m := int64(i - s<<10)
	return m << s, (m+1)<<s - 1
}

// Add counts n values v.
func (w *Wide) Add(v, n int64) {
	if n <= 0 {
		return
	}
	w.n += n
	side, v := w.side(v)
	(*side)[wideBucket(v)] += n
}

// AddOne counts a value once.
func (w *Wide) AddOne(v int64) {
	if uint64(v) < wideMax && w.over != nil {
		w.n++
		w.over[wideBucket(v)]++
		return
	}
	w.Add(v, 1)
}

// side is where a value is counted, and as what.
func (w *Wide) side(v int64) (*[]int64, int64) {
	side := &w.over
	if v = max(v, -wideMax); v < 0 {
		side, v = &w.under, -v
	}
	if *side == nil {
		*side = make([]int64, wideBuckets)
	}
	return side, min(v, wideMax)
}

// AddAll counts values.
func (w *Wide) AddAll(x []int64) {
	for _, v := range x {
		w.AddOne(v)
	}
}

// N returns how many values were counted.
func (w *Wide) N() int64 { return w.n }

// each hands out the buckets with values, from the smallest values up.
func (w *Wide) each(do func(low, high, n int64)) {
	for i := len(w.under) - 1; i >= 0; i-- {
		if n := w.under[i]; n > 0 {
			low, high := wideRange(i)
			do(-high, -low, n)
		}
	}
	for i, n := range w.over {
		if n > 0 {
			low, high := wideRange(i)
			do(low, high, n)
		}
	}
}

// At returns the upper edge of the bucket that holds each rank, from 1 to N, ascending.
func (w *Wide) At(ranks []int64) []int64 {
	values := make([]int64, 0, len(ranks))
	var seen int64
	w.each(func(_, high, n int64) {
		for seen += n; len(values) < len(ranks) && ranks[len(values)] <= seen; {
			values = append(values, high)
		}
	})
	return values
}

// Beyond returns how many values are larger than a limit for sure, and how many may be:
// those in the bucket of the limit can be on either side of it.
func (w *Wide) Beyond(limit int64) (sure, maybe int64) {
	w.each(func(low, high, n int64) {
		if low > limit {
			sure += n
		}
		if high > limit {
			maybe += n
		}
	})
	return sure, maybe
}

// Encode returns the values from 0 up and those below, each as the standard V2 compressed
// encoding in base64; "" for none.
func (w *Wide) Encode() (over, under string, err error) {
	if over, err = encodeWide(w.over); err == nil {
		under, err = encodeWide(w.under)
	}
	return over, under, err
}

func encodeWide(counts []int64) (string, error) {
	if counts == nil {
		return "", nil
	}
	// The buckets are those of the library, in its order.
	h := hdr.Import(&hdr.Snapshot{LowestTrackableValue: 1, HighestTrackableValue: wideMax, SignificantFigures: 3, Counts: counts, IntegerToDoubleConversionRatio: 1})
	b, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(b), err
}

// Decode counts in addition what Encode wrote.
func (w *Wide) Decode(over, under string) error {
	for sign, text := range map[int64]string{1: over, -1: under} {
		if text == "" {
			continue
		}
		h, err := hdr.Decode([]byte(text))
		if err != nil {
			return err
		}
		if h.SignificantFigures() != 3 || h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != wideMax {
			return fmt.Errorf("histogram range: got %d..%d with %d digits, want 1..%d with 3", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), int64(wideMax))
		}
		for i, n := range h.Export().Counts {
			low, _ := wideRange(i)
			if n < 0 || n > 0 && low > wideMax {
				return fmt.Errorf("histogram count: got %d at %d, want at least 0", n, low)
			}
			w.Add(sign*low, n)
		}
	}
	return nil
}
