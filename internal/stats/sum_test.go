package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s, back Sum
	want := new(big.Int)
	values := make([]int64, 4000)
	for i := range values {
		values[i] = int64(r.Uint64()) >> r.IntN(64)
	}
	values = append(values, math.MinInt64, math.MaxInt64, 0, -1)
	for i, v := range values {
		s.Add(v)
		s.AddProduct(v, values[len(values)-1-i]>>8)
		want.Add(want, big.NewInt(v))
		want.Add(want, new(big.Int).Mul(big.NewInt(v), big.NewInt(values[len(values)-1-i]>>8)))
	}
	for i := len(values) - 1; i >= 0; i-- {
		back.AddProduct(values[i], values[len(values)-1-i]>>8)
		back.Add(values[i])
	}
	if s.String() != want.String() || back != s {
		t.Errorf("Sum = %v forwards, %v backwards; want %v", s, back, want)
	}
	var both Sum
	both.AddSum(s)
	both.AddSum(s)
	if got := both.Over(s); got != 2 {
		t.Errorf("2s/s = %v; want 2", got)
	}
	if got := s.OverInt(0); !math.IsNaN(got) {
		t.Errorf("s/0 = %v; want NaN", got)
	}
}

func TestMoments(t *testing.T) {
	var m Moments
	for _, v := range []int64{2, 4, 4, 4, 5, 5, 7, 9} {
		m.Add(v)
	}
	if m.N != 8 || m.Mean() != 5 || math.Abs(m.Std()-math.Sqrt(32.0/7)) > 1e-15 || m.Min != 2 || m.Max != 9 {
		t.Errorf("moments = %+v, mean %v, std %v", m, m.Mean(), m.Std())
	}
	// Two values an hour from zero and 1 ns apart: naive floats would lose all digits.
	var far Moments
	far.AddN(3_600_000_000_000, 2)
	far.AddN(3_600_000_000_001, 2)
	if got, want := far.Std(), math.Sqrt(1.0/3); math.Abs(got-want) > 1e-15 {
		t.Errorf("Std = %v; want %v", got, want)
	}
	var empty Moments
	if !math.IsNaN(empty.Mean()) || !math.IsNaN(empty.Std()) {
		t.Error("moments of nothing are numbers; want NaN")
	}
}
