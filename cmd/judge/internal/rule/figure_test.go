package rule

import "testing"

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, nanoseconds, "0 ms"},
		{412, nanoseconds, "412 ns"},
		{30e3, nanoseconds, "30 µs"},
		{140e3, nanoseconds, "0.14 ms"},
		{6911e6, nanoseconds, "6,911 ms"},
		{12.34567e9, nanoseconds, "12.35 s"},
		{700e9, nanoseconds, "700 s"},
		{0.9995, share, "99.95 %"},
		{0.00003, share, "0.003 %"},
		{1e-8, share, "1.0e-06 %"},
		{1.0012345, ratio, "1.001"},
		{999.96, count, "1,000"},
		{12031, count, "12,031"},
		{-1234567, count, "-1,234,567"},
	} {
		if got := Figure(c.v, c.unit); got != c.want {
			t.Errorf("Figure(%v, %s) = %q; want %q", c.v, c.unit, got, c.want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1750: "1,750", 24486514: "24.49 M", 619615: "619,615"} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %q; want %q", n, got, want)
		}
	}
}
