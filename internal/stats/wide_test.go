package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The value at a rank is never too small and at most 0.1 % too large, for numbers of any
// size and sign, and counting in parts or through the encoding changes nothing.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{1, 10, 5000} {
		var all, left, right Wide
		x := make([]int64, n)
		for i := range x {
			x[i] = r.Int64() >> r.IntN(63)
			if r.IntN(3) == 0 {
				x[i] = -x[i]
			}
			x[i] = max(min(x[i], wideMax), -wideMax)
			all.Add(x[i], 1)
			if i%3 == 0 {
				left.Add(x[i], 1)
			} else {
				right.Add(x[i], 1)
			}
		}
		slices.Sort(x)
		ranks := make([]int64, n)
		for i := range ranks {
			ranks[i] = int64(i + 1)
		}
		for i, v := range all.At(ranks) {
			if v < x[i] || float64(v)-float64(x[i]) > WideError*math.Abs(float64(x[i])) {
				t.Errorf("rank %d: %d, want %d or at most 0.1 %% more", i+1, v, x[i])
			}
			sure, maybe := all.Beyond(x[i])
			above := int64(n - i - 1)
			for j := i + 1; j < n && x[j] == x[i]; j++ {
				above--
			}
			if sure > above || maybe < above {
				t.Errorf("beyond %d: %d to %d, want %d in between", x[i], sure, maybe, above)
			}
		}
		var again Wide
		for _, w := range []*Wide{&right, &left} {
			over, under, err := w.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Decode(over, under); err != nil {
				t.Fatal(err)
			}
		}
		a, b, _ := all.Encode()
		c, d, _ := again.Encode()
		if a != c || b != d || again.N() != int64(n) {
			t.Errorf("%d values in two parts: other counts", n)
		}
	}
	var w Wide
	h := NewHistogram(3)
	h.Record(5000, 1)
	other, _ := h.Encode()
	if w.Decode(other, "") == nil || w.Decode("x", "") == nil {
		t.Error("a histogram of another range, or none at all, was taken")
	}
}

func TestParseSum(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for range 1000 {
		var s Sum
		s.AddProduct(r.Int64()>>r.IntN(63), r.Int64()>>r.IntN(63)*(1-2*r.Int64N(2)))
		if got, ok := ParseSum(s.String()); !ok || got != s {
			t.Fatalf("%s: got %s, %v", s, got, ok)
		}
	}
	for _, bad := range []string{"", "x", "1.5", "170141183460469231731687303715884105728", "99999999999999999999999999999999999999999"} {
		if got, ok := ParseSum(bad); ok {
			t.Errorf("%q: got %s", bad, got)
		}
	}
}
