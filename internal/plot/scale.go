package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Scale says how the values of an axis become positions.
type Scale int

// The scales.
const (
	Linear Scale = iota
	Log          // base 10; values must be above 0
	Clock        // seconds, ticks at whole seconds, minutes and hours
)

// Axis is one direction of a chart.
type Axis struct {
	Scale    Scale
	Min, Max float64
	Label    string               // what is measured, and its unit
	Format   func(float64) string // of the labels; nil: Number, or ClockTime for a Clock
}

// To returns a linear axis from 0 that holds every value up to most: its end is a
// round number.
func To(most float64) Axis {
	if !(most > 0) || math.IsInf(most, 0) {
		most = 1
	}
	step := nice(most / 4)
	return Axis{Min: 0, Max: step * math.Ceil(most/step-1e-9)}
}

// Decades returns a logarithmic axis that holds every value from least to most, both
// above 0: its ends are 1, 2 or 5 times a power of ten.
func Decades(least, most float64) Axis {
	if !(least > 0) || !(most >= least) || math.IsInf(most, 0) {
		return Axis{Scale: Log, Min: 1, Max: 10}
	}
	low, high := below(least), -below(-most)
	if high < low*5 {
		high = low * 10
	}
	return Axis{Scale: Log, Min: low, Max: high}
}

// below returns the largest 1, 2 or 5 times a power of ten that is at most v; for a
// negative v that of the smallest that is at least |v|, negated.
func below(v float64) float64 {
	up := v < 0
	v = math.Abs(v)
	base := math.Pow(10, math.Floor(math.Log10(v)))
	best := base
	for _, m := range [...]float64{1, 2, 5, 10} {
		switch c := base * m; {
		case up && c >= v*(1-1e-9):
			return -c
		case !up && c <= v*(1+1e-9):
			best = c
		}
	}
	return best
}

// nice returns the 1, 2, 2.5 or 5 times a power of ten that is at least v.
func nice(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{1, 2, 2.5, 5} {
		if base*m >= v*(1-1e-9) {
			return base * m
		}
	}
	return base * 10
}

// at returns where v lies between Min (0) and Max (1); NaN for what has no place.
func (a Axis) at(v float64) float64 {
	if a.Scale == Log {
		if !(v > 0) {
			return math.NaN()
		}
		return (math.Log(v) - math.Log(a.Min)) / (math.Log(a.Max) - math.Log(a.Min))
	}
	return (v - a.Min) / (a.Max - a.Min)
}

// tick is one mark of an axis; without a text it is a minor one.
type tick struct {
	v    float64
	text string
}

// ticks returns at most about most labelled marks, in ascending order.
func (a Axis) ticks(most int) []tick {
	if !(a.Max > a.Min) || most < 1 {
		return nil
	}
	switch a.Scale {
	case Log:
		return a.logTicks(most)
	case Clock:
		return a.evenTicks(clockStep((a.Max - a.Min) / float64(most)))
	}
	return a.evenTicks(nice((a.Max - a.Min) / float64(most)))
}

func (a Axis) evenTicks(step float64) (out []tick) {
	for i := math.Ceil(a.Min/step - 1e-9); i*step <= a.Max+step*1e-9; i++ {
		out = append(out, tick{i * step, a.text(i * step)})
	}
	return out
}

// clockSteps are the distances between ticks of a clock, s.
var clockSteps = [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400}

func clockStep(least float64) float64 {
	for _, s := range clockSteps {
		if s >= least {
			return s
		}
	}
	return 86400 * nice(least/86400)
}

// logTicks marks 1, 2 and 5 of each decade where there is room for all of them, else
// whole decades, and never more than most of these.
func (a Axis) logTicks(most int) (out []tick) {
	first, last := math.Floor(math.Log10(a.Min)+1e-9), math.Ceil(math.Log10(a.Max)-1e-9)
	decades := last - first
	every := math.Max(1, math.Ceil(decades/float64(most)))
	inner := decades*3 <= float64(most)+2
	for d := first; d <= last; d++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, d)
			if v < a.Min*(1-1e-9) || v > a.Max*(1+1e-9) {
				continue
			}
			t := tick{v: v}
			if m == 1 && math.Mod(d-first, every) == 0 || inner && (m == 2 || m == 5) {
				t.text = a.text(v)
			}
			out = append(out, t)
		}
	}
	return out
}

// text is the label of a value.
func (a Axis) text(v float64) string {
	switch {
	case a.Format != nil:
		return a.Format(v)
	case a.Scale == Clock:
		return ClockTime(v)
	}
	return Number(v)
}

// Number writes v with up to four significant digits and commas between thousands.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if a := math.Abs(v); a >= 1e15 || a > 0 && a < 1e-6 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	whole, rest, _ := strings.Cut(strconv.FormatFloat(math.Abs(r), 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if r < 0 {
		whole = "−" + whole
	}
	return whole
}

// ClockTime writes seconds as m:ss, from one hour on as h:mm:ss.
func ClockTime(s float64) string {
	n := int64(math.Round(s))
	sign := ""
	if n < 0 {
		sign, n = "−", -n
	}
	if n >= 3600 {
		return fmt.Sprintf("%s%d:%02d:%02d", sign, n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%s%d:%02d", sign, n/60, n%60)
}

// Duration writes seconds in the unit that suits them: 20 µs, 500 ms, 2 s, 5 min.
func Duration(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0"
	case a < 1e-3*(1-1e-9):
		return Number(s*1e6) + " µs"
	case a < 1-1e-9:
		return Number(s*1e3) + " ms"
	case a < 300*(1-1e-9):
		return Number(s) + " s"
	case a < 7200*(1-1e-9):
		return Number(s/60) + " min"
	}
	return Number(s/3600) + " h"
}

// Percent writes a share.
func Percent(v float64) string { return Number(100*v) + " %" }
