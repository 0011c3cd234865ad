package stats

import (
	"math"
	"testing"
)

func TestBatchMeans(t *testing.T) {
	alternating := make([]float64, 30)
	rising := make([]float64, 30)
	pairs := make([]float64, 30)
	for i := range alternating {
		alternating[i] = float64(i % 2)
		rising[i] = float64(i)
		pairs[i] = float64(i / 2 % 2)
	}
	if b := BatchMeans(alternating); !b.OK || b.K != 30 || b.Mean != 0.5 {
		t.Errorf("alternating: %+v; want 30 independent batches of mean 0.5", b)
	}
	if b := BatchMeans(rising); b.OK || b.K != 15 || b.Mean != 14.5 {
		t.Errorf("rising: %+v; want 15 correlated batches of mean 14.5", b)
	}
	// Lag 1 of 0 0 1 1 0 0 … is near 0; the values stay 30.
	if b := BatchMeans(pairs); !b.OK || b.K != 30 || math.Abs(b.SE-math.Sqrt(0.25*30/29/30)) > 0.01 {
		t.Errorf("pairs: %+v", b)
	}
	if b := BatchMeans([]float64{1, 2, 3}); b.OK {
		t.Errorf("three batches: %+v; want not OK", b)
	}
	if b := BatchMeans(make([]float64, 30)); !b.OK || b.SE != 0 {
		t.Errorf("zeros: %+v; want OK with no error", b)
	}
}

// Rounding is not correlation: equal batches have none, whatever number they are.
func TestBatchMeansOfEqualValues(t *testing.T) {
	for _, x := range []float64{0.1, 6.7, 1.0 / 3, 333.3333333333333, 4852.123456789, -0.7, 1e17 / 3} {
		v := make([]float64, 30)
		for i := range v {
			v[i] = x
		}
		if b := BatchMeans(v); !b.OK || b.K != 30 || b.Lag1 != 0 || b.SE != 0 || b.Mean != x {
			t.Errorf("30 batches of %v: %+v; want that mean without error or correlation", x, b)
		}
	}
}

// A constant added to every batch changes the mean and nothing else.
func TestBatchMeansMove(t *testing.T) {
	v, w := make([]float64, 30), make([]float64, 30)
	for i := range v {
		v[i] = float64(i * 37 % 11)
		w[i] = v[i] + 1<<40
	}
	a, b := BatchMeans(v), BatchMeans(w)
	if a.SE != b.SE || a.Lag1 != b.Lag1 || a.K != b.K || a.OK != b.OK || math.Abs(b.Mean-a.Mean-1<<40) > 1e-3 {
		t.Errorf("moved by 2^40: %+v; want %+v", b, a)
	}
	if b := BatchMeans(nil); b != (Batches{}) {
		t.Errorf("BatchMeans of nothing = %+v", b)
	}
}
