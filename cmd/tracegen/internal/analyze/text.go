package analyze

import (
	"math"
	"strconv"
	"strings"
	"time"

	"hydrant/formats"
	"hydrant/internal/plot"
)

// absent stands for a figure that is not known.
const absent = "–"

// grouped prints 12031 as 12,031.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted prints a count of things.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// short prints a count that would be too long for a column: 41.23 G.
func short(n int64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}} {
		if v := float64(n) / u.of; v >= 1 {
			return plot.Number(v) + " " + u.name
		}
	}
	return grouped(n)
}

// tokens prints the size of a cache as it may be given: 10M.
func tokens(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.of && n%u.of == 0 {
			return grouped(n/u.of) + u.name
		}
	}
	return grouped(n)
}

// sizeUnits are the units of a number of tokens, powers of ten.
var sizeUnits = []struct {
	name string
	of   int64
}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}

// ParseTokens reads a number of tokens of at least 1, such as 512, 10M or 1.5G.
func ParseTokens(text string) (n int64, ok bool) {
	unit := int64(1)
	for _, u := range sizeUnits {
		if rest, found := strings.CutSuffix(text, u.name); found {
			text, unit = rest, u.of
			break
		}
	}
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || point && fraction == "" {
		return 0, false
	}
	for _, c := range fraction {
		if unit%10 != 0 { // finer than a token
			return 0, false
		}
		unit /= 10
		whole += string(c)
	}
	for _, c := range whole {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return 0, false
	}
	return n * unit, true
}

// duration prints a length of time in the unit that fits.
func duration(ns int64) string { return plot.Duration(time.Duration(ns).Seconds()) }

// brief is the same with three significant digits, for a column of a table.
func brief(ns int64) string {
	v, unit := float64(ns), "h"
	for _, u := range []struct {
		name string
		of   float64 // ns
		to   float64 // up to here
	}{{"µs", 1e3, 1e6}, {"ms", 1e6, 1e9}, {"s", 1e9, 300e9}, {"min", 60e9, 7200e9}, {"h", 3600e9, math.Inf(1)}} {
		if float64(ns) < u.to {
			v, unit = v/u.of, u.name
			break
		}
	}
	if v < 1000 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	}
	if v == 0 {
		return "0"
	}
	return plot.Number(v) + " " + unit
}

func nullable(v formats.Int, show func(int64) string) string {
	if !v.Valid {
		return absent
	}
	return show(v.V)
}

func number(v *float64) string {
	if v == nil {
		return absent
	}
	return plot.Number(*v)
}

func percent(v *float64) string {
	if v == nil {
		return absent
	}
	return strconv.FormatFloat(100**v, 'f', 2, 64) + " %"
}
