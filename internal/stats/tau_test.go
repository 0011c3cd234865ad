package stats

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// example is the series of 1,000 latencies with seven bursts, ms.
func example() []int64 {
	x := make([]int64, 1000)
	for i := range x {
		x[i] = 100 + int64(37*i%300)
		for _, s := range []int{40, 170, 230, 420, 560, 750, 910} {
			switch d := i - s; {
			case d >= 0 && d < 4:
				x[i] = 1200
			case d >= 4 && d < 10:
				x[i] = 700
			}
		}
	}
	return x
}

func over(x []int64, limit int64) []bool {
	b := make([]bool, len(x))
	for i, v := range x {
		b[i] = v > limit
	}
	return b
}

func TestTauExample(t *testing.T) {
	x := example()
	sorted := append([]int64(nil), x...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	q := sorted[NearestRank(1000, 900)-1]
	if q != 389 {
		t.Fatalf("p90 = %d ms; want 389", q)
	}
	for _, c := range []struct {
		limit int64
		want  float64
	}{{389, 4.251875}, {1000, 2.450023}, {500, 6.081731}, {360, 2.484300}} {
		if got, settled := Tau(over(x, c.limit)); math.Abs(got-c.want) > 5e-7 || !settled {
			t.Errorf("Tau(x > %d) = %.6f, %v; want %.6f, true", c.limit, got, settled, c.want)
		}
	}
	miss := over(x, 389)
	words, m := make([]uint64, 1000/64+2), 0
	for i, b := range miss {
		if b {
			words[i/64] |= 1 << (i % 64)
			m++
		}
	}
	mean := float64(m) / 1000
	first := 31 * blockVariance(words, 1000, 31, mean) / (mean * (1 - mean)) * 1000 / 969
	if math.Abs(first-5.580108) > 1e-6 {
		t.Errorf("tau at block length 31 = %.6f; want 5.580108", first)
	}
}

// The fast sliding sums against the definition written out.
func TestTauDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 600; n += 1 + n/3 {
		miss := make([]bool, n)
		on := false
		for i := range miss {
			if r.IntN(4) == 0 {
				on = r.IntN(3) == 0
			}
			miss[i] = on
		}
		got, settled := Tau(miss)
		want, wantSettled := slowTau(miss)
		if math.Abs(got-want) > 1e-9*want || settled != wantSettled {
			t.Errorf("Tau of %d = %v, %v; want %v, %v", n, got, settled, want, wantSettled)
		}
	}
}

func slowTau(miss []bool) (float64, bool) {
	n := float64(len(miss))
	x := make([]float64, len(miss))
	var m float64
	for i, b := range miss {
		if b {
			x[i] = 1
		}
		m += x[i] / n
	}
	v := m * (1 - m)
	if v < 1e-12 {
		return 1, true
	}
	for b := int(math.Sqrt(n)); ; b *= 2 {
		var sum float64
		for i := 0; i+b <= len(x); i++ {
			var s float64
			for _, y := range x[i : i+b] {
				s += y
			}
			sum += (s/float64(b) - m) * (s/float64(b) - m)
		}
		tau := float64(b) * sum / float64(len(x)-b+1) / v * n / (n - float64(b))
		if float64(b) >= 10*tau {
			return max(1, tau), true
		}
		if float64(2*b) > n/10 {
			return max(1, tau), false
		}
	}
}

func TestTauEqual(t *testing.T) {
	for _, miss := range [][]bool{nil, {true}, {false}, {true, true, true}} {
		if got, settled := Tau(miss); got != 1 || !settled {
			t.Errorf("Tau(%v) = %v, %v; want 1, true", miss, got, settled)
		}
	}
}
