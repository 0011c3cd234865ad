package calibrate

import (
	"cmp"
	"math"
	"slices"

	"hydrant/formats/run"
)

// Range says where a search looks. Loads are multiples of one load.
type Range struct {
	Start float64 // tried first
	Most  float64 // the largest tried; a ceiling there is a lower bound
	Grow  float64 // from one load to the next while they come through
	Fine  float64 // the search ends when the ceiling lies between two loads as near
	Hold  float64 // the load that has to hold; 0: none
}

const (
	lowest = 1.0 / 1024 // of Start: what cannot do that is no generator
	gross  = 0.9        // a load of which less was achieved broke for sure; another is tried again
	inside = 0.92       // of what was achieved above the ceiling, as the next guess
	almost = 0.99       // equal, but for rounding
)

// Search looks for the largest load that comes through, smaller loads first; when the load
// that has to hold comes through and does not hold, for the largest that holds. trial tries
// a multiple of the load; more reports whether there is time for another. A load that broke
// narrowly while the loads still grew is tried once more, since a shared host can do that.
// Search returns every load tried, ascending; an error of trial ends it, with those so far.
func Search(r Range, more func() bool, trial func(times float64) (run.Point, error)) ([]run.Point, error) {
	s := search{r: r}
	for times := r.Start; times > 0; times = s.next() {
		p, err := trial(times)
		if err != nil {
			return s.ascending(), err
		}
		s.add(times, p)
		if !more() {
			break
		}
	}
	return s.ascending(), nil
}

// search is the state of Search.
type search struct {
	r      Range
	tried  []tried // in order; a load that was tried again stands for its first trial too
	again  bool    // the last one is to be tried again
	second bool    // the last one was
	guess  float64 // of the ceiling, from what was achieved above it; 0: none
}

type tried struct {
	times float64
	p     run.Point
}

// add takes in a trial.
func (s *search) add(times float64, p run.Point) {
	_, before := s.bounds()
	if s.second = s.again; s.second {
		s.tried = s.tried[:len(s.tried)-1]
	}
	s.tried = append(s.tried, tried{times, p})
	s.again, s.guess = false, 0
	if s.fits(s.tried[len(s.tried)-1]) {
		return
	}
	share := achieved(p)
	if share < gross {
		s.guess = times * share * inside
	}
	s.again = share >= gross && !s.second && math.IsInf(before, 1)
}

// achieved is the part of the load that came through.
func achieved(p run.Point) float64 {
	share := p.SentShare
	if p.Offered.EventsPS > 0 {
		share = min(share, p.Sent.EventsPS/p.Offered.EventsPS)
	}
	return share
}

// strict reports whether loads up to Hold have to hold: they come through, so that nothing
// else limits the ceiling.
func (s *search) strict() bool {
	return slices.ContainsFunc(s.tried, func(t tried) bool {
		return s.r.Hold > 0 && t.times >= almost*s.r.Hold && t.p.Through && !t.p.Held
	}) && !slices.ContainsFunc(s.tried, func(t tried) bool { return t.times >= almost*s.r.Hold && t.p.Held })
}

// fits reports whether a load is within what the client can do.
func (s *search) fits(t tried) bool {
	if s.strict() {
		return t.p.Held
	}
	return t.p.Through
}

// bounds returns the largest load that fits below the smallest that does not, and that one.
func (s *search) bounds() (low, high float64) {
	high = math.Inf(1)
	for _, t := range s.tried {
		if !s.fits(t) {
			high = min(high, t.times)
		}
	}
	for _, t := range s.tried {
		if t.times < high {
			low = max(low, t.times)
		}
	}
	return low, high
}

// next returns the load to try next, 0 for none.
func (s *search) next() float64 {
	low, high := s.bounds()
	switch {
	case s.again:
		return s.tried[len(s.tried)-1].times
	case math.IsInf(high, 1): // all fit
		if low >= s.r.Most {
			return 0
		}
		return min(low*s.r.Grow, s.r.Most)
	case low == 0: // none does
		switch {
		case high <= s.r.Start*lowest:
			return 0
		case s.guess > 0:
			return max(s.guess, high/16)
		}
		return high / 2
	case high/low <= s.r.Fine:
		return 0
	case s.guess > low*math.Sqrt(s.r.Fine) && s.guess < high/math.Sqrt(s.r.Fine):
		return s.guess
	}
	return math.Sqrt(low * high)
}

// ascending returns every load tried.
func (s *search) ascending() []run.Point {
	slices.SortStableFunc(s.tried, func(a, b tried) int { return cmp.Compare(a.times, b.times) })
	points := make([]run.Point, len(s.tried))
	for i, t := range s.tried {
		points[i] = t.p
	}
	return points
}
