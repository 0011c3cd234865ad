package plot

import (
	"math"
	"slices"
)

// Line is one series. A NaN is a gap. Without Step, X and Y are points joined by
// straight lines; with Step, Y[i] holds from X[i] to X[i+1], so X has one more.
type Line struct {
	Name  string
	Color int // 0 is the quiet one, 1 to 5 stand out
	X, Y  []float64
	Step  bool
	Dash  bool
	Area  bool // filled down to the axis, without a stroke
}

// Band is the area between two lines over the same points. A NaN is a gap.
type Band struct {
	Name         string
	Color        int
	X, Low, High []float64
}

// Points are single values.
type Points struct {
	Name  string
	Color int
	X, Y  []float64
}

// Rule is a limit: a line across the chart, upright at a value of X unless Level.
type Rule struct {
	At    float64
	Level bool // it lies at a value of Y
	Text  string
}

// Rug marks instants at the upper edge, such as failures.
type Rug struct {
	Name string
	X    []float64
}

// Shade marks a stretch of X that is not part of what is measured.
type Shade struct {
	From, To float64
	Text     string
}

// Slot is a stretch of X that shows values when pointed at.
type Slot struct {
	From, To float64
	Lines    []string // the first is its head
	Dots     []Dot
}

// Dot is a value that a slot points out.
type Dot struct {
	Color int
	X, Y  float64
}

// CDF returns the share of total that the ascending values have reached, as steps over
// x. It keeps one step per pixel of a chart this wide: more cannot be seen. A total
// larger than the number of values leaves the rest at infinity.
func CDF(sorted []float64, total int, x Axis, pixels int) Line {
	l := Line{Step: true, X: []float64{x.Min}, Y: []float64{0}}
	if total < 1 {
		return Line{Step: true}
	}
	column := func(v float64) int {
		if at := x.at(v); at > 0 { // NaN and what lies left of the axis count at its start
			return int(math.Min(at, 1) * float64(pixels))
		}
		return 0
	}
	for i := 0; i < len(sorted); {
		// The last value of the same pixel stands for all of them.
		k := column(sorted[i])
		j := i + 1
		for j < len(sorted) && column(sorted[j]) == k {
			j++
		}
		y := float64(j) / float64(total)
		if at := math.Max(sorted[j-1], x.Min); at <= l.X[len(l.X)-1] {
			l.Y[len(l.Y)-1] = y
		} else {
			l.X, l.Y = append(l.X, at), append(l.Y, y)
		}
		i = j
	}
	l.X = append(l.X, math.Max(x.Max, l.X[len(l.X)-1]))
	return l
}

// Reached is the share of total that is at most v.
func Reached(sorted []float64, total int, v float64) float64 {
	n, _ := slices.BinarySearchFunc(sorted, v, func(a, v float64) int {
		if a <= v {
			return -1
		}
		return 1
	})
	return float64(n) / float64(total)
}
