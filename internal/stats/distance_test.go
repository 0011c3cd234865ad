package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestKS(t *testing.T) {
	if got := KS([]int64{1, 2, 3, 4}, []int64{1, 2, 3, 4}); got != 0 {
		t.Errorf("KS of equal samples = %v; want 0", got)
	}
	if got := KS([]int64{1, 2}, []int64{3, 4, 5}); got != 1 {
		t.Errorf("KS of disjoint samples = %v; want 1", got)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		a, b := make([]int64, 1+r.IntN(20)), make([]int64, 1+r.IntN(20))
		for i := range a {
			a[i] = int64(r.IntN(10))
		}
		for i := range b {
			b[i] = int64(r.IntN(12))
		}
		slices.Sort(a)
		slices.Sort(b)
		below := func(s []int64, v int64) float64 {
			n := 0
			for _, x := range s {
				if x <= v {
					n++
				}
			}
			return float64(n) / float64(len(s))
		}
		want := 0.0
		for v := int64(0); v < 12; v++ {
			want = max(want, math.Abs(below(a, v)-below(b, v)))
		}
		if got := KS(a, b); math.Abs(got-want) > 1e-12 {
			t.Errorf("KS(%v, %v) = %v; want %v", a, b, got, want)
		}
	}
}

func TestDispersion(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   float64
	}{
		{[]int64{5, 5, 5}, 0}, {[]int64{0, 10}, 5}, {[]int64{1, 2, 3, 4}, 0.5}, {[]int64{0, 0}, math.NaN()}, {nil, math.NaN()},
	} {
		var sum int64
		var squares Sum
		for _, v := range c.counts {
			sum += v
			squares.AddProduct(v, v)
		}
		if got := Dispersion(int64(len(c.counts)), sum, squares); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("Dispersion of %v = %v; want %v", c.counts, got, c.want)
		}
	}
}
