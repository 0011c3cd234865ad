package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

var levels = []int64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999, 1000}

func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	whole := NewHistogram(3)
	parts := []*Histogram{NewHistogram(3), NewHistogram(3), NewHistogram(3)}
	var values []int64
	for range 20_000 {
		v := int64(r.Uint64N(HistogramMax)) >> r.IntN(40)
		values = append(values, v)
		whole.Record(v, 1)
		parts[r.IntN(3)].Record(v, 1)
	}
	slices.Sort(values)
	got := whole.Quantiles(levels)
	for i, level := range levels {
		want := values[NearestRank(int64(len(values)), level)-1]
		if got[i] < want || float64(got[i]-want) > max(HistogramMin, 0.001*float64(want)) {
			t.Errorf("quantile %d = %d; want %d to 0.1 %% above it", level, got[i], want)
		}
	}
	merged := NewHistogram(3)
	for _, i := range []int{2, 0, 1} {
		if err := merged.Merge(parts[i]); err != nil {
			t.Fatal(err)
		}
	}
	a, err := whole.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := merged.Encode()
	if a != b {
		t.Error("merging three parts in another order gives other bytes")
	}
	back, err := DecodeHistogram(a)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.Encode(); again != a || back.N() != whole.N() || back.Digits() != 3 {
		t.Errorf("decoding and encoding again changed the histogram: n %d, want %d", back.N(), whole.N())
	}
	if !slices.Equal(back.Quantiles(levels), got) {
		t.Error("quantiles changed on the way through the encoding")
	}
}

func TestHistogramEdges(t *testing.T) {
	h := NewHistogram(3)
	if h.Quantiles(levels) != nil {
		t.Error("an empty histogram has quantiles")
	}
	h.Record(-5, 1)
	h.Record(2*HistogramMax, 2)
	h.Record(7, 0)
	if h.N() != 3 || h.Clamped() != 3 {
		t.Errorf("n %d, clamped %d; want 3, 3", h.N(), h.Clamped())
	}
	if err := h.Merge(NewHistogram(2)); err == nil {
		t.Error("merging other digits succeeds")
	}
}

func TestDecodeHistogramRefuses(t *testing.T) {
	h := NewHistogram(3)
	h.Record(12_345, 6)
	good, _ := h.Encode()
	for i := range len(good) {
		if _, err := DecodeHistogram(good[:i]); err == nil {
			t.Errorf("a histogram cut to %d of %d characters is accepted", i, len(good))
		}
	}
}
