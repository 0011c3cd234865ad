package wire

import (
	"io"
	"net"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/kernel"
)

// A socket is a connection of the loop, being dialled, in use or kept.
type socket struct {
	handle
	fd    int32  // −1: closed
	flags uint32 // of the turn asked for
	place *place
	to    *address
	id    int64
	x     *exchange // nil: kept

	t       counts
	atBegin mark
	arrived int64 // newest arrival of a read, unstamped before
	again   bool  // has asked for another turn
	dialing bool
	begun   bool // not its first request
	ended   bool // a read returned the end, or an error
	hungUp  bool // the peer will send no more than is there
	broken  bool // a write failed: reading will tell why
	surplus bool // there was more than the answer
}

// traffic returns what the connection has carried.
func (s *socket) traffic() traffic {
	t := traffic{counts: s.t}
	if !s.place.unix {
		info, err := kernel.Info(int(s.fd))
		t.tcp, t.counted = info, err == nil
	}
	return t
}

// begin starts the account of a request. That of a later one starts where the one before
// has ended: between them a connection that is kept carries no data.
func (s *socket) begin() {
	if !s.begun {
		s.atBegin = mark{counted: true}
	}
	s.begun = true
}

// settle ends the account of a request.
func (s *socket) settle() traffic {
	t := s.traffic()
	account := t.since(s.atBegin)
	s.atBegin = t.mark()
	return account
}

const (
	readable = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	hungUp   = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// touch serves a socket that is ready.
func (l *loop) touch(s *socket, flags uint32) {
	h := s.handle
	if s.dialing {
		if !l.dialled(s) || flags&readable == 0 {
			return
		}
	}
	if flags&readable != 0 {
		l.read(s, flags)
	}
	if flags&unix.EPOLLOUT != 0 && l.socket(h) == s && s.x != nil && !s.x.written && !s.broken {
		l.write(s.x, false)
	}
}

// read takes what is there, as much as the buffer holds.
func (l *loop) read(s *socket, flags uint32) {
	in := l.in
	if l.o.cut != nil {
		in = in[:min(len(in), l.o.cut(s.t.received-s.atBegin.received))]
	}
	n, wall, stamped, err := kernel.Recv(int(s.fd), in, l.oob[:])
	if err == unix.EAGAIN {
		return
	}
	at, arrived := l.o.Clock.Now(), int64(unstamped)
	if stamped {
		at, arrived = l.stamps.Arrival(wall)
		s.arrived = max(s.arrived, arrived) // a byte can be had when all before it are there
		arrived = s.arrived
	}
	l.latest = at
	x := s.x
	if n <= 0 {
		s.ended = true
		l.over(s, err)
		return
	}
	s.t.reads++
	s.t.received += int64(n)
	l.counters.Reads.Add(1)
	l.counters.Received.Add(int64(n))
	s.hungUp = flags&hungUp != 0
	if x == nil { // an answer nobody asked for
		l.drop(s)
		return
	}
	h := s.handle
	l.took(x, in[:n], at, arrived)
	if (n == len(in) || s.hungUp) && l.socket(h) == s {
		l.later(s, flags)
	}
}

// over ends what was on a connection that has ended.
func (l *loop) over(s *socket, err error) {
	x := s.x
	switch {
	case x == nil:
		l.drop(s)
		return
	case err != nil:
		err = &net.OpError{Op: "read", Net: s.place.network(), Err: os.NewSyscallError("recvmsg", err)}
	case s.t.received == s.atBegin.received:
		err = io.EOF
	default:
		if err = x.answer.eof(); err == nil {
			err = io.EOF
		}
	}
	l.end(x, nil, err)
}

// write hands the kernel what it takes of a request. At first it is all of it, with one
// system call.
func (l *loop) write(x *exchange, first bool) {
	s := x.s
	head := x.unsent()
	if first {
		head = l.request(x)
	}
	for turn := 0; turn < loopWrite; {
		if !first || turn > 0 {
			x.began = l.o.Clock.Now()
		}
		body := x.p.Body[x.sent():]
		n, errno := l.send(int(s.fd), head, body[:min(len(body), loopWrite)])
		switch errno {
		case 0:
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			x.hold(head)
			return // an edge will come
		default:
			if first && x.reused && turn == 0 {
				l.replace(x)
				return
			}
			// the answer may be there all the same, and an end surely is
			s.broken = true
			l.later(s, readable)
			return
		}
		x.wrote = l.o.Clock.Now()
		s.t.sent += int64(n)
		l.counters.Sent.Add(int64(n))
		turn += n
		k := min(n, len(head))
		head = head[k:]
		if len(head) == 0 && n-k == len(body) {
			x.written, x.p = true, x.p.reply()
			x.f.Written()
			return
		}
		x.rarely().sent += n - k
	}
	x.hold(head)
	l.later(s, unix.EPOLLOUT)
}

// replace gives x another connection for a kept one that turned out to be closed before a
// byte of the request was taken: nothing was sent, so that is no second attempt.
func (l *loop) replace(x *exchange) {
	s := x.s
	x.s, s.x = nil, nil
	l.drop(s)
	x.ready, x.reused = 0, false
	l.arm(x, l.o.ConnectTimeout.Nanoseconds(), connecting, l.o.Clock.Now())
	l.connect(x)
}

// request builds the head of a request, in a buffer that the next one uses.
func (l *loop) request(x *exchange) []byte {
	b := append(l.head[:0], x.prefix().head...)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(x.p.Body)), 10)
	b = append(b, "\r\nX-Request-Id: "...)
	b = strconv.AppendInt(b, x.p.ID, 10)
	b = append(b, "\r\n\r\n"...)
	l.head = b
	return b
}

// send is sendmsg of two pieces, without waiting.
func (l *loop) send(fd int, head, body []byte) (int, unix.Errno) {
	k := 0
	for _, b := range [2][]byte{head, body} {
		if len(b) > 0 {
			l.iov[k].Base = &b[0]
			l.iov[k].SetLen(len(b))
			k++
		}
	}
	l.msg = unix.Msghdr{Iov: &l.iov[0]}
	l.msg.SetIovlen(k)
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&l.msg)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	l.iov[0].Base, l.iov[1].Base = nil, nil
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// keep puts a connection aside for the next request.
func (l *loop) keep(s *socket) { s.place.idle = append(s.place.idle, s) }

// drop closes a connection.
func (l *loop) drop(s *socket) {
	_ = unix.Close(int(s.fd)) // which ends the watch too
	s.fd = -1
	s.to.open--
	l.sockets[s.slot] = nil
	l.slots = append(l.slots, s.slot)
}

// add makes a socket of a descriptor and watches it.
func (l *loop) add(fd int, p *place, to *address) (*socket, error) {
	s := &socket{fd: int32(fd), place: p, to: to, arrived: unstamped}
	l.gen++
	s.gen = l.gen
	if n := len(l.slots); n > 0 {
		s.slot = l.slots[n-1]
	} else {
		s.slot = int32(len(l.sockets))
	}
	if err := l.poll.watch(fd, s.handle, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET); err != nil {
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	if int(s.slot) == len(l.sockets) {
		l.sockets = append(l.sockets, s)
	} else {
		l.sockets[s.slot] = s
		l.slots = l.slots[:len(l.slots)-1]
	}
	to.open++
	return s, nil
}
