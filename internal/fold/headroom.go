package fold

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// calibrated are the scalars that need a calibration.
var calibrated = [...]string{"headroom_requests", "headroom_events", "headroom_bytes", "headroom", "headroom_peak",
	"kappa_null", "kappa_excess", "same_read_null", "same_read_excess"}

// margin is what one part's generator can do more than it was asked to.
type margin struct {
	requests, events, bytes, peak float64 // NaN: not known
	kappa, sameRead               float64 // of the null run at the offered load
}

// headroom holds the load against what each part's generator could do, and takes the
// least of the parts.
func (f *fold) headroom() {
	all := margin{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	for i, p := range f.parts {
		c, reason := p.calibration()
		if reason != "" {
			if len(f.parts) > 1 {
				reason = fmt.Sprintf("part %d: %s", i, reason)
			}
			f.sheet.noneOf(reason, calibrated[:]...)
			return
		}
		m := f.marginOf(int64(i), c)
		all.requests, all.events, all.bytes = lower(all.requests, m.requests), lower(all.events, m.events), lower(all.bytes, m.bytes)
		all.peak = lower(all.peak, m.peak)
		all.kappa, all.sameRead = lower(all.kappa, m.kappa), lower(all.sameRead, m.sameRead)
	}
	s, n := f.sheet, int64(len(f.parts))
	const noLoad = "no load of this kind was offered"
	s.set("headroom_requests", all.requests, n, noLoad)
	s.set("headroom_events", all.events, n, noLoad)
	s.set("headroom_bytes", all.bytes, n, noLoad)
	least, which := math.NaN(), ""
	for _, x := range []struct {
		v    float64
		name string
	}{{all.requests, "requests"}, {all.events, "events"}, {all.bytes, "bytes"}} {
		if x.v < least || math.IsNaN(least) {
			least, which = x.v, x.name
		}
	}
	s.set("headroom", least, n, noLoad).Evidence = which
	s.set("headroom_peak", all.peak, n, noLoad)
	const noKappa = "the null run at the offered load counted no segments"
	s.set("kappa_null", all.kappa, n, noKappa)
	s.excess("kappa_excess", "kappa", all.kappa, noKappa)
	const noGaps = "the null run at the offered load had no kernel stamps"
	s.set("same_read_null", all.sameRead, n, noGaps)
	s.excess("same_read_excess", "same_read_gaps", all.sameRead, noGaps)
}

// excess sets a scalar to another one less its value in the null run.
func (s *sheet) excess(id, of string, null float64, reason string) {
	x := s.values[of]
	if x.Value == nil {
		s.none(id, x.Reason)
		return
	}
	s.set(id, *x.Value-null, x.N, reason)
}

// lower returns the smaller of two numbers of which either may be missing.
func lower(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

// calibration returns that of a part, or why it proves nothing about the run.
func (p *part) calibration() (*run.Calibration, string) {
	const none = "the run was not calibrated"
	c := p.end.Detail.Calibration
	if c == nil {
		return nil, none
	}
	if c.Ceiling == nil {
		return nil, cmp.Or(c.Reason, none)
	}
	h := &p.header
	for _, x := range []struct{ what, got, want string }{
		{"host", c.Host.Hostname, h.Host.Hostname}, {"kernel", c.Host.Kernel, h.Host.Kernel}, {"Go version", c.Host.Go, h.Host.Go},
		{"number of CPUs", fmt.Sprint(c.Host.CPUsAllowed), fmt.Sprint(h.Host.CPUsAllowed)}, {"build", c.Build, h.Build}, {"engine", c.Engine, h.Engine},
		{"number of workers", fmt.Sprint(c.Workers), fmt.Sprint(h.Workers)}, {"endpoint", c.Profile.Endpoint, h.Endpoint},
		{"streaming", fmt.Sprint(c.Profile.Streaming), fmt.Sprint(h.Streaming)}, {"kind of prompt", c.Profile.Prompt, h.Prompt},
		{"setting of --chunks", c.Profile.ChunkLists, h.ChunkLists}, {"GOMAXPROCS", fmt.Sprint(c.Profile.WorkerProcs), fmt.Sprint(h.WorkerProcs)},
		{"injected slowness", fmt.Sprint(c.Profile.Injected), fmt.Sprint(h.Injected)},
	} {
		if x.got != x.want {
			return nil, fmt.Sprintf("calibrated with another %s: %s, the run had %s", x.what, x.got, x.want)
		}
	}
	return c, ""
}

// marginOf compares one calibration with the load of its part: what was planned, or
// what was sent where the plan has no rates.
func (f *fold) marginOf(part int64, c *run.Calibration) margin {
	offered, peak := f.loadOf(part, c.Offered != nil)
	if c.Offered != nil {
		offered = *c.Offered
	}
	over := func(ceiling, load float64) float64 {
		if !(load > 0) || !(ceiling > 0) {
			return math.NaN()
		}
		return ceiling / load
	}
	m := margin{over(c.Ceiling.RequestsPS, offered.RequestsPS), over(c.Ceiling.EventsPS, offered.EventsPS), over(c.Ceiling.BytesPS, offered.BytesPS),
		over(c.Ceiling.RequestsPS, peak), math.NaN(), math.NaN()}
	if p := nullRun(c, offered.RequestsPS); p != nil {
		m.kappa, m.sameRead = value(p.Kappa), value(p.SameReadGaps)
	}
	return m
}

// nullRun is the point of a calibration at the offered load: the one that it names, else
// the nearest by requests per second, the lower of two equally near.
func nullRun(c *run.Calibration, rps float64) *run.Point {
	if c.AtOffered != nil {
		return c.AtOffered
	}
	var best *run.Point
	least := math.Inf(1)
	for i := range c.Points {
		p := &c.Points[i]
		if d := math.Abs(math.Log(p.Sent.RequestsPS / rps)); p.Sent.RequestsPS > 0 && d < least {
			best, least = p, d
		}
	}
	return best
}

// loadOf is what a part sent per second of the window, and the requests of its p99
// second: of those planned, or of those sent.
func (f *fold) loadOf(part int64, planned bool) (mean run.Rates, peak float64) {
	seconds := float64(f.length()) / second
	whole := make([]int64, f.length()/second)
	var asked, sent, events int64
	f.each(func(x *frame) {
		of, from, tokens := x.col(cPart), x.col(cAsked), x.col(cTokens)
		at := from
		if planned {
			at = x.u()
		}
		for i := range x.n {
			if of[i] != part {
				continue
			}
			if f.inside(at[i]) {
				if k := (at[i] - f.window.FromNS) / second; k < int64(len(whole)) {
					whole[k]++
				}
			}
			if from[i] != null {
				asked++
			}
			if f.inside(from[i]) {
				sent++
				events += max(0, tokens[i])
			}
		}
	})
	mean.RequestsPS, mean.EventsPS = float64(sent)/seconds, float64(events)/seconds
	// The rows do not hold what they received: the run's mean per request stands in.
	t := f.parts[part].end.Detail.Totals
	mean.BytesPS = share(t.BytesSent+t.BytesReceived, asked) * mean.RequestsPS
	if len(whole) == 0 {
		return mean, math.NaN()
	}
	slices.Sort(whole)
	return mean, float64(whole[stats.NearestRank(int64(len(whole)), 990)-1])
}
