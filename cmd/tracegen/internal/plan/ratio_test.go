package plan

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestParseRatio(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Ratio
		text string
	}{
		{"1", Ratio{1, 1}, "1"}, {"2", Ratio{2, 1}, "2"}, {"1.5", Ratio{3, 2}, "1.5"}, {"0.1", Ratio{1, 10}, "0.1"}, {"10", Ratio{10, 1}, "10"},
		{"1.50", Ratio{3, 2}, "1.5"}, {"0.333333", Ratio{333333, 1000000}, "0.333333"}, {"0.008", Ratio{1, 125}, "0.008"}, {"1234567890.12345678", Ratio{123456789012345678 / 2, 50000000}, "1234567890.12345678"},
		{"0.333333333333333333", Ratio{333333333333333333, 1000000000000000000}, "0.333333333333333333"}, {"0.000000000000000001", Ratio{1, 1000000000000000000}, "0.000000000000000001"},
		{"002", Ratio{2, 1}, "2"}, {"0.00000000000000001", Ratio{1, 100000000000000000}, "0.00000000000000001"},
	} {
		r, err := ParseRatio(tt.in)
		if err != nil || r != tt.want || r.String() != tt.text {
			t.Errorf("ParseRatio(%q) = %v (%s), %v; want %v (%s)", tt.in, r, r, err, tt.want, tt.text)
		}
	}
	for _, in := range []string{"", "0", "0.0", "-1", "+1", "1.", ".5", "1e3", "NaN", "Inf", "1,5", "1/3", "1.2.3", "1234567890123456789", "1.000000000000000001", "0.0000000000000000001", "０"} {
		if r, err := ParseRatio(in); err == nil {
			t.Errorf("ParseRatio(%q) = %v; want an error", in, r)
		}
	}
}

func TestDivide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		q := Ratio{1 + r.Uint64N(1e18), 1 + r.Uint64N(1e17)}
		x := r.Int64N(math.MaxInt64) >> r.IntN(62)
		want := new(big.Int).Mul(big.NewInt(x), new(big.Int).SetUint64(q.Q))
		want.Div(want, new(big.Int).SetUint64(q.P))
		got, ok := q.Divide(x)
		if ok != want.IsInt64() || ok && got != want.Int64() {
			t.Fatalf("%d / (%d/%d) = %d, %v; want %s", x, q.P, q.Q, got, ok, want)
		}
	}
}
