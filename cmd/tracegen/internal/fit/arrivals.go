package fit

import (
	"math"
	"slices"
	"strconv"

	"hydrant/internal/arrivals"
)

// IDC returns the index of dispersion of instants: the population variance of their
// counts in windows of a width, over the mean. Windows begin at the first instant, the
// last one counts although it is cut. NaN without instants. Instants are sorted, ns.
func IDC(at []int64, width int64) float64 {
	if len(at) == 0 {
		return math.NaN()
	}
	windows := float64((at[len(at)-1]-at[0])/width + 1)
	squares := 0.0
	for i := 0; i < len(at); {
		w, n := (at[i]-at[0])/width, 0.0
		for ; i < len(at) && (at[i]-at[0])/width == w; i++ {
			n++
		}
		squares += n * n
	}
	mean := float64(len(at)) / windows
	return (squares/windows - mean*mean) / mean
}

// grid returns the step of the clock by which arrivals were gathered, 0 if they were
// not: many at one instant, and instants that are a step apart.
func grid(at []int64) int64 {
	var gaps []int64
	for i := 1; i < len(at); i++ {
		if d := at[i] - at[i-1]; d > 0 {
			gaps = append(gaps, d)
		}
	}
	if len(gaps) < 10 || len(gaps)+1 > len(at)*4/5 {
		return 0
	}
	slices.Sort(gaps)
	step := gaps[len(gaps)/2]
	off := 0
	for _, g := range gaps {
		// A fiftieth of a step is jitter of the clock.
		if r := g % step; g < step/2 || min(r, step-r) > step/50 {
			off++
		}
	}
	if off > len(gaps)/20 {
		return 0
	}
	return step
}

// together tells whether more than half of the instants, sorted, are one: a collection
// of traces that each have a clock of their own.
func together(at []int64) bool {
	n := 0
	for i := range at {
		if i == 0 || at[i] != at[i-1] {
			n = 0
		}
		if n++; n > len(at)/2 {
			return true
		}
	}
	return len(at) == 0
}

// widths of the windows of a rate, s. The finest one whose counts say more about the
// rate than about chance is taken.
var widths = []int64{10, 30, 60, 120, 300, 600, 1800, 3600}

const (
	maxWindows = 4000 // of a series, so that a description stays readable
	signal     = 4    // dispersion from which counts show the rate: three parts of four
	second     = int64(1e9)
)

// load is how sessions begin: a rate over time and the shape of the gaps.
type load struct {
	gridNS  int64
	width   int64 // ns; 0: one rate
	rate    []arrivals.Segment
	process arrivals.Process
	endNS   int64
}

// fitLoad fits the starts of sessions, sorted, ns from the schedule's zero.
func fitLoad(at []int64) load {
	l := load{gridNS: grid(at)}
	last := at[len(at)-1]
	switch step := max(l.gridNS, second); {
	case last > math.MaxInt64-step:
		l.endNS = math.MaxInt64 / second * second
	case l.gridNS > 0:
		l.endNS = last + l.gridNS
	default:
		l.endNS = (last/second + 1) * second // a number that people can read
	}
	for _, s := range widths {
		w := s * second
		if l.gridNS > w {
			w = l.gridNS
		} else if l.gridNS > 0 {
			w = (w + l.gridNS - 1) / l.gridNS * l.gridNS
		}
		if l.endNS/w < 2 {
			break
		}
		if l.endNS/w <= maxWindows && IDC(at, w) >= signal {
			l.width = w
			break
		}
	}
	l.process, _ = arrivals.NewProcess(arrivals.Poisson, 0)
	// The counts of a window hold the chance of the process on top of the rate, and the
	// process depends on the rate: two more rounds settle both.
	noise := 1.0
	target := IDC(at, second)
	for range 3 {
		l.rate = l.series(at, noise)
		k := l.burstiness(target)
		l.process, _ = arrivals.NewProcess(arrivals.Gamma, k)
		noise = 1 / k
	}
	return l
}

// series returns the rate of each window. Counts are drawn towards their mean by the
// share of their dispersion that is noise, so that a schedule drawn from them is as
// dispersed as the trace; a window without arrivals stays empty.
func (l *load) series(at []int64, noise float64) []arrivals.Segment {
	if l.width == 0 {
		v := rounded(float64(len(at)) / (float64(l.endNS) / 1e9))
		return []arrivals.Segment{{Seconds: float64(l.endNS) / 1e9, From: v, To: v}}
	}
	n := int((l.endNS-1)/l.width + 1)
	counts := make([]float64, n)
	for _, t := range at {
		counts[t/l.width]++
	}
	// A last window that is cut short says little by itself.
	cut := float64(l.endNS-int64(n-1)*l.width) / float64(l.width)
	length := make([]float64, n) // in windows
	for i := range length {
		length[i] = 1
	}
	length[n-1] = cut
	if cut < 0.5 {
		both := counts[n-2] + counts[n-1]
		counts[n-2], counts[n-1] = both/(1+cut), both*cut/(1+cut)
	}
	mean := float64(len(at)) * float64(l.width) / float64(l.endNS)
	d := IDC(at, l.width)
	keep := math.Sqrt(max(0, d-min(noise, d)) / d)
	sum := 0.0
	for i, c := range counts {
		if c > 0 {
			counts[i] = max(0, mean+keep*(c/length[i]-mean))
		}
		sum += counts[i] * length[i]
	}
	out := make([]arrivals.Segment, n)
	for i, c := range counts {
		v := rounded(c * float64(len(at)) / sum / (float64(l.width) / 1e9))
		out[i] = arrivals.Segment{Seconds: float64(l.width) / 1e9, From: v, To: v}
	}
	return out
}

// rounded keeps four significant digits, for people who read a description.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return v
}

// Bounds of the shape, as far as a gamma's shape matters.
const (
	minShape = 0.01
	maxShape = 100
)

// burstiness returns the shape of gamma gaps with which the rate gives the wanted
// dispersion at 1 s, by halving: more bursts, more dispersion.
func (l *load) burstiness(target float64) float64 {
	low, high := math.Log(minShape), math.Log(maxShape)
	for range 16 {
		mid := (low + high) / 2
		if l.dispersion(math.Exp(mid)) > target {
			low = mid
		} else {
			high = mid
		}
	}
	return rounded(math.Exp((low + high) / 2))
}

// trials is how many arrivals are drawn to know a dispersion, at least once around.
const trials = 100_000

// dispersion returns the mean dispersion at 1 s of several draws with a shape.
func (l *load) dispersion(k float64) float64 {
	p, _ := arrivals.NewProcess(arrivals.Gamma, k)
	var sum float64
	var drawn, runs int64
	var at []int64
	for drawn < trials && runs < 64 {
		times, err := arrivals.NewTimes(arrivals.Stream(runs, "fit/gaps", ""), p, l.rate)
		if err != nil {
			panic("internal error: a fitted rate: " + err.Error())
		}
		at = at[:0]
		for {
			t, ok := times.Next()
			if !ok || t >= l.endNS {
				break
			}
			if l.gridNS > 0 {
				t -= t % l.gridNS
			}
			at = append(at, t)
		}
		runs++
		drawn += int64(len(at))
		if len(at) > 0 {
			sum += IDC(at, second)
		}
	}
	return sum / float64(runs)
}
