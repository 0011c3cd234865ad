package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A line has no residual, whatever its slope; what is put on top of it comes back.
func TestResidual(t *testing.T) {
	line := make([]int64, 500)
	wave := make([]int64, 500)
	for i := range line {
		line[i] = 7 + 3*int64(i)
		wave[i] = line[i] + int64(20*(1-2*(i%2)))
	}
	if got := Residual(line); got > 1e-6 {
		t.Errorf("a line: %v; want 0", got)
	}
	if got := Residual(wave); math.Abs(got-20) > 0.01 {
		t.Errorf("20 up and down on a line: %v; want 20", got)
	}
	for _, short := range [][]int64{nil, {1}, {1, 5}} {
		if got := Residual(short); !math.IsNaN(got) {
			t.Errorf("%v: %v; want NaN", short, got)
		}
	}
}

// The slow version: try every line near the best one, none leaves less.
func TestResidualIsTheLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		values := make([]int64, 3+r.IntN(40))
		for i := range values {
			values[i] = int64(r.IntN(200)) + int64(i*r.IntN(5))
		}
		least := math.Inf(1)
		lineOf := func(a, b float64) float64 {
			var s float64
			for i, v := range values {
				d := float64(v) - a - b*float64(i)
				s += d * d
			}
			return math.Sqrt(s / float64(len(values)))
		}
		// Golden descent over slope; for a slope the best offset is the mean rest.
		at := func(b float64) float64 {
			var a float64
			for i, v := range values {
				a += float64(v) - b*float64(i)
			}
			return lineOf(a/float64(len(values)), b)
		}
		low, high := -300.0, 300.0
		for range 200 {
			x, y := low+(high-low)/3, high-(high-low)/3
			if at(x) < at(y) {
				high = y
			} else {
				low = x
			}
			least = min(least, at((low+high)/2))
		}
		if got := Residual(values); math.Abs(got-least) > 1e-6*max(1, least) {
			t.Errorf("%v: %v; want %v", values, got, least)
		}
	}
}
