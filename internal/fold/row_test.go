package fold

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	f := newFold(Options{})
	for _, n := range []int{1, 2, 99, 100, 101, 500, 6400, 6500, 20_000} {
		x := make([]int64, n)
		for i := range x {
			x[i] = r.Int64N(int64(1+n/2)) - 5
		}
		s := slices.Sorted(slices.Values(x))
		k := n - (n*99+99)/100 + 1
		if kth, most := f.largest(x, k); kth != s[n-k] || most != s[n-1] {
			t.Errorf("of %d values the largest but %d is %d, the largest %d; want %d and %d", n, k-1, kth, most, s[n-k], s[n-1])
		}
	}
}
