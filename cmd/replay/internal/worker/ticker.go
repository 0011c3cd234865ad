package worker

import (
	"sync"
	"time"

	"hydrant/cmd/replay/internal/host"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
)

// ticker writes a client row at each whole period of the run's clock and a last one for
// the rest. One goroutine runs it.
type ticker struct {
	every    time.Duration // a second, but for a calibration
	worker   int64
	pid      int64
	now      func() int64
	out      *link.Writer
	meter    *host.Meter
	tally    *tally
	counters *wire.Counters
	board    *board
	backlog  func() int64 // finished rows not yet sent

	thread, goroutine *probe

	last         int64 // instant of the last row
	lastReads    int64
	lastTokenEvs int64
}

// run writes rows until stop is closed; the last one is written by final.
func (t *ticker) run(stop <-chan struct{}) error {
	t.last = max(t.now(), 0)
	for {
		next := (t.now()/int64(t.every) + 1) * int64(t.every)
		timer := time.NewTimer(time.Duration(next - t.now()))
		select {
		case <-stop:
			timer.Stop()
			return nil
		case <-timer.C:
			if err := t.write(); err != nil {
				return err
			}
		}
	}
}

// final writes the row that covers what came after the last whole period.
func (t *ticker) final() error { return t.write() }

func (t *ticker) write() error {
	c := run.Client{Worker: t.worker, PID: t.pid}
	t.board.gauges(&c)
	interval := max(c.TNS-t.last, 1)
	t.last = c.TNS
	c.IntervalNS = formats.Some(interval)
	t.meter.Read(&c, time.Duration(interval))
	t.tally.take(&c)
	reads, events := t.counters.Reads.Load(), t.counters.TokenEvents.Load()
	c.Reads, c.TokenEvents = formats.Some(reads-t.lastReads), formats.Some(events-t.lastTokenEvs)
	t.lastReads, t.lastTokenEvs = reads, events
	c.ReadDelayP99NS = t.counters.ReadDelay.TakeP99()
	c.HiccupThreadP999NS = formats.Some(t.thread.take())
	c.HiccupGoroutineP999NS = formats.Some(t.goroutine.take())
	c.BacklogRows = formats.Some(t.backlog())
	return t.out.WriteJSON(link.KindClient, []run.Client{c})
}

// gauges fills the instant and what the board holds at it.
func (b *board) gauges(c *run.Client) {
	waiting, due := b.queue.Len()
	b.mu.Lock()
	defer b.mu.Unlock()
	c.TNS = b.now()
	c.InFlight = formats.Some(b.inFlight)
	c.BacklogPrepare = formats.Some(int64(waiting))
	c.BacklogDispatch = formats.Some(int64(due + b.waitingForSlots()))
}

// stampGather is for how long stamps gather: a pipe write and two woken threads per request
// would cost more than the request. What a killed worker sent in its last milliseconds
// counts as not sent.
const stampGather = 5 * time.Millisecond

// stamps gathers what was dispatched and tells the parent, as often as the pipe takes it.
type stamps struct {
	out  *link.Writer
	wake chan struct{} // holds one: there is something to tell

	mu   sync.Mutex
	list []link.Stamp
}

func newStamps(out *link.Writer) *stamps { return &stamps{out: out, wake: make(chan struct{}, 1)} }

func (s *stamps) add(st link.Stamp) {
	s.mu.Lock()
	s.list = append(s.list, st)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stamps) run(stop <-chan struct{}) error {
	var list []link.Stamp
	var buf []byte
	for {
		select {
		case <-stop:
			return nil
		case <-s.wake:
		}
		time.Sleep(stampGather)
		s.mu.Lock()
		list, s.list = s.list, list[:0]
		s.mu.Unlock()
		if buf = link.AppendStamps(buf[:0], list); len(list) > 0 {
			if err := s.out.Write(link.KindSent, buf); err != nil {
				return err
			}
		}
	}
}
