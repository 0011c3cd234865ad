package pipe

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

const (
	greetingSize = 64      // bytes each side sends before the first frame (ZMTP 3)
	maxCommand   = 4 << 10 // bytes of a handshake command; a READY takes about 60
	wireBuffer   = 64 << 10
)

// The flag bits of a ZMTP frame header. They never change.
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// guard stands between the network and zmq4, which believes every length it
// reads: a header that claims 2^62 bytes makes it panic, and one that claims the
// machine's memory kills the process. guard reads each frame header first and ends
// the connection when the length is beyond the cap, when a message has several
// frames, or when a command comes after the handshake.
//
// On the way out it gathers header and body into one write.
type guard struct {
	net.Conn
	r       *bufio.Reader
	w       *bufio.Writer
	gather  bool // writes wait for flush
	steady  bool // the handshake is over
	greeted int
	hdr     [9]byte
	head    []byte // part of hdr that was checked and not yet handed on
	body    uint64 // bytes of the current body still to come
}

func newGuard(c net.Conn) *guard {
	return &guard{Conn: c, r: bufio.NewReaderSize(c, wireBuffer), w: bufio.NewWriterSize(c, wireBuffer)}
}

func (g *guard) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if g.greeted < greetingSize {
		n, err := g.r.Read(p[:min(len(p), greetingSize-g.greeted)])
		g.greeted += n
		return n, err
	}
	if g.body == 0 && len(g.head) == 0 {
		if err := g.header(); err != nil {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	n, err := g.r.Read(p[:min(uint64(len(p)), g.body)])
	g.body -= uint64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// header reads and checks the next frame header.
func (g *guard) header() error {
	flags, err := g.r.ReadByte()
	if err != nil {
		return err
	}
	size := 2
	if flags&flagLong != 0 {
		size = 9
	}
	g.hdr[0] = flags
	if _, err := io.ReadFull(g.r, g.hdr[1:size]); err != nil {
		return io.ErrUnexpectedEOF
	}
	n := uint64(g.hdr[1])
	if size == 9 {
		n = binary.BigEndian.Uint64(g.hdr[1:])
	}
	limit := uint64(maxMessage)
	if !g.steady {
		limit = maxCommand
	}
	switch {
	case flags&^(flagMore|flagLong|flagCommand) != 0:
		return fmt.Errorf("ZMTP flags: got %#x, want the known bits", flags)
	case flags&flagMore != 0:
		return fmt.Errorf("ZMTP message: got several frames, want one")
	case flags&flagCommand != 0 && g.steady:
		return fmt.Errorf("ZMTP command: got one after the handshake, want none")
	case n > limit:
		return fmt.Errorf("ZMTP frame length: got %d, want at most %d", n, limit)
	}
	g.head, g.body = g.hdr[:size], n
	return nil
}

func (g *guard) Write(p []byte) (n int, err error) {
	if g.gather {
		n, err = g.w.Write(p)
	} else {
		n, err = g.Conn.Write(p)
	}
	if err != nil {
		err = sendError{err}
	}
	return n, err
}

func (g *guard) flush() error {
	if err := g.w.Flush(); err != nil {
		return sendError{err}
	}
	return nil
}

// sendError hides a failed send from zmq4, which would refuse to read on: what
// the other side sent before it went is still there to be read.
type sendError struct{ cause error }

func (e sendError) Error() string { return e.cause.Error() }
