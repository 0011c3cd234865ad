package spill

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSorter(t *testing.T) {
	type rec struct {
		key int64
		s   string
	}
	for _, tt := range []struct {
		name  string
		n     int
		limit int
		key   func(i int, r *rand.Rand) int64
		runs  int // expected, −1: more than one
	}{
		{"nothing", 0, 1 << 20, nil, 0},
		{"in memory", 500, 1 << 20, func(i int, r *rand.Rand) int64 { return r.Int64N(20) }, 0},
		{"spilled in order", 2000, 2048, func(i int, r *rand.Rand) int64 { return int64(i / 3) }, 1},
		{"spilled out of order", 2000, 2048, func(i int, r *rand.Rand) int64 { return r.Int64N(50) - 25 }, -1},
		{"one late record", 1000, 2048, func(i int, r *rand.Rand) int64 {
			if i == 700 {
				return 5
			}
			return int64(i)
		}, 2},
		{"many steps back, all small", 20_000, 4096, func(i int, r *rand.Rand) int64 { return int64(i) - r.Int64N(20) }, 1},
		{"backward all the way", 3000, 2048, func(i int, r *rand.Rand) int64 { return int64(-i) }, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			s := NewSorter()
			s.limit = tt.limit
			defer s.Close()
			var want []rec
			for i := range tt.n {
				x := rec{tt.key(i, r), fmt.Sprintf("record %d", i)}
				want = append(want, x)
				if err := s.Add(x.key, []byte(x.s)); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortStableFunc(want, func(a, b rec) int { return cmp.Compare(a.key, b.key) })
			for range 2 { // it can start over
				next, err := s.Sorted()
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					b, err := next()
					if err != nil || string(b) != w.s {
						t.Fatalf("record %d = %q, %v; want %q", i, b, err, w.s)
					}
				}
				if _, err := next(); err != io.EOF {
					t.Fatalf("after the last record: %v; want io.EOF", err)
				}
			}
			if n := len(s.runs); n != tt.runs && !(tt.runs < 0 && n > 1) {
				t.Errorf("%d runs; want %d", n, tt.runs)
			}
		})
	}
}
