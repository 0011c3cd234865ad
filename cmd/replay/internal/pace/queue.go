package pace

import (
	"math"
	"sync"
)

// Forever is an instant that never passes.
const Forever = math.MaxInt64

// Queue holds what is due at absolute instants and hands it out in order of the
// instant, first in first out on ties. All methods may be called by any goroutine,
// Run by one. Make it with New.
type Queue[T any] struct {
	now   func() int64
	sleep func(int64)
	ring  func()

	mu     sync.Mutex
	heap   []item[T]
	seq    uint64
	open   bool // Start was called
	closed bool
}

type item[T any] struct {
	due int64
	seq uint64
	v   T
}

// New returns a queue on the clock now (ns); sleep returns at an instant of that clock
// or when ring is called. Nothing is released before Start.
func New[T any](now func() int64, sleep func(int64), ring func()) *Queue[T] {
	return &Queue[T]{now: now, sleep: sleep, ring: ring}
}

// Push adds v, due at instant due of the clock. An instant that has passed is kept as
// it is: v goes out at once, and its lateness is the difference.
func (q *Queue[T]) Push(due int64, v T) {
	q.mu.Lock()
	q.seq++
	first := len(q.heap) == 0 || due < q.heap[0].due
	q.up(item[T]{due, q.seq, v})
	q.mu.Unlock()
	if first {
		q.ring()
	}
}

// Start lets Run release what is due. Before it, items only gather.
func (q *Queue[T]) Start() {
	q.mu.Lock()
	q.open = true
	q.mu.Unlock()
	q.ring()
}

// Close ends Run and returns what was not released, in order.
func (q *Queue[T]) Close() []T {
	q.mu.Lock()
	q.closed = true
	var rest []T
	for len(q.heap) > 0 {
		rest = append(rest, q.down().v)
	}
	q.mu.Unlock()
	q.ring()
	return rest
}

// Len returns how many items wait, and how many of them are due by now.
func (q *Queue[T]) Len() (waiting, due int) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.heap), q.countDue(0, now)
}

// countDue counts the items of the subtree at i that are due at now; a heap's late
// items form a tree at its top, so only they and their children are visited.
func (q *Queue[T]) countDue(i int, now int64) int {
	if i >= len(q.heap) || q.heap[i].due > now {
		return 0
	}
	return 1 + q.countDue(2*i+1, now) + q.countDue(2*i+2, now)
}

// Run calls release for each item at its instant, in order, until Close. What is late
// is released at once, one after the other: nothing is skipped and no instant is moved.
// release gets the time at which the item left the queue and must not block.
func (q *Queue[T]) Run(release func(v T, now int64)) {
	for {
		v, next, ok, closed := q.pop()
		switch {
		case closed:
			return
		case ok:
			release(v, q.now())
		default:
			q.sleep(next)
		}
	}
}

// pop returns the first item when it is due, else the instant to sleep to.
func (q *Queue[T]) pop() (v T, next int64, ok, closed bool) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return v, 0, false, true
	}
	if !q.open || len(q.heap) == 0 {
		return v, Forever, false, false
	}
	if q.heap[0].due > now {
		return v, q.heap[0].due, false, false
	}
	return q.down().v, 0, true, false
}

func (q *Queue[T]) less(i, j int) bool {
	a, b := &q.heap[i], &q.heap[j]
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

// up adds an item to the heap.
//
// Note: container/heap would box every item in an interface.
func (q *Queue[T]) up(it item[T]) {
	q.heap = append(q.heap, it)
	for i := len(q.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

// down removes the first item of the heap.
func (q *Queue[T]) down() item[T] {
	first := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap[last] = item[T]{}
	q.heap = q.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if !q.less(child, i) {
			return first
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}
