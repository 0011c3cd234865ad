package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ordered are values of many shapes: spread over all of int64, bunched far from their
// smallest, all equal, few and many.
func ordered(r *rand.Rand, n, shape int) []int64 {
	x := make([]int64, n)
	for i := range x {
		switch shape {
		case 0:
			x[i] = r.Int64() - r.Int64()
		case 1:
			x[i] = int64(1e6 * math.Exp(3*r.NormFloat64()))
		case 2: // one bucket holds nearly all
			x[i] = 1<<50 + r.Int64N(100_000)
			if i == n/2 {
				x[i] = -1 << 60
			}
		case 3:
			x[i] = -7
		case 4: // misses
			if x[i] = r.Int64N(50); r.IntN(9) == 0 {
				x[i] = math.MaxInt64
			}
		case 5: // bursts
			x[i] = int64(i) / 300 % 7 * 1000
		case 6:
			x[i] = math.MinInt64 + r.Int64N(3)
		case 7: // instants that are nearly in order
			x[i] = int64(i)*1000 + r.Int64N(50_000)
		}
	}
	return x
}

func TestOrderIsThatOfSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var o Order // reused
	for _, n := range []int{1, 2, 63, 64, 65, 700, few, few + 1, 5000, 70_001} {
		for shape := range 7 {
			x := ordered(r, n, shape)
			s := slices.Sorted(slices.Values(x))
			o.Load(x)
			var ranks []int64
			for range 40 {
				ranks = append(ranks, 1+r.Int64N(int64(n)))
			}
			ranks = append(ranks, 1, int64(n), 1)
			for i, v := range o.At(ranks) {
				if v != s[ranks[i]-1] {
					t.Fatalf("%d values of shape %d: rank %d is %d; want %d", n, shape, ranks[i], v, s[ranks[i]-1])
				}
			}
			limits := o.At([]int64{1, int64(1 + n/100), int64(1 + n/2), int64(1 + n/2), int64(n - n/10), int64(n)})
			below := slices.DeleteFunc(slices.Clone(x), func(v int64) bool { return v == s[n-1] })
			for _, x := range [][]int64{x, below} {
				taus, settled := o.Taus(limits, len(x))
				for k, q := range limits {
					above := over(x, q)
					if want, ok := Tau(above); taus[k] != want || settled[k] != ok {
						t.Fatalf("%d of %d values of shape %d: tau above %d is %v, %v; want %v, %v", len(x), n, shape, q, taus[k], settled[k], want, ok)
					}
				}
			}
		}
	}
}

func TestAddAllIsAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for shape := range 7 {
		x := ordered(r, 1000, shape)
		var one, all Moments
		for _, v := range x {
			one.Add(v)
		}
		all.AddAll(nil)
		all.AddAll(x[:300])
		all.AddAll(x[300:])
		if one != all {
			t.Errorf("shape %d: %+v at once; want %+v", shape, all, one)
		}
		limit := slices.Max(x)
		one, all = Moments{}, Moments{}
		for _, v := range x {
			if v < limit {
				one.Add(v)
			}
		}
		if all.AddBelow(x, limit); one != all {
			t.Errorf("shape %d: %+v below the largest; want %+v", shape, all, one)
		}
	}
}

// Every count of set bits in a block, against counting.
func TestBlockSums(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1, 5, 64, 65, 200, 1000} {
		for _, density := range []float64{0, 0.01, 0.5, 0.97, 1} {
			words, bits := make([]uint64, n/64+2), make([]int64, n)
			for i := range n {
				if r.Float64() < density {
					words[i/64] |= 1 << (i % 64)
					bits[i] = 1
				}
			}
			for _, b := range []int{1, (n + 1) / 2, n/3 + 1, n} {
				var sum, squares int64
				for i := 0; i+b <= n; i++ {
					var s int64
					for _, v := range bits[i : i+b] {
						s += v
					}
					sum, squares = sum+s, squares+s*s
				}
				if gotSum, gotSquares := blockSums(words, n, b); gotSum != sum || gotSquares != squares {
					t.Fatalf("%d bits, %g set, blocks of %d: %d and %d; want %d and %d", n, density, b, gotSum, gotSquares, sum, squares)
				}
			}
		}
	}
}

func BenchmarkOrder(b *testing.B) {
	x := ordered(rand.New(rand.NewPCG(1, 2)), 1_000_000, 1)
	levels := []int64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999}
	ranks := make([]int64, len(levels))
	for i, l := range levels {
		ranks[i] = NearestRank(int64(len(x)), l)
	}
	var o Order
	per := func(b *testing.B) { b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ns/value") }
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			o.Load(x)
		}
		per(b)
	})
	b.Run("at", func(b *testing.B) {
		for b.Loop() {
			o.At(ranks)
		}
		per(b)
	})
	limits := o.At(ranks)
	b.Run("classify", func(b *testing.B) {
		for b.Loop() {
			o.classify(limits)
		}
		per(b)
	})
	b.Run("taus", func(b *testing.B) {
		for b.Loop() {
			o.Taus(limits, int(o.N()))
		}
		per(b)
	})
	b.Run("moments", func(b *testing.B) {
		for b.Loop() {
			var m Moments
			m.AddAll(x)
		}
		per(b)
	})
}
