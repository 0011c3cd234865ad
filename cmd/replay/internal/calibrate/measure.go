package calibrate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// Limits of a load that holds: those of the judge for the same values, without what
// depends on the objectives.
const (
	leastSent   = 0.98                  // of the offered requests
	leastEvents = 0.98                  // of the events that the null server has to send
	mostLag     = 10 * time.Millisecond // p99
	mostHiccup  = 2 * time.Millisecond  // p99.9
	mostDelay   = 2 * time.Millisecond  // of reads, p99, above that of the smallest load: wake-ups are not the load's
	mostMerged  = 0.5                   // segments per read above those of the smallest load: the client is behind
	slackEvents = 10 * time.Millisecond // of the events of a window, that may fall beside it
)

// seen is what a step left behind.
type seen struct {
	ticks   map[int64][]run.Client // of the window, by worker
	sent    float64                // fresh requests of the window
	full    int64                  // fresh requests that were sent
	out     int64                  // their bytes
	in      int64                  // bytes of all answers
	events  int64                  // of all answers
	failed  map[string]int64       // outcomes that a null server does not cause
	example string                 // what one of them said

	segments, reads int64 // of rows with at least 2 token events
	gaps, same      int64
}

// see reads the run of a step.
func see(b []byte, p step, tick time.Duration) (*seen, error) {
	r, err := run.NewReader(bytes.NewReader(b), "calibration")
	if err != nil {
		return nil, err
	}
	part, err := r.NextPart()
	if err != nil {
		return nil, err
	}
	s := &seen{ticks: map[int64][]run.Client{}, failed: map[string]int64{}}
	for {
		row, err := part.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.row(row, p)
	}
	from, to := int64(p.warm+tick/2), int64(p.length()) // the last row of a worker is of the tail
	for {
		c, err := part.NextClient()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if c.TNS > from && c.TNS < to {
			s.ticks[c.Worker] = append(s.ticks[c.Worker], *c)
		}
	}
}

// row takes in one request.
func (s *seen) row(r *run.Request, p step) {
	at := time.Duration(r.ScheduledNS.V)
	if r.Class == isFresh && r.DispatchedNS.Valid {
		s.full++
		s.out += r.BytesSent.V
		if at >= p.warm && at < p.warm+p.window {
			s.sent++
		}
	}
	s.in += r.BytesReceived.V
	s.events += r.TokenEvents.V
	switch r.Outcome {
	case run.OK, run.Cancelled, run.NotSent:
	default:
		s.failed[r.Outcome]++
		s.example = r.Error
	}
	if r.TokenEvents.V >= 2 && r.SegmentsIn.Valid && r.Reads.Valid {
		s.segments += r.SegmentsIn.V
		s.reads += r.Reads.V
	}
	for i := 1; i < len(r.ChunkDelayUS); i++ {
		d, before := r.ChunkDelayUS[i], r.ChunkDelayUS[i-1]
		if d.Valid && before.Valid {
			s.gaps++
			if r.ChunkGapUS[i-1] == d.V-before.V {
				s.same++
			}
		}
	}
}

// fault says that the null server was not answered as it should be, nil for a share that
// a load beyond the ceiling explains.
func (s *seen) fault() error {
	if s.full > 0 && s.events > 0 {
		return nil
	}
	for outcome := range s.failed {
		return fmt.Errorf("the null server: %s: %s", outcome, s.example)
	}
	if s.full == 0 {
		return nil // a load far beyond the ceiling
	}
	return errors.New("the null server sent no token event")
}

// point is what a step says about a load. least is the point of the smallest load, nil
// when there is none yet.
func (s *seen) point(p step, d due, least *run.Point) run.Point {
	window := p.window.Seconds()
	var events, cpu int64
	received := 0.0 // events per second
	for _, rows := range s.ticks {
		var n, wall int64
		for i := range rows {
			n += rows[i].TokenEvents.V
			wall += rows[i].IntervalNS.V
			cpu += rows[i].CPUUserNS.V + rows[i].CPUSystemNS.V
		}
		events += n
		received += float64(n) / time.Duration(wall).Seconds()
	}
	pt := run.Point{SentShare: 1,
		Offered: run.Rates{RequestsPS: p.rate, EventsPS: d.events / window},
		Sent:    run.Rates{RequestsPS: s.sent / window, EventsPS: received}}
	if d.requests > 0 {
		pt.SentShare = s.sent / d.requests
		pt.Sent.RequestsPS = p.rate * pt.SentShare
	}
	out, in := s.perRequest(), s.perEvent()
	pt.Offered.BytesPS = pt.Offered.RequestsPS*out + pt.Offered.EventsPS*in
	pt.Sent.BytesPS = pt.Sent.RequestsPS*out + pt.Sent.EventsPS*in
	pt.LagP99NS = s.worst(func(c *run.Client) formats.Int { return c.LagP99NS })
	pt.HiccupThreadNS = s.worst(func(c *run.Client) formats.Int { return c.HiccupThreadP999NS })
	pt.HiccupGoroutineNS = s.worst(func(c *run.Client) formats.Int { return c.HiccupGoroutineP999NS })
	pt.ReadDelayP99NS = s.worst(func(c *run.Client) formats.Int { return c.ReadDelayP99NS })
	pt.CPUShare = s.busiest()
	if events > 0 {
		pt.CPUPerEventNS = ratio(cpu, events)
	}
	if s.reads > 0 {
		pt.Kappa = ratio(s.segments, s.reads)
	}
	if s.gaps > 0 {
		pt.SameReadGaps = ratio(s.same, s.gaps)
	}
	missing := pt.Offered.EventsPS - received
	slack := max(pt.Offered.EventsPS*(1-leastEvents), (pt.Offered.EventsPS*slackEvents.Seconds()+2)/window)
	pt.Through = pt.SentShare >= leastSent && missing <= slack && !merges(&pt, least)
	pt.Broke = broke(&pt, least)
	pt.Held = pt.Broke == ""
	return pt
}

// broke names the first limit that a load breaks, "" when it holds.
func broke(p, least *run.Point) string {
	over := func(v formats.Int, limit time.Duration) bool { return v.Valid && v.V > int64(limit) }
	delay := mostDelay
	if least != nil {
		delay += time.Duration(least.ReadDelayP99NS.Or(0))
	}
	switch {
	case p.SentShare < leastSent:
		return "sent"
	case over(p.LagP99NS, mostLag):
		return "lag"
	case over(p.HiccupThreadNS, mostHiccup):
		return "hiccup_thread"
	case over(p.HiccupGoroutineNS, mostHiccup):
		return "hiccup_goroutine"
	case merges(p, least):
		return "kappa"
	case over(p.ReadDelayP99NS, delay):
		return "read_delay"
	case !p.Through:
		return "events"
	}
	return ""
}

// merges reports whether reads held so many more segments than those of the smallest load.
func merges(p, least *run.Point) bool {
	return p.Kappa != nil && least != nil && least.Kappa != nil && *p.Kappa-*least.Kappa > mostMerged
}

// perRequest returns the bytes of a mean request, perEvent those of the answers for each
// token event.
func (s *seen) perRequest() float64 {
	if s.full == 0 {
		return 0
	}
	return float64(s.out) / float64(s.full)
}

func (s *seen) perEvent() float64 {
	if s.events == 0 {
		return 0
	}
	return float64(s.in) / float64(s.events)
}

// worst returns the largest median of a worker.
func (s *seen) worst(column func(*run.Client) formats.Int) (worst formats.Int) {
	for _, rows := range s.ticks {
		var values []int64
		for i := range rows {
			if v := column(&rows[i]); v.Valid {
				values = append(values, v.V)
			}
		}
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		if m := values[(len(values)-1)/2]; !worst.Valid || m > worst.V {
			worst = formats.Some(m)
		}
	}
	return worst
}

// busiest returns the CPU share of the busiest worker.
func (s *seen) busiest() *float64 {
	var most *float64
	for _, rows := range s.ticks {
		var cpu, wall int64
		for i := range rows {
			cpu += rows[i].CPUUserNS.V + rows[i].CPUSystemNS.V
			wall += rows[i].IntervalNS.V
		}
		if share := ratio(cpu, wall); wall > 0 && (most == nil || *share > *most) {
			most = share
		}
	}
	return most
}

func ratio(a, b int64) *float64 {
	v := float64(a) / float64(b)
	return &v
}
