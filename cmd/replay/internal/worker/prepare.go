package worker

import (
	"errors"
	"fmt"
	"strings"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/wire"
)

// Budgets of prepared bodies, in bytes. A body of 100,000 tokens of text is about
// 600 KB. Past aheadBudget the preparer waits for a dispatch; past heldBudget a body
// that still waits for a predecessor is built when the predecessor has ended.
const (
	aheadBudget = 128 << 20
	heldBudget  = 64 << 20
)

// nextToPrepare waits for a flight whose body is to be built; nil when there will be
// no more. The caller builds it and calls ready. Whoever asked hears when all that can
// be built ahead for now is built.
func (b *board) nextToPrepare() *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed {
		if f := b.pickLocked(); f != nil {
			return f
		}
		if answer := b.asked; answer != nil {
			b.asked = nil
			b.mu.Unlock()
			answer()
			b.mu.Lock()
			continue
		}
		b.work.Wait()
	}
	return nil
}

// ask has the preparer call answer, once, when it is idle.
func (b *board) ask(answer func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = answer
	b.work.Broadcast()
}

func (b *board) pickLocked() *flight {
	for len(b.urgent) > 0 {
		f := b.urgent[0]
		b.urgent = b.urgent[1:]
		if f.wanted() {
			f.taken = true
			return f
		}
	}
	for len(b.prepare) > 0 {
		f := b.prepare[0]
		switch {
		case !f.wanted():
		case f.waits > 0 && (f.needsReplies() || b.held >= heldBudget): // built when released
		case f.waits == 0 && b.ahead >= aheadBudget:
			return nil
		default:
			b.prepare = b.prepare[1:]
			f.taken = true
			return f
		}
		b.prepare = b.prepare[1:]
	}
	b.prepare = nil // lets the array go
	return nil
}

// wanted reports whether a body is still to be built.
func (f *flight) wanted() bool { return !f.gone && !f.taken && !f.prepared }

// hurryLocked has the body of f built before those that wait in the schedule's order.
func (b *board) hurryLocked(f *flight) {
	if f.wanted() {
		b.urgent = append(b.urgent, f)
		b.work.Broadcast()
	}
}

// ready notes that the body of f is built, at offset ns.
func (b *board) ready(f *flight, p wire.Prepared, ns int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.taken = false
	if f.gone {
		return
	}
	f.prepare(p)
	f.preparedNS, f.size = ns, int64(len(p.Body))
	if f.waits > 0 {
		f.held = true
		b.held += f.size
		return
	}
	b.ahead += f.size
	if f.release {
		b.queue.Push(f.due, f)
	}
}

// refused notes that f cannot be built: true when its row is still to be made.
func (b *board) refused(f *flight) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.taken = false
	first := !f.gone
	f.gone = true
	if first && !f.release { // under asap: it was to be released and cannot be
		f.due, f.release = max(b.now(), 0), true
	}
	return first
}

// prepareAll builds bodies ahead until there are no more.
func (w *worker) prepareAll() {
	for {
		f := w.board.nextToPrepare()
		if f == nil {
			return
		}
		p, err := w.composer.compose(f)
		switch {
		case err == nil:
			w.board.ready(f, p, max(w.now(), 0)) // built before the epoch: ready at it
		case w.board.refused(f):
			w.refuse(f, err)
		}
	}
}

// refuse makes the row of a request that cannot be sent. A session that has lost a reply
// is no fault of the plan; anything else ends the run.
func (w *worker) refuse(f *flight, err error) {
	var lost *lostReply
	if !errors.As(err, &lost) {
		place := fmt.Sprintf("schedule request %d: ", f.job.Request.ID)
		fault := link.Fault{Text: place + strings.TrimPrefix(err.Error(), place)}
		var h interface{ Hint() string }
		if errors.As(err, &h) {
			fault.Hint = h.Hint()
		}
		_ = w.out.WriteJSON(link.KindFault, fault)
	}
	w.giveUp(f, err.Error())
}
