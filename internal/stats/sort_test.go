package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	var scratch []int64
	for _, n := range []int{0, 1, 2, 1000, 1024, 5000, 40_000} {
		for shape := range 8 {
			x := ordered(r, n, shape)
			want := slices.Sorted(slices.Values(x))
			if scratch = Sort(x, scratch); !slices.Equal(x, want) {
				t.Fatalf("%d values of shape %d are not sorted", n, shape)
			}
			if Sort(x, scratch); !slices.Equal(x, want) {
				t.Fatalf("%d sorted values of shape %d are not sorted any more", n, shape)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	x := make([]int64, 1_000_000)
	r := rand.New(rand.NewPCG(3, 1))
	for i := range x {
		x[i] = int64(i)*1_000_000 + r.Int64N(1e9)
	}
	y, scratch := make([]int64, len(x)), []int64(nil)
	for b.Loop() {
		copy(y, x)
		scratch = Sort(y, scratch)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ns/value")
}
