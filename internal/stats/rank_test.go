package stats

import (
	"math/big"
	"testing"
)

func TestNearestRank(t *testing.T) {
	values := []int64{1, 2, 3, 4}
	for _, c := range []struct{ level, want int64 }{
		{1, 1}, {250, 1}, {251, 2}, {500, 2}, {501, 3}, {750, 3}, {751, 4}, {990, 4}, {999, 4}, {1000, 4},
	} {
		if got := values[NearestRank(4, c.level)-1]; got != c.want {
			t.Errorf("percentile %d of 1 2 3 4 = %d; want %d", c.level, got, c.want)
		}
	}
	if got := NearestRank(0, 500); got != 0 {
		t.Errorf("NearestRank(0, 500) = %d; want 0", got)
	}
}

// The rank against the definition in big integers, and where a product would overflow.
func TestNearestRankDefinition(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 7, 999, 1000, 1001, 12_031, 1 << 40, 1<<62 + 12_345} {
		for level := int64(1); level <= 1000; level += 7 {
			want := new(big.Int).Mul(big.NewInt(n), big.NewInt(level))
			want.Add(want, big.NewInt(999)).Quo(want, big.NewInt(1000))
			if got := NearestRank(n, level); got != want.Int64() {
				t.Fatalf("NearestRank(%d, %d) = %d; want %v", n, level, got, want)
			}
		}
	}
}

func TestFloor(t *testing.T) {
	for _, c := range []struct{ level, want int64 }{
		{500, 11}, {750, 24}, {250, 24}, {900, 64}, {100, 64}, {950, 130}, {50, 130}, {990, 662}, {10, 662}, {999, 6636},
		{0, 0}, {1000, 0},
	} {
		if got := Floor(c.level); got != c.want {
			t.Errorf("Floor(%d) = %d; want %d", c.level, got, c.want)
		}
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		level, n, low, high int64
	}{
		{500, 1_000, 469, 532}, {500, 10_000, 4_902, 5_099}, {500, 100_000, 49_690, 50_311},
		{750, 1_000, 723, 778}, {750, 10_000, 7_415, 7_586}, {750, 100_000, 74_731, 75_269},
		{900, 1_000, 881, 919}, {900, 10_000, 8_941, 9_059}, {900, 100_000, 89_814, 90_187},
		{950, 1_000, 936, 964}, {950, 10_000, 9_457, 9_543}, {950, 100_000, 94_864, 95_136},
		{990, 1_000, 983, 997}, {990, 10_000, 9_880, 9_920}, {990, 100_000, 98_938, 99_062},
		{999, 1_000, 997, 0}, {999, 10_000, 9_983, 9_997}, {999, 100_000, 99_880, 99_920},
	} {
		if low, high := Interval(c.n, c.level, 1); low != c.low || high != c.high {
			t.Errorf("Interval(%d, %d, 1) = %d, %d; want %d, %d", c.n, c.level, low, high, c.low, c.high)
		}
	}
	// τ from the worked example: 235 independent observations among 1,000.
	if low, high := Interval(1000, 900, 4.251875); low != 859 || high != 941 {
		t.Errorf("Interval(1000, 900, 4.251875) = %d, %d; want 859, 941", low, high)
	}
}

// The smallest n whose interval has an upper end.
func TestIntervalBoundedFrom(t *testing.T) {
	for _, c := range []struct{ level, n int64 }{{500, 6}, {750, 13}, {900, 36}, {950, 72}, {990, 368}, {999, 3_688}} {
		if _, high := Interval(c.n, c.level, 1); high == 0 {
			t.Errorf("Interval(%d, %d) has no upper end; want one", c.n, c.level)
		}
		if _, high := Interval(c.n-1, c.level, 1); high != 0 {
			t.Errorf("Interval(%d, %d) has the upper end %d; want none", c.n-1, c.level, high)
		}
	}
}
