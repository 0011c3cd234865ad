package sim

import (
	"sync"
	"time"
)

// sink is the connection a response goes to.
type sink interface {
	// head starts the response; length −1 announces a stream. It appends to dst
	// what has to be written before the body.
	head(dst []byte, status int, ctype string, length int) []byte
	// try writes what can be written without waiting.
	try(b []byte) (int, error)
	// write waits until all is written.
	write(b []byte) error
	// kick wakes the sink's own writer, if it has one, and reports whether it does.
	kick() bool
	// fail closes the connection, with RST when asked.
	fail(rst bool)
}

// stream is one response under way. The pacing goroutine releases pieces of its
// script and writes them itself as long as the socket takes them; when it does
// not, a goroutine of the stream writes the rest and leaves again.
type stream struct {
	srv *Server
	job *job
	out sink

	mu       sync.Mutex
	script   script
	may      allowed
	fault    *Fault
	from     int64 // arrival
	freeAt   int64 // stall_mid, drip: no further token event before it
	draining bool  // somebody else than the pacer is writing
	pending  []byte
	then     act // what follows pending
	buf      []byte
	done     bool
	dead     bool // the client is gone
	finished chan struct{}
	close    bool // the connection ends with the response
	end      act  // how the response ended, set before finished is closed
}

// maxWrite bounds what is gathered for one write of a bundle.
const maxWrite = 64 << 10

// now is what may be sent at this time, with the faults' delays; again is when to
// ask once more, 0 for not by time.
func (st *stream) now(t int64) (a allowed, again int64) {
	a = st.may
	if b := st.srv.spec.Bundle; b != 1 && !a.tail {
		if b == 0 {
			a.tokens = 0
		} else {
			a.tokens -= a.tokens % b
		}
	}
	if st.fault == nil {
		return a, 0
	}
	d := int64(st.fault.For)
	c := &st.script
	switch st.fault.Kind {
	case "hang":
		return allowed{}, 0
	case "hold":
		if t < st.from+d {
			return allowed{}, st.from + d
		}
	case "stall_first":
		if t < st.from+d {
			return allowed{head: true}, st.from + d
		}
	case "stall_mid", "drip":
		if c.ask.stream {
			return st.paced(a, t)
		}
		if !a.tail {
			break
		}
		if st.freeAt == 0 {
			st.freeAt = t + d
		}
		if t < st.freeAt {
			return allowed{}, st.freeAt
		}
	}
	return a, 0
}

// paced applies the two faults that delay single token events.
func (st *stream) paced(a allowed, t int64) (allowed, int64) {
	c, d := &st.script, int64(st.fault.For)
	switch st.fault.Kind {
	case "stall_mid":
		if a.tokens < c.middle || c.events == 0 {
			break
		}
		if st.freeAt == 0 {
			if c.sent < c.middle { // the first half has to go first
				a.tokens, a.tail = c.middle, false
				return a, t
			}
			st.freeAt = t + d
		}
		if t < st.freeAt {
			a.tokens, a.tail = c.middle, false
			return a, st.freeAt
		}
	case "drip":
		if a.tokens <= c.sent && !a.tail {
			break
		}
		if t < st.freeAt {
			a.tokens, a.tail = c.sent, false
			return a, st.freeAt
		}
		if c.sent < c.events {
			a.tokens, a.tail = min(a.tokens, c.sent+1), false
			return a, t
		}
	}
	return a, 0
}

// gather collects the next bytes to write: one piece, or with a bundle as many as
// may go.
func (st *stream) gather(t int64) (b []byte, do act, ok bool) {
	b = st.buf[:0]
	for {
		a, again := st.now(t)
		before := st.script.sent
		var piece bool
		b, do, piece = st.script.next(b, &a)
		if st.script.sent > before && st.fault != nil && st.fault.Kind == "drip" {
			st.freeAt = t + int64(st.fault.For)
		}
		if !piece {
			if again > t {
				st.srv.alarm(st, again)
			}
			break
		}
		ok = true
		if do != goOn || st.srv.spec.Bundle == 1 || len(b) >= maxWrite {
			break
		}
	}
	st.buf = b
	return b, do, ok
}

// pump sends what may be sent. Only the pacing goroutine calls it.
func (st *stream) pump(t int64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done || st.dead || st.draining {
		return
	}
	if st.out.kick() {
		return
	}
	for {
		b, do, ok := st.gather(t)
		if !ok {
			return
		}
		n, err := 0, error(nil)
		if len(b) > 0 {
			n, err = st.out.try(b)
		}
		if err != nil {
			st.lost()
			return
		}
		if n < len(b) {
			st.pending, st.then, st.draining = b[n:], do, true
			go st.drain()
			return
		}
		if do != goOn {
			st.finish(do)
			return
		}
	}
}

// drain writes what is released with blocking writes until nothing is left to
// write now. The caller has set draining.
func (st *stream) drain() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for !st.done {
		b, do := st.pending, st.then
		st.pending, st.then = nil, goOn
		if st.dead {
			st.finish(shut)
			break
		}
		if b == nil {
			var ok bool
			if b, do, ok = st.gather(st.srv.clock.now()); !ok {
				break
			}
		}
		if len(b) > 0 {
			st.mu.Unlock()
			err := st.out.write(b)
			st.mu.Lock()
			if err != nil {
				st.lost()
				break
			}
		}
		if do != goOn {
			st.finish(do)
		}
	}
	st.draining = false
}

// lost ends a stream whose client is gone. The lock is held.
func (st *stream) lost() {
	if st.done {
		return
	}
	st.dead = true
	st.finish(shut)
	st.srv.send(message{kind: cancelled, job: st.job})
}

// abort ends a stream because its connection ended.
func (st *stream) abort() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return
	}
	st.dead = true
	if st.draining { // its writer is stuck in a write
		st.out.fail(false)
		st.srv.send(message{kind: cancelled, job: st.job})
		return
	}
	st.lost()
}

// finish closes the books of the response. The lock is held.
func (st *stream) finish(do act) {
	st.done, st.end = true, do
	if do != ended || st.close {
		st.out.fail(do == reset)
	}
	close(st.finished)
}

// over reports whether the response has ended.
func (st *stream) over() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.done
}

// admitted, stepped: the engine's news, at time t, from the pacing goroutine.
func (st *stream) admitted(t int64) {
	st.mu.Lock()
	st.may.head, st.may.role = true, true
	st.script.cached = st.job.cached
	st.mu.Unlock()
	st.pump(t)
}

func (st *stream) stepped(t int64, last bool) {
	st.mu.Lock()
	st.may.tokens = min(st.job.made, st.script.events)
	st.may.tail = last
	st.mu.Unlock()
	st.pump(t)
}

// alarm is a time at which a delayed stream may go on.
type alarm struct {
	at int64
	st *stream
}

type alarms []alarm

func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, k int) bool { return h[i].at < h[k].at }
func (h alarms) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *alarms) Push(v any)        { *h = append(*h, v.(alarm)) }
func (h *alarms) Pop() any {
	old := *h
	v := old[len(old)-1]
	old[len(old)-1] = alarm{}
	*h = old[:len(old)-1]
	return v
}

// seconds of a model or clock time.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
