package worker

import (
	"cmp"
	"container/heap"

	"hydrant/cmd/replay/internal/slots"
)

// The timings. What each means for an instant is said at board.
const (
	Schedule = "schedule"
	Strict   = "strict"
	Think    = "think"
	Asap     = "asap"
)

// Pools of the memory that workers share.
const (
	Requests = 0 // in flight
	Sessions = 1 // open
)

// caps keeps flights until they have their slots: first one for the session, which keeps it
// from its first request to the end of its last, then one for the request. What is
// due first goes first, under asap what comes first in the schedule. The board's mutex
// guards it.
type caps struct {
	requests *slots.Pool // nil: no cap
	sessions *slots.Pool // nil: no cap
	wake     func()      // tells the other workers that a slot is free; does not block

	started bool             // slots are given
	trees   map[string]*tree // sessions that have lines here
	gate    waitingTrees     // of them, those that wait for a slot
	line    waitingFlights   // flights that wait for a slot
	leaving *flight          // it is off the queue already
}

// tree is a session with all its streams.
type tree struct {
	lines   int       // accepted and not ended
	last    bool      // no more lines will come
	open    bool      // it has a slot
	waiting []*flight // for the slot
}

// joinLocked counts a line of its session.
func (b *board) joinLocked(f *flight) {
	if b.sessions == nil {
		return
	}
	r := &f.job.Request
	t := b.trees[r.Session]
	if t == nil {
		if b.trees == nil {
			b.trees = map[string]*tree{}
		}
		t = new(tree)
		b.trees[r.Session] = t
	}
	t.lines++
	if t.open {
		b.sessions.Work(1)
	}
	t.last = t.last || r.Last
}

// leaveLocked gives back what a flight that ended had.
func (b *board) leaveLocked(f *flight) {
	if f.admitted && b.requests != nil {
		b.requests.Free()
	}
	if b.sessions == nil {
		return
	}
	session := f.job.Request.Session
	t := b.trees[session]
	if t == nil { // accepted after the stop
		return
	}
	t.lines--
	if t.open {
		b.sessions.Work(-1)
	}
	b.closeLocked(session, t)
}

// closeLocked ends a session that has no more lines.
func (b *board) closeLocked(session string, t *tree) {
	if t.lines > 0 || !t.last && !b.finished {
		return
	}
	delete(b.trees, session)
	if t.open {
		b.sessions.Free()
	}
}

// closeIdleLocked ends the sessions that waited for lines that do not come.
func (b *board) closeIdleLocked() {
	for session, t := range b.trees {
		b.closeLocked(session, t)
	}
	b.fillLocked()
}

// key orders what waits for a slot.
func (b *board) key(f *flight) int64 {
	if b.timing == Asap {
		return f.job.Request.ID
	}
	return f.due
}

// admitLocked reports whether a flight that is due may leave. One that may not comes
// into the queue again when it may.
func (b *board) admitLocked(f *flight) bool {
	if b.requests == nil && b.sessions == nil {
		return true
	}
	if f.capFrom != unset {
		return false // it waits already
	}
	now := b.now()
	f.capFrom = now
	b.leaving = f
	b.lineUpLocked(f)
	b.fillLocked()
	b.leaving = nil
	if !f.admitted {
		return false
	}
	f.capWait = 0
	return true
}

// lineUpLocked has a flight wait for its slots.
func (b *board) lineUpLocked(f *flight) {
	if b.sessions != nil {
		if t := b.trees[f.job.Request.Session]; t != nil && !t.open {
			t.waiting = append(t.waiting, f)
			if len(t.waiting) == 1 {
				heap.Push(&b.gate, waitingTree{b.key(f), f.job.Request.ID, t})
			}
			return
		}
	}
	heap.Push(&b.line, waitingFlight{b.key(f), f})
}

// fillLocked gives free slots to those that wait, and tells the other workers when there
// are more.
func (b *board) fillLocked() {
	if b.requests == nil && b.sessions == nil {
		if b.started { // asap without a cap never comes here with a line
			b.drainLocked()
		}
		return
	}
	if b.sessions != nil {
		for b.nextTree(); len(b.gate) > 0; b.nextTree() {
			if !b.claim(b.sessions, b.gate[0].key) {
				break
			}
			t := heap.Pop(&b.gate).(waitingTree).tree
			t.open = true
			b.sessions.Work(t.lines)
			for _, f := range t.waiting {
				if !f.gone {
					heap.Push(&b.line, waitingFlight{b.key(f), f})
				}
			}
			t.waiting = nil
		}
		b.tell(b.sessions, len(b.gate) == 0)
	}
	if b.requests == nil {
		b.drainLocked()
		return
	}
	for b.nextFlight(); len(b.line) > 0; b.nextFlight() {
		if !b.claim(b.requests, b.line[0].key) {
			break
		}
		b.clearLocked(heap.Pop(&b.line).(waitingFlight).flight)
	}
	b.tell(b.requests, len(b.line) == 0)
}

// drainLocked clears all, where requests have no cap.
func (b *board) drainLocked() {
	for b.nextFlight(); len(b.line) > 0; b.nextFlight() {
		b.clearLocked(heap.Pop(&b.line).(waitingFlight).flight)
	}
}

// claim takes a slot. Who cannot have one is known to wait before it tries again, so
// that no slot is freed unseen.
func (b *board) claim(p *slots.Pool, key int64) bool {
	if !b.started {
		p.Wait(key)
		return false
	}
	if p.Take(key) {
		return true
	}
	p.Wait(key)
	return p.Take(key)
}

// tell takes this worker off those that wait, and wakes others for what is free.
func (b *board) tell(p *slots.Pool, nobody bool) {
	if nobody {
		p.Wait(slots.None)
	}
	if b.started && p.Others() {
		b.wake()
	}
}

// nextTree and nextFlight drop from the front what was given up meanwhile.
func (b *board) nextTree() {
	for len(b.gate) > 0 && b.gate[0].tree.dead() {
		heap.Pop(&b.gate)
	}
}

func (b *board) nextFlight() {
	for len(b.line) > 0 && b.line[0].gone {
		heap.Pop(&b.line)
	}
}

func (t *tree) dead() bool {
	for _, f := range t.waiting {
		if !f.gone {
			return false
		}
	}
	t.waiting = nil
	return true
}

// clearLocked lets a flight that has its slots go.
func (b *board) clearLocked(f *flight) {
	f.admitted = true
	now := max(b.now(), 0)
	if b.timing == Asap {
		f.due, f.release = now, true
		b.hurryLocked(f)
	} else {
		f.capWait = now - f.capFrom
	}
	if f.prepared && f != b.leaving {
		b.queue.Push(f.due, f)
	}
}

// begin gives the first slots.
func (b *board) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = true
	b.fillLocked()
}

// fill gives slots that others freed.
func (b *board) fill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fillLocked()
}

// waitingForSlots returns how many flights wait for one that are due.
func (b *board) waitingForSlots() int {
	if b.timing == Asap {
		return 0 // they are due when they have it
	}
	n := len(b.line)
	for _, t := range b.gate {
		n += len(t.tree.waiting)
	}
	return n
}

type waitingFlight struct {
	key int64
	*flight
}

type waitingFlights []waitingFlight

func (h waitingFlights) Len() int { return len(h) }
func (h waitingFlights) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].key, h[j].key), cmp.Compare(h[i].job.Request.ID, h[j].job.Request.ID)) < 0
}
func (h waitingFlights) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *waitingFlights) Push(x any)   { *h = append(*h, x.(waitingFlight)) }
func (h *waitingFlights) Pop() any     { return pop((*[]waitingFlight)(h)) }

type waitingTree struct {
	key, id int64 // of its first flight
	tree    *tree
}

type waitingTrees []waitingTree

func (h waitingTrees) Len() int { return len(h) }
func (h waitingTrees) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].key, h[j].key), cmp.Compare(h[i].id, h[j].id)) < 0
}
func (h waitingTrees) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *waitingTrees) Push(x any)   { *h = append(*h, x.(waitingTree)) }
func (h *waitingTrees) Pop() any     { return pop((*[]waitingTree)(h)) }

func pop[T any](s *[]T) T {
	old := *s
	x := old[len(old)-1]
	var zero T
	old[len(old)-1] = zero
	*s = old[:len(old)-1]
	return x
}
