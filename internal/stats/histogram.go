package stats

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Range of a Histogram, in ns.
const (
	HistogramMin = 1_000                 // values below are exact to 1 µs only
	HistogramMax = 3_600 * 1_000_000_000 // one hour; larger values count as this
)

// Histogram counts ns values in buckets of fixed relative width: 3 digits give an
// error of at most 0.1 %, always upward. Buckets are counts, so histograms merge
// exactly, in any order. A Histogram is not safe for concurrent use.
type Histogram struct {
	h       *hdr.Histogram
	digits  int
	clamped int64
}

// NewHistogram returns an empty histogram with 1 to 5 significant digits.
func NewHistogram(digits int) *Histogram {
	return &Histogram{h: hdr.New(HistogramMin, HistogramMax, digits), digits: digits}
}

// Record counts n values v. Negative values count as 0, values above the range as
// its end; both are counted by Clamped.
func (h *Histogram) Record(v, n int64) {
	if n <= 0 {
		return
	}
	if c := min(max(v, 0), HistogramMax); c != v {
		h.clamped += n
		v = c
	}
	if err := h.h.RecordValues(v, n); err != nil {
		panic("internal error: value outside the histogram: " + err.Error())
	}
}

// N returns how many values were recorded.
func (h *Histogram) N() int64 { return h.h.TotalCount() }

// Clamped returns how many recorded values lay outside the range. It does not
// travel with Encode.
func (h *Histogram) Clamped() int64 { return h.clamped }

// Digits returns the significant digits.
func (h *Histogram) Digits() int { return h.digits }

// Merge adds the counts of o, which must have the same digits.
func (h *Histogram) Merge(o *Histogram) error {
	if h.digits != o.digits {
		return fmt.Errorf("histogram digits: got %d, want %d", o.digits, h.digits)
	}
	if lost := h.h.Merge(o.h); lost != 0 {
		return fmt.Errorf("histogram merge: got %d values outside the range, want none", lost)
	}
	h.clamped += o.clamped
	return nil
}

// Quantiles returns, for each level in thousandths, the upper edge of the bucket
// that holds the nearest rank. It returns nil when the histogram is empty. Levels
// must ascend.
func (h *Histogram) Quantiles(levels []int64) []int64 {
	n := h.N()
	if n == 0 {
		return nil
	}
	values := make([]int64, 0, len(levels))
	var seen int64
	for _, b := range h.h.Distribution() {
		seen += b.Count
		for len(values) < len(levels) && NearestRank(n, levels[len(values)]) <= seen {
			values = append(values, b.To)
		}
	}
	return values
}

// Encode returns the standard V2 compressed encoding in base64, as other
// HdrHistogram libraries read it.
func (h *Histogram) Encode() (string, error) {
	b, err := h.h.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(b), err
}

// DecodeHistogram reads what Encode wrote. It refuses other ranges, so that
// histograms from any source merge exactly.
func DecodeHistogram(s string) (*Histogram, error) {
	h, err := hdr.Decode([]byte(s))
	if err != nil {
		return nil, err
	}
	digits := int(h.SignificantFigures())
	want := hdr.New(HistogramMin, HistogramMax, max(1, min(5, digits)))
	if digits < 1 || digits > 5 || h.LowestTrackableValue() != want.LowestTrackableValue() ||
		h.HighestTrackableValue() != want.HighestTrackableValue() {
		return nil, fmt.Errorf("histogram range: got %d..%d with %d digits, want %d..%d",
			h.LowestTrackableValue(), h.HighestTrackableValue(), digits, want.LowestTrackableValue(), want.HighestTrackableValue())
	}
	return &Histogram{h: h, digits: digits}, nil
}
