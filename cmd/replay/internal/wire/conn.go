package wire

import (
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/clock"
)

// A conn stamps and counts what passes between a connection and the kernel, below TLS
// and below the HTTP parser. HTTP/1.1 uses it for one request at a time: begin says
// when the next one starts. A reading and a writing goroutine share it.
type conn struct {
	net.Conn
	raw      syscall.RawConn // nil when the connection is no socket
	clk      clock.Clock
	counters *Counters
	id       int64

	reads    atomic.Int64 // that returned data
	received atomic.Int64
	sent     atomic.Int64
	lastRead atomic.Int64 // stamp of the newest read, taken as it returned
	ended    atomic.Bool  // a read returned the end of the connection, or an error

	// of the present request
	firstRead atomic.Int64 // stamp of the read with the answer's first byte, 0 before it
	lastWrite atomic.Int64 // stamp of the newest write, 0 before it
	blocked   atomic.Bool  // a write waits for room in the socket
	early     atomic.Bool  // the answer began before the request was written
	atBegin   traffic
	begun     bool // not the connection's first request
}

// traffic is what a connection has carried.
type traffic struct{ reads, received, sent int64 }

func newConn(c net.Conn, clk clock.Clock, counters *Counters, id int64) *conn {
	w := &conn{Conn: c, clk: clk, counters: counters, id: id}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

// begin starts the account of a request. The first request of a connection pays for
// its TLS handshake.
func (c *conn) begin() {
	c.firstRead.Store(0)
	c.lastWrite.Store(0)
	c.early.Store(false)
	if c.begun {
		c.atBegin = c.traffic()
	}
	c.begun = true
}

func (c *conn) traffic() traffic {
	return traffic{c.reads.Load(), c.received.Load(), c.sent.Load()}
}

// since returns what was carried since begin.
func (c *conn) since() traffic {
	t := c.traffic()
	return traffic{t.reads - c.atBegin.reads, t.received - c.atBegin.received, t.sent - c.atBegin.sent}
}

// writeDone returns when the kernel took the last byte of the request, 0 when it took
// none. It means something once the request is known to be written. A writer that has
// not yet run again after its system call when the answer is there cannot have stamped
// later than the answer: the answer's stamp is then the bound.
func (c *conn) writeDone() int64 {
	w, r := c.lastWrite.Load(), c.firstRead.Load()
	if r != 0 && !c.early.Load() && (w == 0 || w > r) {
		return r
	}
	return w
}

// answered notes that the newest read brought the first byte of the answer. It is called
// by the goroutine that reads. (Under TLS a read may have brought something else before:
// session tickets.)
func (c *conn) answered() {
	if c.firstRead.CompareAndSwap(0, c.lastRead.Load()) && c.blocked.Load() {
		c.early.Store(true)
	}
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.ended.Store(true)
	}
	if n > 0 {
		c.lastRead.Store(c.clk.Now())
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
		c.wrote(n)
		return n, err
	}
	done := 0
	var fault error
	err := c.raw.Write(func(fd uintptr) bool {
		for done < len(p) {
			c.blocked.Store(false)
			c.writing()
			n, err := unix.Write(int(fd), p[done:])
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

// writing notes that there was more to write after the answer had begun.
func (c *conn) writing() {
	if c.firstRead.Load() != 0 {
		c.early.Store(true)
	}
}

func (c *conn) wrote(n int) {
	c.lastWrite.Store(c.clk.Now())
	c.sent.Add(int64(n))
	c.counters.Sent.Add(int64(n))
}
