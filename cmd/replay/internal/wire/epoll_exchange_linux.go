package wire

import (
	"context"
	"errors"
	"io"
	"slices"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// An exchange is one request on its way through the loop. It is used again for
// others, and holds no row: a stream that idles costs little more than this. An
// offset of 0 ns stands for null in it.
type exchange struct {
	p *Prepared // nil when it is written and no reply is kept in it
	f Flight
	s *socket // nil before there is one, ready or being dialled

	group   *group
	key     int64 // of the heap of timers
	heapAt  int32 // −1: not in it
	groupAt int32 // its place in the group

	phaseAt, endAt int64 // when the limit of the phase, and that of the whole or of the plan, is reached; 0: never

	asked, ready               int64
	connected                  int64
	began, wrote, headers      int64 // began: the newest write
	firstByte, firstByteKernel int64
	rare                       *rare // nil: nothing of it
	answer                     response
	stream                     stream

	tried    uint8 // addresses tried
	waits    bool  // for a name or its turn to connect
	reused   bool
	written  bool
	answered bool // the first byte of the answer has come
	early    bool
	planned  bool // endAt is the plan's
	phase    phase
}

// listens says that the stream has begun.
func (x *exchange) listens() bool { return x.stream.desk != nil }

// refused says that the answer is not 2xx.
func (x *exchange) refused() bool {
	return x.headers != 0 && (x.answer.status < 200 || x.answer.status > 299)
}

// rare is what most exchanges never have.
type rare struct {
	dns  int64  // when the name was resolved
	sent int    // bytes of the body that the kernel took, when not all at once
	head []byte // of the request, what did not fit into the socket
	dial error  // why the first address tried refused
	body []byte // of an answer that is not 2xx
}

func (x *exchange) rarely() *rare {
	if x.rare == nil {
		x.rare = new(rare)
	}
	return x.rare
}

// unsent returns what is left of the request's head.
func (x *exchange) unsent() []byte {
	if x.rare == nil {
		return nil
	}
	return x.rare.head
}

// sent returns how many bytes of the body the kernel took.
func (x *exchange) sent() int {
	if x.rare == nil {
		return 0
	}
	return x.rare.sent
}

// dns returns when the name was resolved, 0 where it was not.
func (x *exchange) dns() int64 {
	if x.rare == nil {
		return 0
	}
	return x.rare.dns
}

// hold keeps what is left of the head for the next turn.
func (x *exchange) hold(head []byte) {
	r := x.rarely()
	r.head = append(r.head[:0], head...)
}

// prefix is where x goes.
func (x *exchange) prefix() *prefix { return x.stream.kind.prefix }

// exchange returns an empty exchange.
func (l *loop) exchange() *exchange {
	if n := len(l.pool); n > 0 {
		x := l.pool[n-1]
		l.pool = l.pool[:n-1]
		return x
	}
	return &exchange{heapAt: -1}
}

// release lets an exchange be used again.
func (l *loop) release(x *exchange) {
	x.answer.reset()
	x.stream.reset()
	*x = exchange{heapAt: -1, answer: x.answer, stream: x.stream}
	l.pool = append(l.pool, x)
}

// arm limits the phase that begins at now to d ns; 0 is no limit.
func (l *loop) arm(x *exchange, d int64, p phase, now int64) {
	x.phaseAt, x.phase = 0, p
	if d > 0 {
		x.phaseAt = now + d
	}
	if at, _ := l.deadline(x); at != 0 {
		l.timers.put(x, at)
	}
}

// deadline returns the first limit, 0 without any, and the cause it ends the request for.
func (l *loop) deadline(x *exchange) (at int64, cause *limit) {
	at, cause = x.phaseAt, l.limits.cause(x.phase)
	if x.endAt != 0 && (at == 0 || x.endAt < at) {
		at, cause = x.endAt, l.limits.total
		if x.planned {
			cause = errPlanned
		}
	}
	return at, cause
}

// expire ends the requests whose limit is reached.
func (l *loop) expire(now int64) {
	for l.timers.next() <= now {
		x := l.timers.heap[0]
		at, cause := l.deadline(x)
		switch {
		case at == 0:
			l.timers.remove(x)
		case at > now:
			l.timers.move(x, at)
		default:
			l.end(x, cause, nil)
		}
	}
}

// A group is the requests of one context.
type group struct {
	l     *loop
	ctx   context.Context
	stop  func() bool
	all   []*exchange
	ended bool
}

// add puts x into the group.
func (g *group) add(x *exchange) {
	x.group, x.groupAt = g, int32(len(g.all))
	g.all = append(g.all, x)
}

// join puts x into the group of its context. There are few: a run has one.
func (l *loop) join(x *exchange, ctx context.Context) {
	for _, g := range l.groups {
		if g.ctx == ctx && !g.ended {
			g.add(x)
			return
		}
	}
	g := &group{l: l, ctx: ctx}
	g.stop = context.AfterFunc(ctx, func() { l.post(func() { g.end(context.Cause(ctx)) }) })
	l.groups = append(l.groups, g)
	g.add(x)
}

// end ends all requests of the group.
func (g *group) end(cause error) {
	g.ended = true
	for len(g.all) > 0 {
		g.l.end(g.all[len(g.all)-1], cause, nil)
	}
	g.l.leaveGroup(g)
}

// leave takes x out of its group. The last group is kept for the next request.
func (l *loop) leave(x *exchange) {
	g, last := x.group, len(x.group.all)-1
	g.all[x.groupAt] = g.all[last]
	g.all[x.groupAt].groupAt = x.groupAt
	g.all[last] = nil
	g.all = g.all[:last]
	if last == 0 && len(l.groups) > 1 && !g.ended {
		l.leaveGroup(g)
	}
}

func (l *loop) leaveGroup(g *group) {
	g.stop()
	l.groups = slices.DeleteFunc(l.groups, func(o *group) bool { return o == g })
}

// assign gives x its connection and writes the request.
func (l *loop) assign(x *exchange, s *socket, reused bool) {
	x.s, s.x = s, x
	x.reused = reused
	s.begin()
	x.ready = l.o.Clock.Now()
	l.arm(x, l.o.FirstByteTimeout.Nanoseconds(), awaiting, x.ready)
	x.began = x.ready
	l.write(x, true)
}

// took takes bytes that were read from the connection of x at the offset at, and arrived
// at kernel.
func (l *loop) took(x *exchange, p []byte, at, kernel int64) {
	if !x.answered {
		x.answered = true
		first := at // as the kernel says where it does
		if kernel != unstamped {
			first = kernel
		}
		x.early = !x.written || first < x.began
		// the answer may be there before the writing system call returns
		if !x.early && x.wrote > first {
			x.wrote = first
		}
	}
	for len(p) > 0 {
		if x.answer.done() {
			x.s.surplus = true // the server talks on: the connection cannot be kept
			break
		}
		headed := x.answer.headed()
		body, n, err := x.answer.step(p)
		p = p[n:]
		if !headed && x.answer.headed() && !l.headed(x, at) {
			return
		}
		if len(body) > 0 && !l.body(x, body, at, kernel) {
			return
		}
		if err != nil {
			l.end(x, nil, &brokenError{err})
			return
		}
	}
	if x.answer.done() {
		l.end(x, nil, io.EOF)
	}
}

// headed looks at a header that is complete; false when the request has ended with it.
func (l *loop) headed(x *exchange, at int64) bool {
	x.headers = at
	switch r := &x.answer; {
	case x.refused():
	case r.encoding() != "":
		l.end(x, nil, &encodedError{r.encoding()})
		return false
	default:
		x.stream.init(x.stream.kind, x.p.reply(), &l.desk)
	}
	return true
}

// An encodedError is an answer in an encoding that was not asked for.
type encodedError struct{ encoding string }

func (e *encodedError) Error() string {
	return "content-encoding: got " + e.encoding + ", want identity"
}

// body takes bytes of the body; false when the request has ended with them.
func (l *loop) body(x *exchange, p []byte, at, kernel int64) bool {
	idle := l.o.IdleTimeout.Nanoseconds()
	switch {
	case x.firstByte == 0:
		x.firstByte = at
		if kernel != unstamped {
			x.firstByteKernel = kernel
		}
		l.arm(x, idle, idling, at)
	case idle > 0 && x.phase != draining:
		x.phaseAt = at + idle
	}
	if x.refused() {
		r := x.rarely()
		r.body = append(r.body, p[:min(len(p), maxErrorBody-len(r.body))]...)
		if len(r.body) == maxErrorBody {
			l.end(x, nil, io.EOF)
			return false
		}
		return true
	}
	s := &x.stream
	err := s.take(p, arrival{read: x.s.t.reads, kernelNS: kernel, stamped: kernel != unstamped})
	switch {
	case err != nil:
		l.end(x, nil, err)
		return false
	case s.done && x.phase != draining:
		l.arm(x, drainLimit.Nanoseconds(), draining, at)
	}
	return true
}

// outcome names how x ended: cause is why it was ended from outside, nil when it was not,
// err is why reading stopped.
func (l *loop) outcome(x *exchange, cause, err error) (outcome, text string) {
	var encoded *encodedError
	switch {
	case x.refused():
		if x.rare == nil || len(x.rare.body) == 0 {
			return run.HTTPError, x.answer.reason()
		}
		return run.HTTPError, endpoint.ErrorText(x.rare.body)
	case x.listens():
		return x.stream.outcome(cause, err)
	case errors.As(err, &encoded):
		return run.Malformed, err.Error()
	}
	if outcome, text = ended(cause); outcome != "" {
		return outcome, text
	}
	if x.ready == 0 {
		return l.limits.unconnected(err)
	}
	return unanswered(err, x.s.t.received > x.s.atBegin.received, x.s.ended)
}

// end ends x, gives its row away and its connection back.
func (l *loop) end(x *exchange, cause, err error) {
	outcome, text := l.outcome(x, cause, err)
	row := x.f.Row()
	row.Outcome, row.Error = outcome, clip(text, secretsOf(&l.o, x.stream.kind, text))
	l.fill(x, row)
	s := x.s
	keep := s != nil && x.ready != 0 && cause == nil && err == io.EOF && x.answer.done() && x.answer.persists && x.written && !s.ended && !s.surplus
	row.EndNS = formats.Some(l.o.Clock.Now())
	l.leave(x)
	l.timers.remove(x)
	if x.waits {
		l.forget(x)
	}
	if s != nil {
		s.x = nil
		if s.dialing {
			s.dialing = false
			l.dialing--
		}
		if keep {
			l.keep(s)
		} else {
			l.drop(s)
		}
	}
	f := x.f
	l.release(x)
	f.Ended(row)
	l.advance()
}

// fill writes the columns of x but for its outcome.
func (l *loop) fill(x *exchange, row *run.Request) {
	row.ConnAskedNS = stamp(x.asked)
	row.DNSNS, row.ConnectNS = stamp(x.dns()), stamp(x.connected)
	row.HeadersNS = stamp(x.headers)
	if x.headers != 0 {
		row.HTTPStatus = formats.Some(int64(x.answer.status))
		row.EarlyResponse = formats.Some(0)
		if x.early {
			row.EarlyResponse = formats.Some(1)
		}
	}
	row.FirstByteNS, row.FirstByteKernelNS = stamp(x.firstByte), stamp(x.firstByteKernel)
	if x.listens() {
		x.stream.fill(row)
	}
	if x.ready == 0 {
		return
	}
	s := x.s
	row.ConnReadyNS = formats.Some(x.ready)
	row.ConnReused = formats.Some(0)
	if x.reused {
		row.ConnReused = formats.Some(1)
	}
	row.ConnID = formats.Some(s.id)
	row.RemoteAddr = s.to.text
	if x.written {
		row.WriteDoneNS = stamp(x.wrote)
	}
	s.settle().fill(row)
}
