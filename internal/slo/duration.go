package slo

import (
	"math/big"
	"strconv"
	"strings"
)

// units are the accepted suffixes of a duration with their length in ns, longest
// suffix first so that "ms" is not read as "s".
var units = [...]struct {
	suffix string
	ns     int64
}{{"min", 60e9}, {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}

// ParseDuration reads a positive decimal number with a unit (ns, us, ms, s, min) as
// whole ns. A fraction of a nanosecond is refused rather than rounded.
func ParseDuration(s string) (ns int64, ok bool) {
	for _, u := range units {
		digits, found := strings.CutSuffix(s, u.suffix)
		if !found {
			continue
		}
		if !decimal(digits) {
			return 0, false
		}
		v, _ := new(big.Rat).SetString(digits)
		v.Mul(v, new(big.Rat).SetInt64(u.ns))
		if !v.IsInt() || !v.Num().IsInt64() || v.Sign() <= 0 {
			return 0, false
		}
		return v.Num().Int64(), true
	}
	return 0, false
}

// decimal reports whether s is digits, perhaps with a point and more digits: no sign,
// no exponent, no more than 30 characters.
func decimal(s string) bool {
	whole, frac, point := strings.Cut(s, ".")
	return len(s) <= 30 && digits(whole) && (!point || digits(frac))
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Duration prints ns exactly, in the largest unit that is not larger than the value:
// 500ms, 1.5s, 50us.
func Duration(ns int64) string {
	unit, suffix := int64(1), "ns"
	switch {
	case ns >= 1e9:
		unit, suffix = 1e9, "s"
	case ns >= 1e6:
		unit, suffix = 1e6, "ms"
	case ns >= 1e3:
		unit, suffix = 1e3, "us"
	}
	s := strconv.FormatInt(ns/unit, 10)
	if rest := ns % unit; rest != 0 {
		frac := strconv.FormatInt(unit+rest, 10)[1:] // leading zeros kept
		s += "." + strings.TrimRight(frac, "0")
	}
	return s + suffix
}

// ParseShare reads "1%" or "0.01" as a number in [0, 1].
func ParseShare(s string) (float64, bool) {
	num, percent := strings.CutSuffix(s, "%")
	if !decimal(num) {
		return 0, false
	}
	v, _ := new(big.Rat).SetString(num)
	if percent {
		v.Quo(v, new(big.Rat).SetInt64(100))
	}
	if v.Cmp(new(big.Rat).SetInt64(1)) > 0 {
		return 0, false
	}
	f, _ := v.Float64()
	return f, true
}

// Percent prints a share as a percentage without trailing zeros: 1%, 0.05%.
func Percent(share float64) string {
	return strconv.FormatFloat(Round(share*100), 'f', -1, 64) + "%"
}

// Round drops what binary arithmetic adds behind the twelfth significant digit.
func Round(x float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return r
}
