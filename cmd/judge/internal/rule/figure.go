package rule

import (
	"fmt"
	"math"
	"strconv"
)

// Figure prints a number in its unit with at most four significant digits, as the
// headline and the report show it: 412 ms, 0.03 %, 12,031.
func Figure(v float64, unit string) string {
	switch unit {
	case nanoseconds:
		return Span(v)
	case share:
		return Digits(100*v) + " %"
	}
	return Digits(v)
}

// Span prints ns in the unit that suits it.
func Span(ns float64) string {
	switch a := math.Abs(ns); {
	case a == 0:
		return "0 ms"
	case a < 1e3:
		return Digits(ns) + " ns"
	case a < 1e5:
		return Digits(ns/1e3) + " µs"
	case a < 1e10:
		return Digits(ns/1e6) + " ms"
	}
	return Digits(ns/1e9) + " s"
}

// Digits prints a number with at most four significant digits, whole ones from
// 1,000 up, grouped by thousands.
func Digits(v float64) string {
	a := math.Abs(v)
	if a < 1e-4 && a > 0 {
		return strconv.FormatFloat(v, 'e', 1, 64)
	}
	// Rounded first, so that 999.96 becomes 1,000 and not 1000.0.
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if rounded, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(rounded) >= 1000 {
		return Grouped(int64(math.Round(v)))
	}
	return s
}

// Grouped prints a whole number with commas.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Tokens prints a count of tokens: 24.49 M, 619,615.
func Tokens(n int64) string {
	if n < 10_000_000 {
		return Grouped(n)
	}
	return fmt.Sprintf("%s M", Digits(float64(n)/1e6))
}
