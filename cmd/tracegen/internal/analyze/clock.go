package analyze

import (
	"fmt"
	"math"
	"math/big"

	"hydrant/formats"
	"hydrant/internal/stats"
)

// clock gathers the figures of time. Times come in ascending order.
type clock struct {
	n, untimed  int64
	ties        int64 // requests at the instant of the one before
	first, last int64
	gaps        stats.Sum // squares of the gaps, ns²
	windows     [len(windowWidths)]window
	rate, fine  series
}

// windowWidths are those at which arrivals are counted, ns.
var windowWidths = [...]int64{1e9, 10e9, 60e9}

// Caps of the series of counts: at the next window two neighbours become one.
const (
	maxRateWindows = 1 << 14
	maxFineWindows = 1 << 9 // two pixels each
)

func newClock(rateWidth int64) clock {
	return clock{rate: series{width: rateWidth, most: maxRateWindows}, fine: series{width: 1e9, most: maxFineWindows}}
}

func (c *clock) add(at formats.Int) error {
	if !at.Valid {
		c.untimed++
		return nil
	}
	if c.n == 0 {
		c.first, c.last = at.V, at.V
	}
	gap := at.V - c.last
	if gap < 0 {
		return fmt.Errorf("at_ns: got \"%d\", want at least %d, the time of a request before", at.V, c.last)
	}
	if gap == 0 && c.n > 0 {
		c.ties++
	}
	c.n++
	c.last = at.V
	c.gaps.AddProduct(gap, gap)
	offset := at.V - c.first
	for i := range c.windows {
		c.windows[i].add(offset / windowWidths[i])
	}
	c.rate.add(offset)
	c.fine.add(offset)
	return nil
}

// window counts requests in windows of one width that follow each other.
type window struct {
	at      int64 // number of the window in hand, from 0
	count   int64 // in it
	most    int64
	busy    int64 // windows with a request
	squares stats.Sum
}

func (w *window) add(at int64) {
	if at != w.at {
		w.shut()
		w.at = at
	}
	w.count++
}

// shut ends the window in hand.
func (w *window) shut() {
	if w.count > 0 {
		w.squares.AddProduct(w.count, w.count)
		w.most = max(w.most, w.count)
		w.busy++
		w.count = 0
	}
}

// series counts requests in windows that become wider where they are too many.
type series struct {
	width  int64
	most   int
	counts []int64
}

func (s *series) add(offset int64) {
	for offset/s.width >= int64(s.most) {
		for i, n := range s.counts {
			if i%2 == 0 {
				s.counts[i/2] = n
			} else {
				s.counts[i/2] += n
			}
		}
		s.counts = s.counts[:(len(s.counts)+1)/2]
		s.width *= 2
	}
	for k := int(offset / s.width); k >= len(s.counts); {
		s.counts = append(s.counts, 0)
	}
	s.counts[offset/s.width]++
}

// figures ends the windows.
func (c *clock) figures() Time {
	t := Time{Timed: c.n, Untimed: c.untimed, Ties: c.ties, Rate: Rate{WidthNS: c.rate.width, Counts: c.rate.counts}}
	if c.n > 0 {
		t.FirstNS, t.LastNS, t.SpanNS = formats.Some(c.first), formats.Some(c.last), formats.Some(c.last-c.first)
		t.Instants = c.n - c.ties
	}
	span := c.last - c.first
	if span > 0 {
		rate := float64(c.n) / (float64(span) / 1e9)
		t.RatePerS = &rate
		t.GapCV = c.gapCV(span)
	}
	for i := range c.windows {
		w := &c.windows[i]
		w.shut()
		f := Window{WidthNS: windowWidths[i], Most: w.most}
		if c.n > 0 {
			f.Windows = span/f.WidthNS + 1
			f.Empty = f.Windows - w.busy
			mean := float64(c.n) / float64(f.Windows)
			peak := float64(w.most) * float64(f.Windows) / float64(c.n)
			idc := stats.Dispersion(f.Windows, c.n, w.squares)
			f.Mean, f.PeakToMean, f.IDC = &mean, &peak, &idc
		}
		t.Windows = append(t.Windows, f)
	}
	return t
}

// gapCV is the population standard deviation of the gaps over their mean: with m gaps g,
// √(m·Σg² − (Σg)²) / Σg, the difference in whole numbers.
func (c *clock) gapCV(span int64) *float64 {
	sum := big.NewInt(span)
	square := new(big.Int).Mul(sum, sum)
	top := new(big.Int).Mul(big.NewInt(c.n-1), c.gaps.Big())
	f, _ := new(big.Rat).SetFrac(top.Sub(top, square), square).Float64()
	cv := math.Sqrt(f)
	return &cv
}
