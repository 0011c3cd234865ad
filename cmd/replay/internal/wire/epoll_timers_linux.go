package wire

import "math"

// timers orders exchanges by the instant of the first limit that may end them. An entry may
// be early, never late: a limit that moves away is found out when the entry is reached,
// so a read that puts off the idle limit costs nothing here.
type timers struct{ heap []*exchange }

// next returns the first instant, math.MaxInt64 without any.
func (t *timers) next() int64 {
	if len(t.heap) == 0 {
		return math.MaxInt64
	}
	return t.heap[0].key
}

// put makes sure that x is looked at by instant at.
func (t *timers) put(x *exchange, at int64) {
	switch {
	case x.heapAt < 0:
		x.key, x.heapAt = at, int32(len(t.heap))
		t.heap = append(t.heap, x)
		t.up(int(x.heapAt))
	case at < x.key:
		x.key = at
		t.up(int(x.heapAt))
	}
}

// move puts x, the first, off to instant at.
func (t *timers) move(x *exchange, at int64) {
	x.key = at
	t.down(int(x.heapAt))
}

// remove forgets x.
func (t *timers) remove(x *exchange) {
	i := int(x.heapAt)
	if i < 0 {
		return
	}
	last := len(t.heap) - 1
	t.swap(i, last)
	t.heap[last] = nil
	t.heap = t.heap[:last]
	x.heapAt = -1
	if i < last {
		t.down(i)
		t.up(i)
	}
}

func (t *timers) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].heapAt, t.heap[j].heapAt = int32(i), int32(j)
}

func (t *timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if t.heap[parent].key <= t.heap[i].key {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t *timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if child+1 < len(t.heap) && t.heap[child+1].key < t.heap[child].key {
			child++
		}
		if t.heap[i].key <= t.heap[child].key {
			return
		}
		t.swap(i, child)
		i = child
	}
}
