// Package drive is the parent of a replay: it reads the schedule ahead, gives whole
// sessions to worker processes, forwards their rows, and sees to it that every planned
// request has exactly one row, whatever happens to workers, schedule or output.
//
// Run is the whole of it. The parent is never on the path of a request.
//
// A stop (a signal, a dead worker, a schedule that turns out bad) ends the dispatching
// everywhere: what is in flight may go on for the grace, what was not sent becomes
// not_sent rows. A run that lost a worker stops too, since its load is no longer the
// planned one and nothing after that could be used.
package drive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/slots"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// Options of a run.
type Options struct {
	Schedule    *schedule.Reader
	Executable  string // of the worker processes
	Workers     int
	Setup       link.Setup // for every worker; Worker is filled in
	Requests    int64      // the plan ends after this many lines; 0: none
	Again       Again      // for --loop; nil: the schedule is played once
	ServerBlock int64      // tokens per block of the server's prefix cache, for expected_cached_tokens
	Grace       time.Duration
	Ahead       time.Duration // how far lines are given to workers before their time; 0: 10 s
	Lead        time.Duration // from the order to start to the epoch; 0: 0.2 s

	Header run.Header                // everything but the epoch
	Open   func() (io.Writer, error) // opens the output; called when the load is about to start
	Spool  func() (*Spool, error)    // opens the spool for client rows, after Open
	Notice func(text string)         // one line for the user; may be nil
	Live   func(Snapshot)            // called once a second while the run lasts; may be nil

	Calibration *run.Calibration // for the end of the run; nil: none
}

// Result is what became of a run that was written to its end.
type Result struct {
	Status         string
	Reason         string
	Planned        int64
	Sent           int64
	Outcomes       []run.Outcome
	LagP50, LagP99 time.Duration
	CPUP95         float64 // of one worker, in CPUs
	CPUPerEvent    time.Duration
	Workers        int
	SHA256         string // of the run, as its end has it
	ScheduleSHA256 []string
	PlanEnded      bool // --requests or --duration ended the plan
	Passes         int64
	Literal        bool  // a later pass repeated text of the schedule
	MostRequests   int64 // most in flight at once, where --concurrency caps them
	MostSessions   int64 // most open at once, where --sessions caps them
	Duration       time.Duration
	Calibration    *run.Calibration // as the end of the run has it; nil: none
}

// drive is the state of a run.
type drive struct {
	o     Options
	crew  []*member
	feed  *feeder
	lines chan fed
	slots *slots.Memory // nil: no caps

	mu      sync.Mutex
	ledger  *ledger
	totals  *totals
	live    live
	status  string
	cause   error // why the status is not complete, as the user is told
	stopped chan struct{}
	moved   chan struct{} // holds one: the ledger or a worker's state changed
	clock   clock.Clock
	begun   bool

	waits bool          // a line with dependencies was seen; owned by Run's goroutine
	over  chan struct{} // closed when --duration ends a plan of what was released

	sink      atomic.Pointer[sink] // nil before the start
	full      bool                 // the window was full at the last look; owned by Run's goroutine
	exhausted bool                 // the reader of lines has ended; owned by Run's goroutine
}

// fed is a line or why there is none.
type fed struct {
	line *line
	err  error
}

// Run replays the schedule. A nil error means the run is whole and complete. With a
// Result and an error the run was written to its end, with the status that Result says;
// with an error alone there is no whole run. ctx ends a run with cause.
func Run(ctx context.Context, o Options) (*Result, error) {
	o.Ahead, o.Lead = cmp.Or(o.Ahead, lookAhead), cmp.Or(o.Lead, startLead)
	d := &drive{o: o, ledger: newLedger(), totals: newTotals(), status: run.Complete,
		stopped: make(chan struct{}), moved: make(chan struct{}, 1), lines: make(chan fed, 256), over: make(chan struct{})}
	d.feed = &feeder{r: o.Schedule, workers: o.Workers, serverBlock: o.ServerBlock, requests: o.Requests, duration: time.Duration(o.Setup.DurationNS),
		timing: o.Setup.Timing, loop: loop{Again: o.Again}}
	if o.Setup.Released {
		d.feed.duration = 0 // its lines have no instant before they are released
	}
	quit := make(chan struct{})
	defer close(quit)
	go d.watch(ctx, quit)
	defer d.dismiss()
	if err := d.muster(); err != nil {
		return nil, err
	}
	go d.readLines(quit)
	held, err := d.prime()
	if err != nil {
		return nil, err
	}
	spool, err := d.begin()
	if err != nil {
		return nil, err
	}
	stopLive := d.tell()
	d.deliver(held)
	d.settle()
	stopLive()
	result, err := d.end()
	spool.Close(result != nil)
	return result, err
}

// stop ends the dispatching. The first cause is kept; a failure beats an interruption.
func (d *drive) stop(status string, cause error, grace time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.status == run.Complete
	if first || status == run.Failed && d.status == run.Interrupted {
		d.status, d.cause = status, cause
	}
	if !first {
		return
	}
	close(d.stopped)
	if n := d.inFlight(); n > 0 && grace > 0 && d.o.Notice != nil {
		d.o.Notice(fmt.Sprintf("%s: no more requests are sent; %d in flight may go on for %s; a second signal leaves at once", oneLine(cause), n, grace))
	}
	b, err := json.Marshal(link.Stop{Reason: cause.Error(), GraceNS: int64(grace)})
	if err != nil {
		panic("internal error: " + err.Error())
	}
	for _, m := range d.crew {
		go m.send(frame{link.KindStop, b}, nil) // never waits for a worker that hangs
	}
}

// inFlight returns how many requests are in flight: by the slots they hold, else as far as
// stamps and rows have come. The caller holds the mutex.
func (d *drive) inFlight() int64 {
	if d.slots != nil && d.o.Setup.Concurrency > 0 {
		return d.slots.Used(worker.Requests)
	}
	return d.live.sent - d.live.ended
}

// oneLine returns the first line of an error's text.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// fail stops the run because of err.
func (d *drive) fail(err error) { d.stop(run.Failed, err, d.o.Grace) }

// reason returns why the run was stopped, nil when it was not.
func (d *drive) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cause
}

// stopping reports whether the run was stopped.
func (d *drive) stopping() bool {
	select {
	case <-d.stopped:
		return true
	default:
		return false
	}
}

// stir wakes whoever waits for a change.
func (d *drive) stir() {
	select {
	case d.moved <- struct{}{}:
	default:
	}
}

// now returns the offset from the epoch, 0 before it.
func (d *drive) now() int64 {
	if !d.begun {
		return 0
	}
	return max(d.clock.Now(), 0)
}

// readLines reads the schedule beside the rest, so that a slow pipe holds up nobody.
func (d *drive) readLines(quit <-chan struct{}) {
	for {
		l, err := d.feed.next()
		select {
		case d.lines <- fed{l, err}:
		case <-quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// silence is how many seconds a worker may say nothing before it counts as hung; a
// living one sends a client row each second.
const silence = 60

// watch stops the run when ctx ends, and when a worker hangs.
func (d *drive) watch(ctx context.Context, quit <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	done := ctx.Done()
	for {
		select {
		case <-quit:
			return
		case <-done:
			done = nil
			d.stop(run.Interrupted, context.Cause(ctx), d.o.Grace)
		case <-tick.C:
			// Seconds are counted here and not read off the clock: a stopped process
			// group must not look like a hung worker when it goes on.
			d.mu.Lock()
			var hung *member
			for _, m := range d.crew {
				if m.silent.Add(1) > silence && d.begun {
					hung = m
				}
			}
			d.mu.Unlock()
			if hung != nil {
				d.fail(fmt.Errorf("worker %d (pid %d) has said nothing for %d s", hung.index, hung.pid, silence))
				hung.kill()
			}
		}
	}
}
