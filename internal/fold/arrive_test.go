package fold

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// After i steps ⌊i·a/n⌋ is handed out, whatever a and n, and after the last all of a.
func TestSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for _, a := range []int64{0, 1, 299, 300, 301, 1<<60 - 1, r.Int64N(1 << 60)} {
		for _, n := range []int64{1, 2, 7, 300, 1 + r.Int64N(2000)} {
			s, sum := newSteps(a, n), int64(0)
			for i := range n {
				sum += s.next()
				want := new(big.Int).Mul(big.NewInt(a), big.NewInt(i+1))
				if want.Div(want, big.NewInt(n)); sum != want.Int64() {
					t.Fatalf("%d in %d steps: %d after %d; want %s", a, n, sum, i+1, want)
				}
			}
		}
	}
}
