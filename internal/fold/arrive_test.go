package fold

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/internal/stats"
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

// literal is the tokens of a stream one by one.
func (s *stream) literal() *chunks {
	c := &chunks{at: []int64{s.at}, n: []int64{s.n}}
	if s.rest == 0 {
		return c
	}
	t, apart := s.at, newSteps(s.span, s.rest)
	for range s.rest {
		t += apart.next()
		c.at, c.n = append(c.at, t), append(c.n, 1)
	}
	return c
}

// What is counted of a stream by formula is what is counted token by token; and what is
// counted of those by steps is what a look at each gives.
func TestStreamIsItsTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for range 20_000 {
		s := stream{at: r.Int64N(1000), n: r.Int64N(4), span: 1 + r.Int64N(1<<r.IntN(14)), rest: r.Int64N(1 << r.IntN(9))}
		if r.IntN(10) == 0 {
			s.span = 1<<59 - r.Int64N(1000) // too long for the formula
		}
		c := s.literal()
		from := r.Int64N(2000) - 500
		to := from + r.Int64N(1<<r.IntN(14))
		var naive stats.Sum
		within := int64(0)
		for k, at := range c.at {
			if at >= from && at < to {
				within += c.n[k]
			}
			naive.AddProduct(c.n[k], max(0, to-max(at, from)))
		}
		for name, a := range map[string]answer{"stream": &s, "tokens": c} {
			if got := a.within(from, to); got != within {
				t.Fatalf("%s of %+v: %d within %d to %d; want %d", name, s, got, from, to, within)
			}
			var area stats.Sum
			if a.stay(&area, from, to); area != naive {
				t.Fatalf("%s of %+v: a stay of %s from %d to %d; want %s", name, s, area, from, to, naive)
			}
			step := 1 + r.Int64N(1<<r.IntN(12))
			counts, want := make([]int64, r.IntN(40)), make([]int64, 40)
			for k, at := range c.at {
				if i := (at - from) / step; at >= from && i < int64(len(counts)) {
					want[i] += c.n[k]
				}
			}
			if a.into(counts, from, step); !slices.Equal(counts, want[:len(counts)]) {
				t.Fatalf("%s of %+v by %d from %d: %v; want %v", name, s, step, from, counts, want[:len(counts)])
			}
		}
	}
}
