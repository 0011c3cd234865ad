package fold

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats/run"
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

// arrived is tokens that came at an instant.
type arrived struct{ at, n int64 }

// literal is the tokens of a stream one by one.
func (s *stream) literal() []arrived {
	all := []arrived{{s.at, s.n}}
	if s.rest == 0 {
		return all
	}
	t, apart := s.at, newSteps(s.span, s.rest)
	for range s.rest {
		t += apart.next()
		all = append(all, arrived{t, 1})
	}
	return all
}

// countWithin, stay and into count tokens one by one.
func countWithin(all []arrived, from, to int64) (n int64) {
	for _, a := range all {
		if a.at >= from && a.at < to {
			n += a.n
		}
	}
	return n
}

func stay(all []arrived, from, to int64) (area stats.Sum) {
	for _, a := range all {
		area.AddProduct(a.n, max(0, to-max(a.at, from)))
	}
	return area
}

func into(all []arrived, n int, from, step int64) []int64 {
	counts := make([]int64, n)
	for _, a := range all {
		if step > 0 && a.at >= from && (a.at-from)/step < int64(n) {
			counts[(a.at-from)/step] += a.n
		}
	}
	return counts
}

// What is counted of a stream by formula is what is counted token by token.
func TestStreamIsItsTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	for range 20_000 {
		s := stream{at: r.Int64N(1000), n: r.Int64N(4), span: 1 + r.Int64N(1<<r.IntN(14)), rest: r.Int64N(1 << r.IntN(9))}
		if r.IntN(10) == 0 {
			s.span = 1<<59 - r.Int64N(1000) // too long for the formula
		}
		all := s.literal()
		from := r.Int64N(2000) - 500
		to := from + r.Int64N(1<<r.IntN(14))
		if got, want := s.within(from, to), countWithin(all, from, to); got != want {
			t.Fatalf("%+v: %d within %d to %d; want %d", s, got, from, to, want)
		}
		var area stats.Sum
		if s.stay(&area, from, to); area != stay(all, from, to) {
			t.Fatalf("%+v: a stay of %s from %d to %d; want %s", s, area, from, to, stay(all, from, to))
		}
		step, counts := 1+r.Int64N(1<<r.IntN(12)), make([]int64, r.IntN(40))
		if s.into(counts, from, step); !slices.Equal(counts, into(all, len(counts), from, step)) {
			t.Fatalf("%+v by %d from %d: %v; want %v", s, step, from, counts, into(all, len(counts), from, step))
		}
	}
}

// What a walk over chunk lists counts is what a look at each token gives: gaps that are
// negative or of years, answers that begin before the window, last over it, or both.
func TestWalkIsItsTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 9))
	for round := range 20_000 {
		c := chunks{listed: listed{first: r.Int64N(3 * second), out: null, events: null, opener: null}}
		sign, size := r.IntN(4), 1<<(1+r.IntN(20))
		for range r.IntN(60) {
			g := r.Int64N(int64(size))
			if sign == 0 && r.IntN(3) == 0 {
				g = -g
			}
			if r.IntN(400) == 0 {
				g = r.Int64N(1 << 44)
			}
			c.gaps = append(c.gaps, g)
		}
		if err := c.take(&run.Request{ChunkGapUS: c.gaps}); err != nil {
			continue // more than a year
		}
		switch r.IntN(4) {
		case 0:
			c.out, c.opener = r.Int64N(1<<r.IntN(25)), r.Int64N(4)
		case 2:
			c.out, c.opener = int64(len(c.gaps))+1, 1
		case 1:
			for range len(c.gaps) + 1 {
				c.tokens = append(c.tokens, r.Int64N(1<<r.IntN(25)))
			}
		}
		c.arrive()
		all, at, counts := []arrived(nil), c.first, c.n
		if c.even {
			counts = append(slices.Clone(c.n), slices.Repeat([]int64{1}, len(c.gaps))...)
		}
		for i, n := range counts {
			all = append(all, arrived{at, n})
			if i < len(c.gaps) {
				at += 1000 * c.gaps[i]
			}
		}
		if len(all) != len(c.gaps)+1 {
			t.Fatalf("%d counts for %d gaps", len(all), len(c.gaps))
		}

		f := newFold(Options{})
		f.window.FromNS = r.Int64N(3 * second)
		f.window.ToNS = f.window.FromNS + r.Int64N(1<<r.IntN(33))
		from, to := f.window.FromNS, f.window.ToNS
		until := r.Int64N(1 << r.IntN(34))
		w := &flow{bySecond: make([]int64, f.length()/second), batches: f.newWindowSeries()}
		x := intoWindow{w: w, from: from, to: to, until: min(until, to)}
		c.walk(&x)
		if want := countWithin(all, from, to); x.arrived != want {
			t.Fatalf("%d: %d within %d to %d; want %d", round, x.arrived, from, to, want)
		}
		if want := into(all, len(w.bySecond), from, second); !slices.Equal(w.bySecond, want) {
			t.Fatalf("%d: by second %v; want %v", round, w.bySecond, want)
		}
		if want := into(all, batches, from, w.batches.step); !slices.Equal(w.batches.tokens[:], want) {
			t.Fatalf("%d: by thirtieth %v; want %v", round, w.batches.tokens, want)
		}
		if want := stay(all, from, min(until, to)); w.area != want {
			t.Fatalf("%d: a stay of %s from %d to %d; want %s", round, w.area, from, until, want)
		}
		b := bySteps{counts: make([]int64, r.IntN(40)), from: from, step: r.Int64N(1 << r.IntN(30))}
		c.walk(&b)
		if want := into(all, len(b.counts), from, b.step); !slices.Equal(b.counts, want) {
			t.Fatalf("%d: by %d from %d %v; want %v", round, b.step, from, b.counts, want)
		}
	}
}

// What is spooled is what comes back, whatever the values and wherever they are kept.
func TestSpool(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 9))
	list := func(n int) []int64 {
		if r.IntN(5) == 0 {
			return nil
		}
		v := make([]int64, n)
		low, size, nulls := r.Int64N(1<<r.IntN(60)), r.IntN(62), r.IntN(4)
		for i := range v {
			if v[i] = r.Int64N(1 << size); r.IntN(3) == 0 && nulls == 0 {
				v[i] = null
			} else if nulls == 1 {
				v[i] -= low
			}
		}
		return v
	}
	for _, limit := range []int{0, 3000, 1 << 30} {
		s := spool{limit: limit}
		defer s.close()
		var want []chunks
		for i := range 500 {
			n := r.IntN(40)
			c := chunks{listed: listed{row: int64(i), part: r.Int64N(3), u: null, reach: r.Int64()}, gaps: list(n), delays: list(n + 1), tokens: list(n + 1)}
			if len(c.gaps) < n || slices.Contains(c.gaps, null) {
				c.gaps = make([]int64, n) // there is one for each, and none is null
			}
			if err := s.add(&c); err != nil {
				t.Fatal(err)
			}
			want = append(want, c)
		}
		if spilled := s.file != nil; spilled != (limit < 1<<30) {
			t.Fatalf("limit %d: in a file %v", limit, spilled)
		}
		same := func(c *chunks, i int) {
			t.Helper()
			w := &want[i]
			if c.listed != w.listed || !slices.Equal(c.gaps, w.gaps) || !alike(c.delays, w.delays) || !alike(c.tokens, w.tokens) {
				t.Fatalf("limit %d, record %d: %+v; want %+v", limit, i, c, w)
			}
		}
		var places []int64
		for _, delays := range []bool{true, false} {
			places = places[:0]
			err := s.each(delays, func(c *chunks, at int64) error {
				if !delays {
					if len(c.delays) > 0 {
						t.Fatalf("%d delays that nobody asked for", len(c.delays))
					}
					c.delays = want[len(places)].delays
				}
				same(c, len(places))
				places = append(places, at)
				return nil
			})
			if err != nil || len(places) != len(want) {
				t.Fatalf("limit %d: %d records, %v; want %d", limit, len(places), err, len(want))
			}
		}
		var c chunks
		for _, i := range r.Perm(len(want)) {
			if err := s.at(places[i], &c); err != nil {
				t.Fatal(err)
			}
			same(&c, i)
		}
	}
}

// alike says that lists are the same; one of nulls is as good as none.
func alike(a, b []int64) bool {
	nothing := func(v []int64) bool { return !slices.ContainsFunc(v, func(x int64) bool { return x != null }) }
	return slices.Equal(a, b) || nothing(a) && nothing(b)
}
