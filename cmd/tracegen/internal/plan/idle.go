package plan

import (
	"errors"
	"fmt"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// shorten moves a request to where the silences before it leave it, and its wait with
// it. A request without a time waits at most as long as a silence lasts.
func (p *Pipeline) shorten(name string, s *silence, r *schedule.Request) error {
	if !r.AtNS.Valid {
		if r.DelayNS.V > s.most {
			r.DelayNS.V = s.most
			p.counts[name+"_delays"]++
		}
		return nil
	}
	service, err := p.service(r)
	if err != nil {
		return err
	}
	at := r.AtNS.V
	shorter, err := s.start(at, service)
	if err != nil {
		return err
	}
	if shorter {
		p.counts[name+"_cuts"]++
	}
	if r.AtNS.V, err = s.moved(at); err != nil || !r.DelayNS.Valid {
		return err
	}
	end, err := s.moved(max(0, at-r.DelayNS.V))
	r.DelayNS.V = r.AtNS.V - end
	return err
}

// service is how long a request ran in the trace, in the time of the schedule: recorded
// times are never scaled, so every speed-up so far applies to it. Unknown is 0.
func (p *Pipeline) service(r *schedule.Request) (int64, error) {
	ns := r.Recorded.E2ENS.V
	for _, s := range p.speeds {
		var ok bool
		if ns, ok = s.Divide(ns); !ok {
			return 0, fmt.Errorf("%s: request %d: recorded.e2e_ns: beyond 292 years at the speed of the schedule", p.Place, r.ID)
		}
	}
	return ns, nil
}

// gapCap shortens the silences of the whole schedule. Only requests without a time can
// change places.
func (p *Pipeline) gapCap(most int64, next step) step {
	s := &silence{most: most}
	p.closers = append(p.closers, s.cuts.close)
	return p.moved(next, func(r *schedule.Request) error { return p.shorten("gap_cap", s, r) })
}

// thinkCap shortens the silences of each session by itself, so that sessions move
// against each other.
func (p *Pipeline) thinkCap(most int64, next step) step {
	open := map[string]*silence{}
	p.closers = append(p.closers, func() (err error) {
		for _, s := range open {
			err = errors.Join(err, s.cuts.close())
		}
		return err
	})
	return p.moved(next, func(r *schedule.Request) error {
		s := open[r.Session]
		if s == nil {
			s = &silence{most: most}
			open[r.Session] = s
		}
		err := p.shorten("think_cap", s, r)
		if r.Last {
			delete(open, r.Session)
			err = errors.Join(err, s.cuts.close())
		}
		return err
	})
}

// speedsOf returns the speed-ups among the transforms of a header, as they were applied.
func speedsOf(ts []schedule.Transform) (speeds []Ratio, _ error) {
	for _, t := range ts {
		if t.Name != "speed" {
			continue
		}
		if n := t.Params["input"]; n != "" {
			return nil, &formats.SyntaxError{Place: "header", What: "schedule.transforms", Got: "a speed-up of input " + n + " alone", Want: "one speed for all inputs of a merge",
				Help: "shorten the silences of each by itself, and merge what comes out"}
		}
		r, err := ParseRatio(t.Params["factor"])
		if err != nil {
			return nil, &formats.SyntaxError{Place: "header", What: "schedule.transforms.params.factor", Got: t.Params["factor"], Want: "a decimal number above 0"}
		}
		speeds = append(speeds, r)
	}
	return speeds, nil
}
