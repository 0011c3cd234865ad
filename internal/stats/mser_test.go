package stats

import (
	"math"
	"testing"
)

func TestMSER(t *testing.T) {
	z := []float64{9, 5, 2, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 1.0, 1.1}
	d, score := MSER(z)
	if d != 3 || math.Abs(score-0.00052799) > 5e-9 {
		t.Errorf("MSER = %d, %.8f; want 3, 0.00052799", d, score)
	}
	var series []float64
	for _, v := range z {
		series = append(series, v-2, v-1, v, v+1, v+2)
	}
	series = append(series, 100, 100) // no whole batch
	s := MSER5(series)
	if s.Batches != 16 || s.Cut != 3 || !s.Enough || !s.Tail {
		t.Errorf("MSER5 = %+v; want 16 batches, cut 3, enough, with a tail", s)
	}
	if s := MSER5(series[:45]); s.Enough {
		t.Errorf("MSER5 of 9 batches = %+v; want not enough", s)
	}
	if d, score := MSER([]float64{1, 2, 3}); d != 0 || score != 0 {
		t.Errorf("MSER of 3 = %d, %v; want 0, 0", d, score)
	}
	if d, _ := MSER([]float64{2, 2, 2, 2, 2, 2, 2, 2}); d != 0 {
		t.Errorf("MSER of a constant = %d; want the smallest, 0", d)
	}
}

// A trend has no steady tail in its first half.
func TestMSERTrend(t *testing.T) {
	series := make([]float64, 100)
	for i := range series {
		series[i] = float64(i)
	}
	if s := MSER5(series); s.Tail {
		t.Errorf("MSER5 of a trend = %+v; want no steady tail", s)
	}
}
