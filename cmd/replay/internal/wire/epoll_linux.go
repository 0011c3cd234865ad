package wire

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/kernel"
	"hydrant/cmd/replay/internal/pace"
)

const (
	// loopRead is how much one read takes. All connections share the buffer, so it can be
	// large; what does not fit is read in the next turn.
	loopRead = 64 << 10
	// loopWrite bounds what one turn writes of a body, so that others are served between.
	loopWrite = 128 << 10
	// far is from where on a wait is ended by a timer that stays armed over many waits. The
	// timeout of a system call is armed and disarmed in each.
	far = int64(50 * time.Millisecond)
	// burst is how many requests are started in a row before the sockets are looked at:
	// after a stall thousands are overdue.
	burst = 16
)

// loop is the Engine on epoll: HTTP/1.1 without TLS on one thread, which is the pacing
// thread. It writes a request with its own system call at the instant it is started,
// and serves its sockets while the pacer sleeps. All its state belongs to that thread,
// but for what says otherwise.
//
// Sockets are watched edge-triggered, for reading and writing at once, so the interest is
// never changed: a read that fills less than the buffer has emptied the socket, and one
// that fills it is repeated in the next turn.
type loop struct {
	o        Options
	limits   limits
	counters *Counters
	drag     *drag
	base     int64 // CLOCK_MONOTONIC at offset 0
	stamps   *kernel.Converter

	poll  poller
	ready []unix.EpollEvent // not yet served
	again []handle          // sockets with more to read or write, in the next turn
	spare []handle          // the other half of again

	sockets []*socket // by slot
	slots   []int32   // free ones
	nextID  int64
	gen     uint32

	in   []byte // shared by all reads
	head []byte // of the request being written
	iov  [2]unix.Iovec
	msg  unix.Msghdr
	oob  [kernel.OOBSize]byte
	desk desk // of the streams

	places    map[string]*place
	dialing   int         // connects in progress
	queue     []*exchange // wait to connect
	advancing bool
	ports     int // local ports a destination can use

	timers timers
	groups []*group
	pool   []*exchange // to be used again
	starts int         // since the sockets were looked at
	latest int64       // offset of the newest read, 0 when it has been looked at

	rung   atomic.Bool // anybody
	asleep atomic.Bool
	mailed atomic.Bool
	mu     sync.Mutex
	mail   []func() // from other goroutines, run on the loop's thread
	closed bool     // under mu
	stop   context.CancelFunc
	ctx    context.Context // of the resolver
}

// handle names a socket even when its slot has gone to another one meanwhile.
type handle struct {
	slot int32
	gen  uint32
}

// NewEpoll returns the engine on epoll, for HTTP/1.1 without TLS. Start and Sleep belong
// to one thread, the pacing one. It opens as many connections as there are
// requests in flight, keeps them, and never waits for one that is in use.
// Options.TLS, HTTP2 and Proxy mean nothing to it.
func NewEpoll(o Options) (Engine, error) {
	l := &loop{o: o, limits: limitsOf(&o), counters: o.Counters, drag: newDrag(&o), base: clock.Monotonic() - o.Clock.Now(), stamps: kernel.NewConverter(o.Clock),
		in: make([]byte, loopRead), places: map[string]*place{}, ports: LocalPorts()}
	if l.counters == nil {
		l.counters = new(Counters)
	}
	l.desk = *newDesk(&o, l.counters, l.drag)
	l.drag.enter(arrival{}) // and never leaves: the loop says when it was idle
	l.poll.keepP = o.KeepP
	if err := l.poll.open(); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// Start begins a request: it is written before Start returns when there is a connection.
func (l *loop) Start(ctx context.Context, p *Prepared, dispatched int64, f Flight) {
	x := l.exchange()
	x.p, x.f, x.stream.kind = p, f, p.Kind
	if d := l.o.TotalTimeout; d > 0 {
		x.endAt = dispatched + int64(d)
	}
	if d := p.CancelAfter; d > 0 && (x.endAt == 0 || dispatched+int64(d) < x.endAt) {
		x.endAt, x.planned = dispatched+int64(d), true
	}
	l.join(x, ctx)
	if err := l.startable(p.Kind); err != nil {
		l.end(x, nil, err)
		return
	}
	x.asked = l.o.Clock.Now()
	if cause := causeOf(ctx); cause != nil {
		l.end(x, cause, nil)
		return
	}
	l.arm(x, l.o.ConnectTimeout.Nanoseconds(), connecting, x.asked)
	l.connect(x)
	if l.starts++; l.starts >= burst {
		l.starts = 0
		l.turn()
	}
}

// Sleep serves the sockets until instant ns of CLOCK_MONOTONIC or Ring.
func (l *loop) Sleep(ns int64) {
	l.starts, l.latest = 0, 0
	until := int64(math.MaxInt64)
	if ns != pace.Forever {
		until = ns - l.base
	}
	for first := true; ; first = false {
		if l.mailed.Load() {
			l.open()
		}
		now := l.latest // of the read just served, or else
		if l.latest = 0; now == 0 {
			now = l.o.Clock.Now()
		}
		l.expire(now)
		if l.rung.Load() && l.rung.Swap(false) {
			return
		}
		switch {
		case len(l.ready) > 0:
			if now >= until && !first { // even a pacer that is always late lets one be served
				return
			}
			l.serve()
		case now >= until:
			if first {
				l.look(0)
				continue
			}
			return
		case len(l.again) > 0:
			l.look(0)
			l.repeat()
		case l.drag != nil:
			if l.look(0); len(l.ready) == 0 { // else the loop was never idle
				l.wait(until)
				l.drag.idle(l.o.Clock.Now())
			}
		default:
			l.wait(until)
		}
	}
}

// turn serves what is ready, without waiting.
func (l *loop) turn() {
	if len(l.ready) == 0 {
		l.look(0)
	}
	for len(l.ready) > 0 {
		l.serve()
	}
	l.repeat()
	l.expire(l.o.Clock.Now())
}

// wait waits until a socket is ready, an instant or a ring.
func (l *loop) wait(until int64) {
	until = min(until, l.timers.next())
	l.asleep.Store(true)
	switch {
	case l.rung.Load() || l.mailed.Load():
		l.look(0)
	case until == math.MaxInt64:
		l.look(-1)
	default:
		now := l.o.Clock.Now()
		if until-now > far && l.poll.alarm(until+l.base, now+l.base) {
			l.look(-1)
		} else {
			l.look(max(until-now, 0))
		}
	}
	l.asleep.Store(false)
}

// look asks which sockets are ready, within timeout ns; below 0 is for ever.
func (l *loop) look(timeout int64) { l.ready = l.poll.wait(timeout) }

// serve serves the first socket that is ready.
func (l *loop) serve() {
	ev := l.ready[0]
	l.ready = l.ready[1:]
	if s := l.socket(handle{ev.Fd, uint32(ev.Pad)}); s != nil {
		l.touch(s, ev.Events)
	}
}

// repeat gives another turn to the sockets that had more to do.
func (l *loop) repeat() {
	l.again, l.spare = l.spare[:0], l.again
	for _, h := range l.spare {
		if s := l.socket(h); s != nil {
			s.again = false
			l.touch(s, s.flags)
		}
	}
}

// later asks for another turn.
func (l *loop) later(s *socket, flags uint32) {
	s.flags = flags
	if !s.again {
		s.again = true
		l.again = append(l.again, s.handle)
	}
}

func (l *loop) socket(h handle) *socket {
	if h.slot < 0 || int(h.slot) >= len(l.sockets) {
		return nil // the bell
	}
	if s := l.sockets[h.slot]; s != nil && s.gen == h.gen {
		return s
	}
	return nil
}

// Close closes all connections. Requests in flight end as cancelled: nobody serves them
// any more.
func (l *loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	for len(l.groups) > 0 {
		l.groups[0].end(errClosed)
	}
	for _, s := range l.sockets {
		if s != nil {
			l.drop(s)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.poll.close()
}

var errClosed = fmt.Errorf("the engine was closed")
