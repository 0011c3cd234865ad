package arrivals

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Segment is a stretch of time over which the rate goes in a straight line. A series
// of rates is a list of level ones.
type Segment struct {
	Seconds  float64 // how long; +Inf for a last level one
	From, To float64 // arrivals per second
}

// load is the number of arrivals to expect.
func (s Segment) load() float64 {
	if s.From == 0 && s.To == 0 {
		return 0
	}
	return s.Seconds * (s.From + s.To) / 2
}

// at returns when the expected number of arrivals reaches u, in seconds from the
// start: T·(√(r0² + 2(r1−r0)u/T) − r0)/(r1−r0), written so that nothing cancels when
// the two rates are close.
func (s Segment) at(u float64) float64 {
	if u == 0 {
		return 0
	}
	slope := (s.To - s.From) / s.Seconds // 0 when endless
	return 2 * u / (s.From + math.Sqrt(math.Max(0, s.From*s.From+2*slope*u)))
}

func (s Segment) check() error {
	switch bad := func(v float64) bool { return !(v >= 0) || math.IsInf(v, 0) }; {
	case !(s.Seconds > 0):
		return fmt.Errorf("got %v seconds, want more than 0", s.Seconds)
	case bad(s.From) || bad(s.To):
		return fmt.Errorf("got a rate from %v to %v, want numbers of at least 0", s.From, s.To)
	case math.IsInf(s.Seconds, 1) && s.From != s.To:
		return errors.New("got a ramp without an end, want its length")
	}
	return nil
}

// Times yields instants along a rate. Arrivals at unit rate are drawn and put where
// the integral of the rate reaches them, so that bursts keep their shape while the
// rate changes, and a stretch of rate 0 has none. The first comes after one gap.
type Times struct {
	r        *rand.Rand
	p        Process
	segments []Segment
	u        float64 // arrivals at unit rate, the running sum
	before   float64 // load of the segments gone by
	start    float64 // of the first segment left, s
}

// NewTimes draws gaps of p from r along the segments.
func NewTimes(r *rand.Rand, p Process, segments []Segment) (*Times, error) {
	for i, s := range segments {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("rate segment %d: %w", i+1, err)
		}
	}
	return &Times{r: r, p: p, segments: segments}, nil
}

// Next returns the next instant in ns; false when the segments are over, or after 292
// years. Each is rounded once, from the running sum.
func (t *Times) Next() (ns int64, ok bool) {
	if len(t.segments) == 0 {
		return 0, false
	}
	t.u += t.p.Gap(t.r)
	for len(t.segments) > 0 {
		s := t.segments[0]
		load := s.load()
		if left := t.u - t.before; load > 0 && left <= load {
			return nanoseconds(t.start + min(s.at(left), s.Seconds))
		}
		t.before += load
		t.start += s.Seconds
		t.segments = t.segments[1:]
	}
	return 0, false
}

// nanoseconds rounds seconds half away from zero.
func nanoseconds(s float64) (int64, bool) {
	ns := math.Round(s * 1e9)
	if !(ns < math.MaxInt64) {
		return 0, false
	}
	return int64(ns), true
}

// Spread returns a function that yields n+1 instants from 0 to span, in ns: the
// partial sums of n gaps of p, scaled so that they sum to span. So count, span and mean
// rate are equal for all shapes. The gaps are drawn twice from what open returns, a new
// stream of the same draws each time, so that none has to be kept.
func Spread(open func() *rand.Rand, p Process, n, span int64) func() int64 {
	total, r := 0.0, open()
	for range n {
		total += p.Gap(r)
	}
	if !(total > 0) { // every gap too small for a float64
		total, p = float64(n), Process{}
	}
	r = open()
	at, i := 0.0, int64(-1)
	return func() int64 {
		i++
		switch {
		case i == 0:
			return 0
		case i >= n:
			return span
		}
		at += p.Gap(r)
		return min(int64(math.Round(at/total*float64(span))), span)
	}
}
