package wire

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/kernel"
)

// A conn stamps and counts what passes between a connection and the kernel, below TLS
// and below the HTTP parser. HTTP/1.1 uses it for one request at a time: begin says
// when the next one starts. One goroutine reads at a time, another may write.
type conn struct {
	net.Conn
	raw      syscall.RawConn // nil when the connection is no socket
	clk      clock.Clock
	stamps   *kernel.Converter
	counters *Counters
	id       int64

	reads      atomic.Int64 // that returned data
	received   atomic.Int64
	sent       atomic.Int64
	lastRead   atomic.Int64 // stamp of the newest read, taken as it returned
	lastKernel atomic.Int64 // arrival of the newest segment of that read, unstamped without
	ended      atomic.Bool  // a read returned the end of the connection, or an error
	atClose    atomic.Pointer[kernel.TCPInfo]

	// of the present request
	firstRead   atomic.Int64 // stamp of the read with the answer's first byte, 0 before it
	firstKernel atomic.Int64 // arrival of that read, unstamped without
	writeBegan  atomic.Int64 // when the newest write was begun
	lastWrite   atomic.Int64 // when it was done, 0 before it
	blocked     atomic.Bool  // a write waits for room in the socket
	early       atomic.Bool  // the answer began before the request was written
	atBegin     mark
	begun       bool // not the connection's first request

	cut       func(received int64) int // of the options
	cutOrigin atomic.Int64             // received when the request began

	recv func(fd uintptr) bool // receive, bound once
	in   reading
}

// reading is the present read, for the callback of the raw connection.
type reading struct {
	p   []byte
	n   int
	err error
	at  int64
	arr int64
	oob [kernel.OOBSize]byte
}

func newConn(c net.Conn, clk clock.Clock, stamps *kernel.Converter, counters *Counters, id int64) *conn {
	w := &conn{Conn: c, clk: clk, stamps: stamps, counters: counters, id: id}
	w.lastKernel.Store(unstamped)
	w.recv = w.receive
	s, ok := c.(syscall.Conn)
	if !ok {
		return w
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return w
	}
	w.raw = raw
	// a socket without stamps is read without
	_ = raw.Control(func(fd uintptr) { _ = kernel.Enable(int(fd)) })
	return w
}

// begin starts the account of a request. The first request of a connection pays for
// its TLS handshake.
func (c *conn) begin() {
	c.firstRead.Store(0)
	c.firstKernel.Store(unstamped)
	c.writeBegan.Store(0)
	c.lastWrite.Store(0)
	c.early.Store(false)
	c.atBegin = mark{counted: true}
	if c.begun {
		t := c.traffic()
		c.atBegin = t.mark()
	}
	c.begun = true
	c.cutOrigin.Store(c.received.Load())
}

func (c *conn) traffic() traffic {
	t := traffic{counts: counts{c.reads.Load(), c.received.Load(), c.sent.Load()}}
	t.tcp, t.counted = c.tcp()
	return t
}

// since returns what was carried since begin.
func (c *conn) since() traffic { return c.traffic().since(c.atBegin) }

// tcp asks the kernel for its counters; of a closed connection it has the last ones.
func (c *conn) tcp() (info kernel.TCPInfo, ok bool) {
	if c.raw == nil {
		return info, false
	}
	err := c.raw.Control(func(fd uintptr) {
		var err error
		info, err = kernel.Info(int(fd))
		ok = err == nil
	})
	if last := c.atClose.Load(); err != nil && last != nil {
		return *last, true
	}
	return info, ok
}

// Close closes the connection, which ends its counters.
func (c *conn) Close() error {
	if info, ok := c.tcp(); ok {
		c.atClose.CompareAndSwap(nil, &info)
	}
	return c.Conn.Close()
}

// firstArrival returns when the answer's first byte was there: as the kernel says, or
// else as read. 0 before it.
func (c *conn) firstArrival() int64 {
	if k := c.firstKernel.Load(); k != unstamped {
		return k
	}
	return c.firstRead.Load()
}

// cameEarly reports whether the answer began before the request was written: a write
// was begun, or waited for room, when it was there.
func (c *conn) cameEarly() bool {
	k := c.firstKernel.Load()
	return c.early.Load() || k != unstamped && k < c.writeBegan.Load()
}

// writeDone returns when the kernel took the last byte of the request, 0 when it took
// none. It means something once the request is known to be written. A writer that has
// not yet run again after its system call when the answer is there cannot have stamped
// later than the answer: the answer's arrival is then the bound.
func (c *conn) writeDone() int64 {
	w, r := c.lastWrite.Load(), c.firstArrival()
	if c.firstRead.Load() != 0 && !c.cameEarly() && (w == 0 || w > r) {
		return r
	}
	return w
}

// answered notes that the newest read brought the first byte of the answer. It is called
// by the goroutine that reads. (Under TLS a read may have brought something else before:
// session tickets.)
func (c *conn) answered() {
	if c.firstRead.Load() != 0 {
		return
	}
	c.firstKernel.Store(c.lastKernel.Load())
	c.firstRead.Store(c.lastRead.Load())
	if c.blocked.Load() {
		c.early.Store(true)
	}
}

// Read takes what is there with the arrival of its newest segment, and waits when there
// is nothing.
func (c *conn) Read(p []byte) (int, error) {
	if c.raw == nil || len(p) == 0 {
		n, err := c.Conn.Read(p)
		return c.got(n, err, c.clk.Now(), unstamped)
	}
	in := &c.in
	in.p, in.n, in.err, in.arr = p, 0, nil, unstamped
	err := c.raw.Read(c.recv)
	in.p = nil
	switch {
	case err != nil: // closed, or a deadline
	case in.err != nil:
		err = &net.OpError{Op: "read", Net: c.RemoteAddr().Network(), Err: os.NewSyscallError("recvmsg", in.err)}
	case in.n == 0:
		err = io.EOF
	}
	return c.got(in.n, err, in.at, in.arr)
}

// receive makes one attempt to read; false waits until the socket is readable.
func (c *conn) receive(fd uintptr) bool {
	in := &c.in
	p := in.p
	if c.cut != nil {
		p = p[:min(len(p), c.cut(c.received.Load()-c.cutOrigin.Load()))]
	}
	n, wall, stamped, err := kernel.Recv(int(fd), p, in.oob[:])
	if err == unix.EAGAIN {
		return false
	}
	in.n, in.err = n, err
	if !stamped {
		in.at = c.clk.Now()
		return true
	}
	in.at, in.arr = c.stamps.Arrival(wall)
	// a byte can be had when all before it are there
	in.arr = max(in.arr, c.lastKernel.Load())
	return true
}

func (c *conn) got(n int, err error, at, arrival int64) (int, error) {
	if err != nil {
		c.ended.Store(true)
	}
	if n > 0 {
		c.lastRead.Store(at)
		c.lastKernel.Store(arrival)
		c.reads.Add(1)
		c.received.Add(int64(n))
		c.counters.Reads.Add(1)
		c.counters.Received.Add(int64(n))
	}
	return n, err
}

// Write hands p to the kernel with its own system calls, so that it knows when a write
// has to wait: only then did an answer that is already there come early.
func (c *conn) Write(p []byte) (int, error) {
	if c.raw == nil {
		c.writing()
		n, err := c.Conn.Write(p)
		c.sent.Add(int64(n))
		c.wrote(n)
		return n, err
	}
	done := 0
	var fault error
	err := c.raw.Write(func(fd uintptr) bool {
		for done < len(p) {
			c.blocked.Store(false)
			c.writing()
			rest := len(p) - done
			c.sent.Add(int64(rest)) // the answer may be there before we run again
			n, err := unix.Write(int(fd), p[done:])
			n = max(n, 0)
			c.sent.Add(int64(n - rest))
			if n > 0 {
				c.wrote(n)
				done += n
			}
			switch err {
			case nil, unix.EINTR:
			case unix.EAGAIN:
				c.blocked.Store(true)
				return false
			default:
				fault = &net.OpError{Op: "write", Net: "tcp", Addr: c.RemoteAddr(), Err: err}
				return true
			}
		}
		return true
	})
	c.blocked.Store(false)
	if fault != nil {
		err = fault
	}
	return done, err
}

// writing notes the begin of a write, and that there was more to write after the answer
// had begun.
func (c *conn) writing() {
	if c.firstRead.Load() != 0 {
		c.early.Store(true)
	}
	c.writeBegan.Store(c.clk.Now())
}

func (c *conn) wrote(n int) {
	c.lastWrite.Store(c.clk.Now())
	c.counters.Sent.Add(int64(n))
}
