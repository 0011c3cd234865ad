package worker

import (
	"math"
	"sync"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/formats"
)

// board keeps the flights that have not ended, and who waits for whom. It decides each
// request's instant, whatever the predecessors' outcome:
//
//	schedule  due = max(at_ns, latest end of its predecessors + delay_ns); without at_ns the second term alone
//	strict    due = at_ns
//	think     due = latest end + delay_ns; with a null delay the latest of (dispatch of a predecessor +
//	          distance of the two at_ns) and that end; without predecessors at_ns
//	asap      due = the instant at which its predecessors have ended and its slots are its own
type board struct {
	timing string
	now    func() int64
	queue  *pace.Queue[*flight]
	giveUp func(f *flight, reason string) // makes the row of a flight that is never sent; called without mu
	forget func(all []*flight)            // ends flights that are not in the plan; called without mu
	caps

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
	dropping bool   // when stopped: what has no instant is not in the plan
	finished bool   // no more jobs will come
	asked    func() // to be called when the preparer is idle; nil: nobody asked
	closed   bool   // the preparer is to end
	done     chan struct{}
}

func newBoard(now func() int64, queue *pace.Queue[*flight], giveUp func(*flight, string)) *board {
	b := &board{timing: Schedule, now: now, queue: queue, giveUp: giveUp, pending: map[int64]*flight{}, done: make(chan struct{})}
	b.work.L = &b.mu
	return b
}

// accept takes a job that waits for the requests after, all of its session and accepted
// before it.
func (b *board) accept(j *link.Job, after []int64) {
	f := newFlight(j)
	b.mu.Lock()
	b.pending[j.Request.ID] = f
	b.open++
	if reason := b.stopped; reason != "" {
		f.gone = true
		dropping := b.dropping
		b.mu.Unlock()
		if dropping {
			b.forget([]*flight{f})
		} else {
			b.giveUp(f, reason)
		}
		return
	}
	defer b.mu.Unlock()
	b.joinLocked(f)
	if b.timing == Strict {
		after = nil
	}
	for _, id := range after {
		if p := b.pending[id]; p != nil {
			p.next = append(p.next, f)
			f.waits++
		} else if how, ok := b.ended.get(id); ok {
			f.follow(how)
		}
	}
	b.prepare = append(b.prepare, f)
	if f.waits == 0 {
		b.releaseLocked(f)
		b.fillLocked()
	}
	b.work.Broadcast()
}

// follow notes how a predecessor ended.
func (f *flight) follow(how ending) {
	f.depEnd = max(f.depEnd, how.ns)
	if at := f.job.Request.AtNS; at.Valid && how.slip.Valid {
		f.start = max(f.start, plus(at.V, how.slip.V))
	}
}

// plus adds to an instant. One beyond all time never comes, and does not turn into one
// long past.
func plus(ns, more int64) int64 {
	if more > 0 && ns > math.MaxInt64-more {
		return math.MaxInt64
	}
	return ns + more
}

func later(a formats.Int, ns int64) formats.Int {
	if a.Valid && a.V >= ns {
		return a
	}
	return formats.Some(ns)
}

// releaseLocked fixes the instant of a flight that waits for nobody any more; under
// asap it has one when it has its slots.
func (b *board) releaseLocked(f *flight) {
	if f.held {
		f.held = false
		b.held -= f.size
		b.ahead += f.size
	}
	if b.timing == Asap {
		b.lineUpLocked(f)
		return
	}
	due := b.dueOf(f)
	if !due.Valid {
		due = formats.Some(max(b.now(), 0)) // its predecessors ended too long ago to be remembered
	}
	f.due, f.release = due.V, true
	if f.prepared {
		b.queue.Push(f.due, f)
	}
}

// dueOf returns the instant that the timing gives a flight, null when it gives none.
func (b *board) dueOf(f *flight) formats.Int {
	r := &f.job.Request
	switch {
	case f.depEnd == unset && b.timing == Think && len(r.After) > 0:
		return formats.Int{}
	case f.depEnd == unset:
		return r.AtNS
	case b.timing == Think && !r.DelayNS.Valid:
		return formats.Some(max(f.start, f.depEnd))
	case b.timing == Think:
		return formats.Some(plus(f.depEnd, r.DelayNS.V))
	}
	return later(r.AtNS, plus(f.depEnd, r.DelayNS.Or(0)))
}

// depart takes a flight off the ground: true when it is to be sent now, with the instant,
// read where the count of flights changes so that rows and client table count alike. Its
// body no longer counts against the budget. One that waits for a slot comes again.
func (b *board) depart(f *flight) (now int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !f.gone && !f.admitted && !b.admitLocked(f) {
		return b.now(), false
	}
	if b.ahead >= aheadBudget { // the preparer may wait for room
		b.work.Broadcast()
	}
	b.ahead -= f.size
	f.size = 0
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
	how := ending{ns: ns}
	if sent {
		b.inFlight--
		if at := f.job.Request.AtNS; at.Valid {
			how.slip = formats.Some(f.dispatched - at.V)
		}
	}
	if !f.job.Request.Last { // nobody waits for the last of a session
		b.ended.add(id, how)
	}
	for _, n := range f.next {
		n.follow(how)
		if n.waits--; n.waits == 0 && !n.gone {
			b.releaseLocked(n)
			b.hurryLocked(n)
		}
	}
	f.next = nil
	b.leaveLocked(f)
	b.fillLocked()
}

// reported notes that a landed flight has handed over its row.
func (b *board) reported() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	b.checkDoneLocked()
}

// stop gives up all that was not sent and what comes from now on. With drop, what has no
// instant, or one at planned or later, was not planned and is forgotten instead.
func (b *board) stop(reason string, drop bool, planned int64) {
	b.mu.Lock()
	if b.stopped != "" {
		b.mu.Unlock()
		return
	}
	b.stopped, b.dropping = reason, drop
	var rest, unplanned []*flight
	for _, f := range b.pending {
		switch {
		case f.gone:
			continue
		case drop && (!f.release || f.due >= planned):
			unplanned = append(unplanned, f)
		default:
			rest = append(rest, f)
		}
		f.gone = true
		if f.capFrom != unset && !f.admitted {
			f.capWait = b.now() - f.capFrom
		}
	}
	b.prepare, b.urgent = nil, nil
	b.fillLocked()
	b.work.Broadcast()
	b.mu.Unlock()
	for _, f := range rest {
		b.giveUp(f, reason)
	}
	if len(unplanned) > 0 {
		b.forget(unplanned)
	}
}

// finish says that no more jobs will come.
func (b *board) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finished = true
	b.closeIdleLocked()
	b.checkDoneLocked()
}

func (b *board) checkDoneLocked() {
	if b.finished && b.open == 0 && !b.closed {
		b.closed = true
		b.work.Broadcast()
		close(b.done)
	}
}
