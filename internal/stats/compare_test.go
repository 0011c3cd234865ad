package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The printed vectors of the reference: p99 in ms of five runs against five.
func TestCompareVectors(t *testing.T) {
	base := []float64{412, 405, 421, 409, 418}
	for _, c := range []struct {
		candidate []float64
		want      string
	}{
		{[]float64{455, 447, 470, 462, 451}, "1.1065 1.0776–1.1361 1.0832–1.1303 2/252 WORSE"},
		{[]float64{414, 408, 425, 411, 416}, "1.0044 0.9817–1.0275 0.9861–1.0230 168/252 SAME"},
		{[]float64{425, 418, 433, 421, 428}, "1.0291 1.0070–1.0516 1.0113–1.0472 10/252 SAME"},
		{[]float64{430, 398, 455, 402, 441}, "1.0283 0.9575–1.1042 0.9728–1.0869 82/252 CANNOT TELL"},
	} {
		x, ok := Compare(base, c.candidate)
		got := fmt.Sprintf("%.4f %.4f–%.4f %.4f–%.4f %d/%d %s", x.Ratio, x.Low, x.High, x.Low90, x.High90, x.Extreme, x.All, x.Judge(math.Log(1.05)))
		if !ok || got != c.want {
			t.Errorf("%v: %s; want %s", c.candidate, got, c.want)
		}
		back, _ := Compare(c.candidate, base)
		if math.Abs(back.Ratio*x.Ratio-1) > 1e-12 || back.Extreme != x.Extreme {
			t.Errorf("%v the other way round: ratio %v, %d; want the mirror image", c.candidate, back.Ratio, back.Extreme)
		}
	}
	if x, _ := Compare([]float64{455, 447, 470, 462, 451}, base); x.Judge(math.Log(1.05)) != Better {
		t.Errorf("the mirror image of WORSE: %s; want BETTER", x.Judge(math.Log(1.05)))
	}
}

// The smallest chance that the divisions of 3+3, 4+4 and 5+5 runs can give.
func TestSmallestPermutationChance(t *testing.T) {
	for n, want := range map[int]string{3: "0.10", 4: "0.029", 5: "0.0079"} {
		low, high := make([]float64, n), make([]float64, n)
		for i := range n {
			low[i], high[i] = 100+float64(i), 200+float64(i)
		}
		x, ok := Compare(low, high)
		if got := fmt.Sprintf("%.*f", len(want)-2, x.P); !ok || got != want {
			t.Errorf("%d+%d: %s; want %s", n, n, got, want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, c := range [][2][]float64{{{1}, {1, 2}}, {{1, 2}, {1}}, {{0, 1}, {1, 2}}, {{1, 2}, {math.NaN(), 1}}, {make([]float64, 13), make([]float64, 14)}} {
		if _, ok := Compare(c[0], c[1]); ok {
			t.Errorf("%v against %v is compared; want a refusal", c[0], c[1])
		}
	}
	x, ok := Compare([]float64{100, 100}, []float64{110, 110})
	if !ok || x.Low != x.High || x.Judge(math.Log(1.05)) != Worse {
		t.Errorf("runs that agree to the digit: %+v; want an interval of one point, WORSE", x)
	}
}

// Equal sides are seldom called WORSE or BETTER: the 95 % interval holds what it says.
func TestCompareSeldomAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const runs = 4000
	alarms := 0
	for range runs {
		side := func() []float64 {
			x := make([]float64, 5)
			for i := range x {
				x[i] = math.Exp(r.NormFloat64() * 0.1)
			}
			return x
		}
		if x, _ := Compare(side(), side()); x.Low > 1 || x.High < 1 {
			alarms++
		}
	}
	if share := float64(alarms) / runs; share < 0.03 || share > 0.06 {
		t.Errorf("the interval leaves 1 out in %.3f of equal sides; want about 0.05", share)
	}
}
