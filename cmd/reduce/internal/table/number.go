package table

import (
	"math"
	"strconv"
	"strings"
)

// absent stands for a figure that was refused or not measured.
const absent = "–"

// count writes a whole number with a comma between groups of three digits.
func count(n int64) string { return group(strconv.FormatInt(n, 10)) }

func group(s string) string {
	whole, rest, dot := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var b strings.Builder
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if dot {
		b.WriteString("." + rest)
	}
	return sign + b.String()
}

// figure writes v with three significant digits, four from 1,000 on.
func figure(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return absent
	}
	if v == 0 {
		return "0"
	}
	digits := 3
	if math.Abs(v) >= 1000 {
		digits = 4
	}
	// Rounding to significant digits may carry into a new one, so the exponent is
	// that of the rounded number.
	s := strconv.FormatFloat(v, 'e', digits-1, 64)
	_, e, _ := strings.Cut(s, "e")
	exponent, _ := strconv.Atoi(e)
	rounded, _ := strconv.ParseFloat(s, 64)
	if exponent < -6 {
		return strconv.FormatFloat(rounded, 'g', digits, 64)
	}
	return group(strconv.FormatFloat(rounded, 'f', max(0, digits-1-exponent), 64))
}

// many writes a count that may be large: in millions from ten million on.
func many(n int64) string {
	if n >= 10_000_000 {
		return figure(float64(n)/1e6) + " M"
	}
	return count(n)
}

// percent writes a share.
func percent(v float64) string { return figure(100*v) + " %" }

// span writes a length of time in the unit that suits it.
func span(seconds float64) string {
	switch {
	case seconds >= 5400:
		return figure(seconds/3600) + " h"
	case seconds >= 120:
		return figure(seconds/60) + " min"
	case seconds >= 1:
		return figure(seconds) + " s"
	}
	return figure(seconds*1000) + " ms"
}

// unit is how a row shows its values.
type unit struct {
	name  string
	scale float64 // from the metric's unit
}

// unitFor chooses the unit of a row from its metric's unit and a typical value.
func unitFor(metric string, typical float64) unit {
	switch {
	case metric == "ns" && typical >= 10e9:
		return unit{"s", 1e-9}
	case metric == "ns" && typical < 100e3 && typical > 0:
		return unit{"µs", 1e-3}
	case metric == "ns":
		return unit{"ms", 1e-6}
	case metric == "0.001 tokens/s":
		return unit{"tok/s", 1e-3}
	}
	return unit{"", 1}
}
