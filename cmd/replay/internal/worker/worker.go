package worker

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/host"
	"hydrant/cmd/replay/internal/kernel"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/cmd/replay/internal/slots"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// Arg as replay's first argument makes the process a worker: its parent's frames come
// on descriptor In, its own go to descriptor Out, and where there are caps Slots is the
// memory that the workers share. Descriptors 0 to 2 stay as they are, since a write to a
// closed pipe on 1 or 2 kills a Go process without a word.
const (
	Arg   = "worker-of-replay"
	In    = 3
	Out   = 4
	Slots = 5
)

// errOrphan says that the parent is gone: nobody wants the rest.
var errOrphan = errors.New("the parent process is gone")

// Main is a whole worker process. It returns when all its requests have a row, or with
// an error when the parent is gone or breaks the protocol.
func Main(in io.Reader, out io.Writer) error {
	first := clock.Epoch()
	frames := link.NewReader(in)
	kind, payload, err := frames.Next()
	if err != nil || kind != link.KindSetup {
		return fmt.Errorf("worker: got frame %d (%v), want its setup from replay", kind, err)
	}
	var s link.Setup
	if err := json.Unmarshal(payload, &s); err != nil {
		return fmt.Errorf("worker: setup: %w", err)
	}
	// A terminal or a job scheduler signals the whole group; the parent alone decides.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	if err := host.SetNice(s.Nice); err != nil {
		return fmt.Errorf("worker: niceness %d: %w", s.Nice, err)
	}
	runtime.GOMAXPROCS(s.GOMAXPROCS)
	// Bodies come and go in megabytes: fewer, larger collections.
	debug.SetGCPercent(200)
	// without stamps the kernel's columns are null
	warm, _, err := kernel.Warm()
	if err == nil {
		defer warm.Close()
	}
	w, err := newWorker(s, link.NewWriter(out), engineOf(s.Engine))
	if err != nil {
		return err
	}
	if s.Concurrency > 0 || s.Sessions > 0 {
		m, err := slots.Open(os.NewFile(Slots, "slots"), s.Workers)
		if err != nil {
			return fmt.Errorf("worker: %w", err)
		}
		w.cap(m, s.Worker)
	}
	hello := link.Hello{PID: os.Getpid(), Build: cli.Build(), BootID: host.BootID()}
	if err := w.out.WriteJSON(link.KindHello, hello); err != nil {
		return errOrphan
	}
	return w.run(frames, first)
}

// engineOf returns what makes the engine of that name.
func engineOf(name string) func(wire.Options) (wire.Engine, error) {
	if name == link.Epoll {
		return wire.NewEpoll
	}
	return func(o wire.Options) (wire.Engine, error) { return wire.NewHTTP(o), nil }
}

// worker is the state of a worker process.
type worker struct {
	setup     link.Setup
	out       *link.Writer
	clock     atomic.Pointer[clock.Clock] // nil before the start
	epoch     run.Epoch
	queue     *pace.Queue[*flight]
	board     *board
	composer  *composer
	engine    wire.Engine
	newEngine func(wire.Options) (wire.Engine, error)
	counters  wire.Counters
	trust     *tls.Config
	tally     tally
	rows      *rows
	stamps    *stamps

	ctx    context.Context // of the requests in flight
	cancel context.CancelCauseFunc

	pacing  sync.WaitGroup
	ticker  *ticker // nil before the start
	ticking sync.WaitGroup
	wakes   chan struct{} // holds one: the other workers are to be told of a free slot
	quit    chan struct{}
	broken  chan error // why the process cannot go on
}

func newWorker(s link.Setup, out *link.Writer, engine func(wire.Options) (wire.Engine, error)) (*worker, error) {
	w := &worker{setup: s, out: out, newEngine: engine, rows: newRows(out), stamps: newStamps(out),
		wakes: make(chan struct{}, 1), quit: make(chan struct{}), broken: make(chan error, 16)}
	w.queue = pace.New[*flight](w.now, w.sleep, w.ring)
	w.board = newBoard(w.now, w.queue, w.giveUp)
	w.board.timing = cmp.Or(s.Timing, Schedule)
	w.board.forget = func(all []*flight) { // not on the pacing thread: the pipe may be full
		w.background(func() error { w.forget(all); return nil })
	}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	var err error
	if w.trust, err = wire.Trust(s.CA); err != nil {
		return nil, err
	}
	w.composer, err = newComposer(s)
	return w, err
}

// now returns the offset from the epoch in ns, long ago before the start.
func (w *worker) now() int64 {
	if c := w.clock.Load(); c != nil {
		return c.Now()
	}
	return math.MinInt64
}

func (w *worker) sleep(ns int64) {
	if ns = plus(ns, w.epoch.MonotonicNS); ns != pace.Forever {
		ns -= w.setup.SpinNS
	}
	w.engine.Sleep(ns)
}

// ring wakes the pacer, which does not sleep before the start.
func (w *worker) ring() {
	if w.clock.Load() != nil {
		w.engine.Ring()
	}
}

// run serves the parent until every job has a row.
func (w *worker) run(frames *link.Reader, first run.Epoch) error {
	w.background(func() error { return w.listen(frames) })
	w.background(func() error { w.prepareAll(); return nil })
	w.background(func() error { return w.stamps.run(w.quit) })
	w.background(w.wakeOthers)
	encoded := make(chan error, 1)
	go func() { encoded <- cli.Guard(w.rows.run) }()

	select {
	case <-w.board.done:
	case err := <-w.broken:
		return err
	case err := <-encoded:
		return err
	}
	// Every request has ended and handed its row over.
	w.queue.Close()
	close(w.quit)
	close(w.rows.in)
	if err := <-encoded; err != nil {
		return err
	}
	w.pacing.Wait()
	if w.engine != nil {
		w.engine.Close()
	}
	w.ticking.Wait()
	if w.ticker != nil {
		if err := w.ticker.final(); err != nil {
			return err
		}
	}
	return w.bye(first)
}

// background runs f beside the rest; its error or panic ends the process.
func (w *worker) background(f func() error) {
	go func() {
		if err := cli.Guard(f); err != nil {
			w.broken <- err
		}
	}()
}

// listen takes the parent's frames. It never waits for anything else, so the parent can
// always write.
func (w *worker) listen(frames *link.Reader) error {
	frames.Reuse = true // what is kept of a payload is copied
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			select {
			case <-w.board.done:
				return nil // the parent closed the pipe after the end
			default:
			}
			return errOrphan
		}
		switch kind {
		case link.KindJob:
			j, err := link.DecodeJob(payload)
			if err != nil {
				return err
			}
			w.board.accept(j, w.composer.begin(j))
		case link.KindPrime:
			// A parent that is gone is noticed by the next read.
			w.board.ask(func() { _ = w.out.Write(link.KindReady) })
		case link.KindStart:
			var s link.Start
			if err = json.Unmarshal(payload, &s); err == nil {
				err = w.start(s.Epoch)
			}
		case link.KindStop:
			var s link.Stop
			if err = json.Unmarshal(payload, &s); err == nil {
				w.stop(s.Reason, time.Duration(s.GraceNS), w.now())
			}
		case link.KindSlots:
			w.board.fill()
		case link.KindFinish:
			w.board.finish()
		default:
			err = fmt.Errorf("worker: got frame %d, want a job or an order", kind)
		}
		if err != nil {
			return err
		}
	}
}

// start sets the clock and begins to dispatch.
func (w *worker) start(e run.Epoch) (err error) {
	if w.clock.Load() != nil {
		return nil
	}
	c := clock.New(e)
	w.epoch = e
	w.engine, err = w.newEngine(wire.Options{
		Clock:            c,
		KeepP:            true,
		ConnectTimeout:   time.Duration(w.setup.ConnectNS),
		FirstByteTimeout: time.Duration(w.setup.FirstByteNS),
		IdleTimeout:      time.Duration(w.setup.IdleNS),
		TotalTimeout:     time.Duration(w.setup.TotalNS),
		Secrets:          wire.Secrets(w.setup.Header),
		Counters:         &w.counters,
		Fault:            w.fault,
		TLS:              w.trust,
		HTTP2:            w.setup.HTTP2,
		Proxy:            w.setup.Proxy,
		Slow:             wire.Slowness{Work: time.Duration(w.setup.WorkNS), Stall: time.Duration(w.setup.StallNS)},
	})
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	w.clock.Store(&c)
	if d := w.setup.DurationNS; d > 0 {
		time.AfterFunc(time.Duration(d-c.Now()), w.endDuration)
	}
	w.pacing.Add(1)
	w.background(func() error {
		defer w.pacing.Done()
		pace.Pin()
		w.queue.Run(w.dispatch)
		return nil
	})
	w.measure(c)
	w.background(w.ramp)
	w.board.begin()
	w.queue.Start()
	return nil
}

// measure starts the client rows and the probes.
func (w *worker) measure(c clock.Clock) {
	t := &ticker{every: cmp.Or(time.Duration(w.setup.TickNS), time.Second), worker: int64(w.setup.Worker), pid: int64(os.Getpid()), now: c.Now, out: w.out, meter: host.NewMeter(),
		tally: &w.tally, counters: &w.counters, board: w.board, backlog: w.rows.waiting.Load, thread: new(probe), goroutine: new(probe)}
	w.ticker = t
	wake := make(chan int64, 1)
	w.background(func() error { t.thread.runThread(clock.Monotonic, w.quit, t.goroutine, wake); return nil })
	w.background(func() error { t.goroutine.runGoroutine(clock.Monotonic, w.quit, wake); return nil })
	w.ticking.Add(1)
	w.background(func() error { defer w.ticking.Done(); return t.run(w.quit) })
}

func (w *worker) endDuration() {
	w.stop(fmt.Sprintf("--duration %s ended", time.Duration(w.setup.DurationNS)), time.Duration(w.setup.GraceNS), w.setup.DurationNS)
}

// stop ends the dispatching; what is in flight may go on for grace. Where the plan is
// what was released, it ends at offset planned.
func (w *worker) stop(reason string, grace time.Duration, planned int64) {
	time.AfterFunc(max(grace, 0), func() { w.cancel(errors.New(reason)) })
	w.board.stop(reason, w.setup.Released, planned)
}

// bye says the last word.
func (w *worker) bye(first run.Epoch) error {
	last := clock.Epoch()
	b := link.Bye{Rows: w.rows.sent, StartNS: first.WallNS - first.MonotonicNS, EndNS: last.WallNS - last.MonotonicNS}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		b.CPUUserNS, b.CPUSysNS = r.Utime.Nano(), r.Stime.Nano()
	}
	return w.out.WriteJSON(link.KindBye, b)
}
