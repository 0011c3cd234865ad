package table

import (
	"math"
	"testing"
)

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {1, "1.00"}, {3.4, "3.40"}, {21.37, "21.4"}, {99.96, "100"}, {412.4, "412"}, {999.4, "999"}, {999.6, "1,000"}, {1902.4, "1,902"},
		{11_239.6, "11,240"}, {4_100_000, "4,100,000"}, {0.0312, "0.0312"}, {0.000004, "0.00000400"}, {1e-9, "1e-09"}, {-1234.5, "-1,234"},
		{math.NaN(), absent}, {math.Inf(1), absent},
	} {
		if got := figure(c.v); got != c.want {
			t.Errorf("figure(%v) = %q; want %q", c.v, got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{{0, "0"}, {999, "999"}, {1000, "1,000"}, {24_486_514, "24,486,514"}, {-5000, "-5,000"}} {
		if got := count(c.n); got != c.want {
			t.Errorf("count(%d) = %q; want %q", c.n, got, c.want)
		}
	}
	if got := many(41_234_567); got != "41.2 M" {
		t.Errorf("many = %q; want 41.2 M", got)
	}
	for v, want := range map[float64]string{0.085: "85.0 ms", 59.7: "59.7 s", 3540: "59.0 min", 7200: "2.00 h"} {
		if got := span(v); got != want {
			t.Errorf("span(%v) = %q; want %q", v, got, want)
		}
	}
}
