// Package calibrate measures what this generator can do: it drives the run's own payload
// against a null server on this host, through the worker processes of the run, at one load
// after another.
//
// Run is the whole of it. The null server shares the CPUs of the host with the generator,
// so what is found is a lower bound. Nothing of it reaches the run but the result.
package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/serve"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/cli"
	"hydrant/internal/sim"
)

// Options of Run.
type Options struct {
	Sample     *Sample
	Profile    run.Profile // ProfileOf
	Open       bool        // the times of the schedule give the load
	Closed     int64       // requests in flight of a closed loop; 0: none, or not known
	Budget     time.Duration
	Executable string // of workers and server
	Workers    int
	Setup      link.Setup // as for the run
	Host       run.Host
	Stderr     io.Writer // of the null server
}

const (
	windows    = 10 // windows in a budget, about
	leastWin   = 100 * time.Millisecond
	mostWin    = 2 * time.Second
	ticks      = 5  // client rows of a window
	most       = 16 // the largest multiple of a known load
	mostBlind  = 1 << 14
	fine       = 1.05
	mostOpen   = 4096 // answers open at a time
	leastGap   = 2 * time.Millisecond
	mostLines  = 1 << 16 // requests of a step
	mostTokens = 1 << 26 // of their prompts
	ownFiles   = 128     // that a process has open besides its connections
	ahead      = 100 * time.Millisecond
	lead       = 30 * time.Millisecond
)

// Run calibrates. It fails only when ctx ends; whatever else goes wrong is in the result.
func Run(ctx context.Context, o Options) (*run.Calibration, error) {
	began := time.Now()
	c := &calibration{o: o, began: began, names: sessions(o.Workers)}
	c.window = min(max(o.Budget/windows, leastWin), mostWin).Truncate(ticks * time.Millisecond)
	defer c.stop()
	result := newResult(o)
	result.WallNS = began.UnixNano()
	err := c.search(ctx, result)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.DurationNS = int64(time.Since(began))
	if err == nil && result.Ceiling == nil {
		err = fmt.Errorf("no load held: %s", c.broke)
	}
	if err != nil {
		result.Reason, _, _ = strings.Cut(err.Error(), "\n")
		if result.Ceiling == nil {
			result.Status = run.CalibrationFailed
		}
	}
	return result, nil
}

// newResult returns what is known before anything was tried.
func newResult(o Options) *run.Calibration {
	return &run.Calibration{Status: run.Measured, Build: cli.Build(), Engine: o.Setup.Engine, Workers: o.Workers, Host: o.Host, Profile: o.Profile, Points: []run.Point{}}
}

// known reports whether the plan says what will be sent.
func (o *Options) known() bool { return o.Open && o.Sample.rate > 0 }

// offer notes what the plan will send: so many requests per second, each with as many events
// and bytes, and the bytes that come with an event.
func offer(c *run.Calibration, rate, events, out, in float64) {
	c.Offered = &run.Rates{RequestsPS: rate, EventsPS: rate * events, BytesPS: rate * (out + events*in)}
	c.Settle(rate)
}

// calibration is the state of Run.
type calibration struct {
	o      Options
	began  time.Time
	names  []string
	window time.Duration

	gap   time.Duration // of the server that runs
	url   string
	end   func() error // of the server; nil: none runs
	cost  time.Duration
	broke string

	least      *run.Point // the smallest load so far
	perRequest float64    // bytes, of the latest step
	perEvent   float64
}

// search looks for the ceiling and fills the result.
func (c *calibration) search(ctx context.Context, result *run.Calibration) error {
	if c.o.Sample.Lines() == 0 {
		return errors.New("the schedule has no request")
	}
	rate, r := c.load()
	for r.Most > r.Start && c.feasible(rate*r.Most) != nil {
		r.Most /= 2
	}
	if err := c.feasible(rate); err != nil {
		return err
	}
	points, err := Search(r, c.more, func(times float64) (run.Point, error) { return c.try(ctx, rate*times) })
	result.Points = append(result.Points, points...)
	result.Settle(rate)
	if c.perRequest > 0 {
		result.Profile.BodyBytes = formats.Some(int64(math.Round(c.perRequest)))
	}
	if p := c.step(rate); c.o.known() && len(result.Points) > 0 {
		offer(result, rate, c.o.Sample.meanEvents(&p), c.perRequest, c.perEvent)
	}
	return err
}

// load returns the load that multiples count from, in requests per second, and which of
// them are tried. Where the plan does not say, it is what a closed loop would make of the
// null server's pace, or a small one.
func (c *calibration) load() (float64, Range) {
	s, p := c.o.Sample, c.o.Profile
	if c.o.known() {
		return s.rate, Range{Start: 1, Most: most, Grow: 2, Fine: fine, Hold: 2}
	}
	if open := s.openAnswers(1, time.Duration(p.EventGapNS), p.TokensPerEvent); open > 0 && c.o.Closed > 0 {
		return float64(c.o.Closed) / open, Range{Start: 1, Most: most, Grow: 2, Fine: fine, Hold: 2}
	}
	return 64 * float64(c.o.Workers), Range{Start: 1, Most: mostBlind, Grow: 4, Fine: fine, Hold: 2}
}

// more reports whether the budget has room for another step.
func (c *calibration) more() bool { return time.Since(c.began)+c.cost <= c.o.Budget }

// step returns the step for a load.
func (c *calibration) step(rate float64) step {
	p := step{rate: rate, gap: time.Duration(c.o.Profile.EventGapNS), per: per(&c.o.Profile), window: c.window, tail: tailTime}
	open := c.o.Sample.openAnswers(rate, p.gap, p.per)
	if limit := c.mostOpen(); open > limit {
		// As many events of fewer answers. The gap is a round number: one server does for
		// loads that are near.
		p.gap = time.Duration(float64(p.gap) * limit / open).Truncate(100 * time.Microsecond)
		open = limit
	}
	tick := c.window / ticks
	p.warm = (warmTime + time.Duration(open)*openTime).Truncate(tick) + tick
	return p
}

// mostOpen is how many answers may be open at a time: each is a file of the server.
func (c *calibration) mostOpen() float64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil && l.Cur < mostOpen+ownFiles {
		return max(float64(l.Cur)-ownFiles, 1)
	}
	return mostOpen
}

// feasible says why a load is not tried.
func (c *calibration) feasible(rate float64) error {
	s, p := c.o.Sample, c.step(rate)
	requests := rate*p.length().Seconds() + s.openAnswers(rate, p.gap, p.per)
	switch {
	case requests > mostLines:
		return fmt.Errorf("%.0f requests/s are more than a calibration tries", rate)
	case requests*(s.input+s.text/textBytes) > mostTokens:
		return fmt.Errorf("%.0f requests/s with prompts of %.0f tokens are more than a calibration tries", rate, s.input+s.text/textBytes)
	case c.o.Profile.EventGapNS > 0 && p.gap < min(leastGap, time.Duration(c.o.Profile.EventGapNS)):
		return fmt.Errorf("%.0f requests/s have more answers open than a calibration tries", rate)
	}
	return nil
}

// try runs one step.
func (c *calibration) try(ctx context.Context, rate float64) (run.Point, error) {
	began := time.Now()
	p := c.step(rate)
	lines, due := c.o.Sample.plan(p, c.names)
	schedule, err := c.o.Sample.encode(lines)
	if err != nil {
		return run.Point{}, err
	}
	if err := c.serve(ctx, p.gap); err != nil {
		return run.Point{}, err
	}
	tick := c.window / ticks
	var out bytes.Buffer
	d := drive.Options{Schedule: schedule, Executable: c.o.Executable, Workers: c.o.Workers, Setup: c.setup(p, tick), ServerBlock: 1, Ahead: ahead, Lead: lead,
		Open: func() (io.Writer, error) { return &out, nil }, Spool: func() (*drive.Spool, error) { return drive.OpenSpool("") }}
	if _, err := drive.Run(ctx, d); err != nil {
		return run.Point{}, err
	}
	s, err := see(out.Bytes(), p, tick)
	if err == nil {
		err = s.fault()
	}
	if err != nil {
		return run.Point{}, err
	}
	pt := s.point(p, due, c.least)
	if c.least == nil || rate < c.least.Offered.RequestsPS {
		c.least = &pt
	}
	c.perRequest, c.perEvent = s.perRequest(), s.perEvent()
	c.broke = pt.Broke
	c.cost = max(c.cost, time.Since(began))
	return pt, nil
}

// setup is that of the run, pointed at the null server and without what belongs to the
// run's own target and plan.
func (c *calibration) setup(p step, tick time.Duration) link.Setup {
	s := c.o.Setup
	s.URLs, s.Model, s.Header, s.CA, s.HTTP2, s.Proxy = []string{c.url}, c.spec(p.gap).Model, nil, nil, false, false
	s.PinOutput, s.CancelPPM, s.CancelNS = true, 0, 0
	s.Timing, s.Released, s.RampNS, s.Sessions = "schedule", false, 0, 0
	s.Concurrency = 0
	if c.o.Profile.Caps {
		s.Concurrency = uncapped
	}
	s.DurationNS, s.GraceNS, s.TickNS = int64(p.length()), 0, int64(tick)
	return s
}

// uncapped is a cap that no step reaches: the slots are counted as in the run.
const uncapped = 1 << 24

// serve sees to it that a null server of that pace runs.
func (c *calibration) serve(ctx context.Context, gap time.Duration) error {
	if c.end != nil && c.gap == gap {
		return nil
	}
	c.stop()
	url, end, err := serve.Start(ctx, c.o.Executable, c.spec(gap), c.o.Stderr)
	if err != nil {
		return err
	}
	c.url, c.end, c.gap = url, end, gap
	return nil
}

// stop ends the null server. Its answers were cut, so how it ends says nothing.
func (c *calibration) stop() {
	if c.end != nil {
		_ = c.end()
		c.end = nil
	}
}

// spec is a server without limits: it sends an event of each answer every gap, or each
// answer at once.
func (c *calibration) spec(gap time.Duration) sim.Spec {
	s := sim.Null()
	if gap > 0 {
		s = sim.Default()
		s.Stagger, s.Slots, s.Queue = c.o.Profile.Stagger, 1<<20, 1<<20
		s.Prefill, s.Step, s.StepPerSeq, s.Cache = 0, gap, 0, 0
	}
	s.TokensPerEvent, s.Conns, s.Context, s.Body = c.o.Profile.TokensPerEvent, 1<<20, 1<<30, 1<<30
	return s
}
