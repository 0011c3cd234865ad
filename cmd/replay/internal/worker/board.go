package worker

import (
	"sync"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/formats"
)

// board keeps the flights that have not ended, and who waits for whom. It decides each
// request's instant:
//
//	due = max(at_ns, latest end of its predecessors + delay_ns)
//
// whatever the predecessors' outcome; without at_ns the second term alone counts.
type board struct {
	now    func() int64
	queue  *pace.Queue[*flight]
	giveUp func(f *flight, reason string) // makes the row of a flight that is never sent; called without mu

	mu       sync.Mutex
	work     sync.Cond // on mu: the preparer may have something to do
	pending  map[int64]*flight
	ended    endings
	prepare  []*flight // waiting for the preparer, in schedule order
	urgent   []*flight // released before they were prepared: these first
	ahead    int64     // bytes of prepared bodies whose instant is known
	held     int64     // bytes of prepared bodies that wait for a predecessor
	inFlight int64
	open     int64  // accepted flights that have not reported their row
	stopped  string // why nothing is dispatched any more; empty: it is
	finished bool   // no more jobs will come
	asked    func() // to be called when the preparer is idle; nil: nobody asked
	closed   bool   // the preparer is to end
	done     chan struct{}
}

func newBoard(now func() int64, queue *pace.Queue[*flight], giveUp func(*flight, string)) *board {
	b := &board{now: now, queue: queue, giveUp: giveUp, pending: map[int64]*flight{}, done: make(chan struct{})}
	b.work.L = &b.mu
	return b
}

// accept takes a job that waits for the requests after, all of its session and accepted
// before it.
func (b *board) accept(j *link.Job, after []int64) {
	f := &flight{job: j}
	b.mu.Lock()
	b.pending[j.Request.ID] = f
	b.open++
	if reason := b.stopped; reason != "" {
		f.gone = true
		b.mu.Unlock()
		b.giveUp(f, reason)
		return
	}
	for _, id := range after {
		if p := b.pending[id]; p != nil {
			p.next = append(p.next, f)
			f.waits++
		} else if ns, ok := b.ended.get(id); ok {
			f.depEnd = later(f.depEnd, ns)
		}
	}
	f.queued = true
	b.prepare = append(b.prepare, f)
	if f.waits == 0 {
		b.releaseLocked(f)
	}
	b.work.Broadcast()
	b.mu.Unlock()
}

func later(a formats.Int, ns int64) formats.Int {
	if a.Valid && a.V >= ns {
		return a
	}
	return formats.Some(ns)
}

// releaseLocked fixes the instant of a flight that waits for nobody any more.
func (b *board) releaseLocked(f *flight) {
	r := &f.job.Request
	due := r.AtNS
	if f.depEnd.Valid {
		due = later(due, f.depEnd.V+r.DelayNS.Or(0))
	}
	if !due.Valid {
		due = formats.Some(max(b.now(), 0)) // its predecessors ended too long ago to be remembered
	}
	f.due, f.release = due.V, true
	if f.held {
		f.held = false
		b.held -= f.size
		b.ahead += f.size
	}
	switch {
	case f.prepared != nil:
		b.queue.Push(f.due, f)
	case !f.queued:
		f.queued = true
		b.urgent = append(b.urgent, f)
		b.work.Broadcast()
	}
}

// depart takes a flight off the ground: true when it is to be sent now, with the instant,
// read where the count of flights changes so that rows and client table count alike. Its
// body no longer counts against the budget.
func (b *board) depart(f *flight) (now int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ahead -= f.size
	f.size = 0
	b.work.Broadcast()
	now = b.now()
	if f.gone {
		return now, false
	}
	f.gone = true
	b.inFlight++
	return now, true
}

// landed notes that a flight ended at ns and releases who waited for it alone.
func (b *board) landed(f *flight, ns int64, sent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := f.job.Request.ID
	delete(b.pending, id)
	if !f.job.Request.Last { // nobody waits for the last of a session
		b.ended.add(id, ns)
	}
	if sent {
		b.inFlight--
	}
	for _, n := range f.next {
		n.depEnd = later(n.depEnd, ns)
		if n.waits--; n.waits == 0 && !n.gone {
			b.releaseLocked(n)
		}
	}
	f.next = nil
}

// reported notes that a landed flight has handed over its row.
func (b *board) reported() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	b.checkDoneLocked()
}

// stop gives up all that was not sent and what comes from now on.
func (b *board) stop(reason string) {
	b.mu.Lock()
	if b.stopped != "" {
		b.mu.Unlock()
		return
	}
	b.stopped = reason
	var rest []*flight
	for _, f := range b.pending {
		if !f.gone {
			f.gone = true
			rest = append(rest, f)
		}
	}
	b.prepare, b.urgent = nil, nil
	b.work.Broadcast()
	b.mu.Unlock()
	for _, f := range rest {
		b.giveUp(f, reason)
	}
}

// finish says that no more jobs will come.
func (b *board) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finished = true
	b.checkDoneLocked()
}

func (b *board) checkDoneLocked() {
	if b.finished && b.open == 0 && !b.closed {
		b.closed = true
		b.work.Broadcast()
		close(b.done)
	}
}
