package wire

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

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
	// loopBatch is how many ready sockets one system call names.
	loopBatch = 128
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

	prefixes  map[*Kind]*prefix
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
		in: make([]byte, loopRead), prefixes: map[*Kind]*prefix{}, places: map[string]*place{}, ports: LocalPorts()}
	if l.counters == nil {
		l.counters = new(Counters)
	}
	l.desk = desk{clk: o.Clock, counters: l.counters, drag: l.drag, lineCap: o.LineCap}
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
	x.p, x.f, x.dispatched = p, f, dispatched
	if d := l.o.TotalTimeout; d > 0 {
		x.totalAt = dispatched + int64(d)
	}
	if d := p.CancelAfter; d > 0 {
		x.cutAt = dispatched + int64(d)
	}
	l.join(x, ctx)
	var err error
	if x.prefix, err = l.prefix(p); err != nil {
		l.end(x, nil, err)
		return
	}
	x.asked = l.o.Clock.Now()
	if cause := causeOf(ctx); cause != nil {
		l.end(x, cause, nil)
		return
	}
	l.arm(x, l.o.ConnectTimeout.Nanoseconds(), l.limits.connect, x.asked)
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

// Ring ends the present Sleep or the next one.
func (l *loop) Ring() {
	if !l.rung.Swap(true) && l.asleep.Load() {
		l.poll.ring()
	}
}

// post runs f on the loop's thread soon. Anybody may call it; after Close f is dropped.
func (l *loop) post(f func()) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.mail = append(l.mail, f)
	l.mailed.Store(true)
	if l.asleep.Load() {
		l.poll.ring()
	}
	l.mu.Unlock()
}

// open runs what was posted.
func (l *loop) open() {
	l.mu.Lock()
	mail := l.mail
	l.mail = nil
	l.mailed.Store(false)
	l.mu.Unlock()
	for _, f := range mail {
		f()
	}
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

// poller is an epoll instance with a bell.
type poller struct {
	fd    int
	bell  int   // eventfd
	timer int   // timerfd for instants that are far
	armed int64 // what it is armed for, CLOCK_MONOTONIC; 0: nothing
	old   bool  // the kernel has no epoll_pwait2: the timer ends all waits
	keepP bool
	cut   int // waits in a row that a signal ended
	batch [loopBatch]unix.EpollEvent
}

// cutWaits is after how many waits in a row that a signal ended the thread gives up its P:
// after some 200 ms in which nothing came.
const cutWaits = 16

// Slots that are no socket's.
const (
	bellSlot  = -1
	timerSlot = -2
)

func (p *poller) open() (err error) {
	p.fd, p.bell, p.timer = -1, -1, -1
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	// edge-triggered: each ring is an edge, and the counter never has to be read
	if err = p.watch(p.bell, handle{slot: bellSlot}, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return err
	}
	_, errno := p.pwait2(0)
	p.old = errno == unix.ENOSYS || errno == unix.EPERM
	if p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	return p.watch(p.timer, handle{slot: timerSlot}, unix.EPOLLIN|unix.EPOLLET)
}

func (p *poller) watch(fd int, h handle, events uint32) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: h.slot, Pad: int32(h.gen)})
}

// wait returns what is ready within timeout ns, below 0 for ever. The slice is valid
// until the next call.
func (p *poller) wait(timeout int64) []unix.EpollEvent {
	var n int
	var errno unix.Errno
	switch {
	case !p.old:
		n, errno = p.pwait2(timeout)
	case timeout <= 0:
		n, errno = p.pwait(int(max(timeout, -1)))
	default:
		p.armed = 0
		it := unix.ItimerSpec{Value: unix.NsecToTimespec(timeout)}
		if err := unix.TimerfdSettime(p.timer, 0, &it, nil); err != nil {
			n, errno = p.pwait(int(timeout/1e6) + 1) // late, which the lag shows
		} else {
			n, errno = p.pwait(-1)
		}
	}
	if errno != 0 && errno != unix.EINTR {
		panic("internal error: epoll_wait: " + errno.Error())
	}
	p.cut++
	if errno != unix.EINTR {
		p.cut = 0
	}
	if errno != 0 {
		n = 0
	}
	for i := range p.batch[:n] {
		if p.batch[i].Fd == timerSlot {
			p.armed = 0 // it has rung, however early that is by the caller's clock
		}
	}
	return p.batch[:n]
}

// alarm has the timer end a wait without a timeout at instant at, or before it when it was
// armed for a nearer one. It reports whether there is a timer.
func (p *poller) alarm(at, now int64) bool {
	if p.armed > now && p.armed <= at {
		return true
	}
	it := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	if err := unix.TimerfdSettime(p.timer, unix.TFD_TIMER_ABSTIME, &it, nil); err != nil {
		return false
	}
	p.armed = at
	return true
}

// pwait2 is epoll_pwait2. A wait that does not block need not tell the scheduler, nor one of
// a thread with a P of its own: given up, the P would be taken over by sysmon at each
// wait, and sysmon then looks at all of them every 20 µs. A stop of the world ends the
// wait with its signal. So does sysmon, every 10 to 20 ms, as if a goroutine ran too long, which
// costs several switches of threads: after cutWaits of them nothing is going on, and
// the P is given up.
func (p *poller) pwait2(timeout int64) (int, unix.Errno) {
	var t *unix.Timespec
	if timeout >= 0 {
		ts := unix.NsecToTimespec(timeout)
		t = &ts
	}
	if timeout == 0 || p.keepP && p.cut < cutWaits {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(unsafe.Pointer(t)), 0, 0)
		return int(n), errno
	}
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(unsafe.Pointer(t)), 0, 0)
	return int(n), errno
}

func (p *poller) pwait(ms int) (int, unix.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.batch[0])), loopBatch, uintptr(ms), 0, 0)
	return int(n), errno
}

// ring wakes whoever waits. It may be called by any goroutine until close.
func (p *poller) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(p.bell, one[:]) // a full counter has rung already
}

func (p *poller) close() {
	for _, fd := range []*int{&p.fd, &p.bell, &p.timer} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}
