package drive

import (
	"time"

	"hydrant/formats/run"
)

// rateSpan is how far back the rates of the progress line look.
const rateSpan = 10

// live is what the progress line shows. Drive's mutex guards it.
type live struct {
	sent, ended int64
	dues        []int64 // planned instants that have not passed, ascending
	due         int64   // planned instants that have passed
	span        int64   // latest planned instant
	whole       bool    // the plan is known to its end
	lag         int64   // worst p99 of a worker's last second
	events      int64
	workers     map[int64]float64 // CPUs that each used in its last second

	past [rateSpan + 1]point // one a second, newest last
}

type point struct {
	at                int64
	sent, due, events int64
}

// pass counts the planned instants that have passed.
func (l *live) pass(now int64) {
	for len(l.dues) > 0 && l.dues[0] <= now {
		l.dues = l.dues[1:]
		l.due++
	}
}

// planned notes a planned instant, at offset now. Those that have passed are counted at
// once, so that only what was read ahead is kept, whether anybody looks or not.
func (l *live) planned(at, now int64) {
	l.pass(now)
	l.dues = append(l.dues, at)
	l.span = at
}

func (l *live) client(c *run.Client) {
	if l.workers == nil {
		l.workers = map[int64]float64{}
	}
	if c.IntervalNS.V > 0 {
		l.workers[c.Worker] = float64(c.CPUUserNS.V+c.CPUSystemNS.V) / float64(c.IntervalNS.V)
	}
	l.lag = max(l.lag, c.LagP99NS.V)
	l.events += c.TokenEvents.V
}

// Snapshot is the state of a run at one instant.
type Snapshot struct {
	Elapsed   time.Duration
	Planned   int64         // lines of the plan so far
	Whole     bool          // Planned is the whole plan
	Span      time.Duration // of the whole plan
	Sent      int64
	InFlight  int64
	Errors    int64   // rows that are neither ok nor cut short by the plan
	SentRate  float64 // per second, over the last seconds
	PlanRate  float64
	EventRate float64 // token events
	LagP99    time.Duration
	CPU       float64 // of all workers together, in CPUs
}

// snapshot moves the window on by one second. The caller holds the mutex.
func (d *drive) snapshot() Snapshot {
	l, now := &d.live, d.now()
	l.pass(now)
	copy(l.past[:], l.past[1:])
	l.past[rateSpan] = point{now, l.sent, l.due, l.events}
	s := Snapshot{Elapsed: time.Duration(now), Planned: d.totals.planned, Whole: l.whole, Span: time.Duration(l.span), Sent: l.sent, InFlight: d.inFlight(), LagP99: time.Duration(l.lag)}
	l.lag = 0
	first := l.past[0]
	if span := float64(now-first.at) / float64(time.Second); span > 0 {
		s.SentRate, s.PlanRate, s.EventRate = float64(l.sent-first.sent)/span, float64(l.due-first.due)/span, float64(l.events-first.events)/span
	}
	for i, n := range d.totals.outcomes {
		if o := run.Outcomes[i]; o != run.OK && o != run.CancelledPlanned {
			s.Errors += n
		}
	}
	for _, c := range l.workers {
		s.CPU += c
	}
	return s
}

// tell calls o.Live once a second until the returned function is called.
func (d *drive) tell() (stop func()) {
	if d.o.Live == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				d.mu.Lock()
				s := d.snapshot()
				d.mu.Unlock()
				d.o.Live(s)
			}
		}
	}()
	return func() { close(quit); <-done }
}
