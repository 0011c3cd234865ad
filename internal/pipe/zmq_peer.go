package pipe

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

const (
	handshakeLimit = 10 * time.Second // a peer that connects has this long to say who it is
	maxBeat        = 5 * time.Second  // the longest pause between two signs of life
)

// peer is one connection after the handshake: zmq4 speaks ZMTP, and both ends are
// DEALER sockets, since frames go both ways.
type peer struct {
	c       net.Conn
	z       *zmq4.Conn
	g       *guard
	id      uint64 // of the stream, chosen by the writer
	timeout time.Duration

	mu    sync.Mutex // of everything that sends
	buf   []byte
	limit time.Duration // on one send; 0 waits as long as the reader takes
}

// newID returns a random writer id.
func newID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// shake does the handshake on a new connection and closes it on failure. id is
// the writer's own and is ignored for a reader, which takes the other side's.
func shake(c net.Conn, server bool, role byte, id uint64, timeout time.Duration) (p *peer, err error) {
	defer func() {
		if v := recover(); v != nil { // zmq4 indexes what it has not measured
			err = fmt.Errorf("handshake: %v", v)
		}
		if err != nil {
			c.Close()
			p = nil
		}
	}()
	if err := c.SetDeadline(time.Now().Add(min(timeout, handshakeLimit))); err != nil {
		return nil, err
	}
	g := newGuard(c)
	z, err := zmq4.Open(g, null.Security(), zmq4.Dealer, nil, server, nil)
	if err != nil {
		return nil, err
	}
	g.gather, g.steady = true, true
	p = &peer{c: c, z: z, g: g, id: id, timeout: timeout}
	if err := p.send(kindHello, 0, []byte{role, protoVersion}); err != nil {
		return nil, err
	}
	f, err := p.next()
	switch {
	case err != nil:
		return nil, err
	case f.kind != kindHello || len(f.payload) != 2:
		return nil, fmt.Errorf("handshake: got frame kind %d, want a hello", f.kind)
	case f.payload[1] != protoVersion:
		return nil, fmt.Errorf("handshake: version: got %q, want %d", fmt.Sprint(f.payload[1]), protoVersion)
	case f.payload[0] == role:
		return nil, fmt.Errorf("handshake: %w: %s", errSameRole, map[byte]string{roleWriter: "both ends write", roleReader: "both ends read"}[role])
	}
	if role == roleReader {
		p.id = f.id
	}
	return p, c.SetDeadline(time.Time{})
}

var errSameRole = errors.New("no stream between these ends")

// send writes one frame. Several goroutines may call it.
func (p *peer) send(kind byte, seq uint64, payload []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buf = frame{kind, p.id, seq, payload}.append(p.buf[:0])
	if p.limit > 0 {
		p.c.SetWriteDeadline(time.Now().Add(p.limit))
	}
	if err := p.z.SendMsg(zmq4.NewMsg(p.buf)); err != nil {
		return err
	}
	return p.g.flush()
}

// recv returns the next frame, or an error after the timeout without one. The
// payload is the caller's to keep.
func (p *peer) recv() (frame, error) {
	if err := p.c.SetReadDeadline(time.Now().Add(p.timeout)); err != nil {
		return frame{}, err
	}
	return p.next()
}

func (p *peer) next() (frame, error) {
	m, err := p.z.RecvMsg()
	if err != nil {
		return frame{}, err
	}
	if len(m.Frames) != 1 {
		return frame{}, fmt.Errorf("ZMTP message: got %d frames, want one", len(m.Frames))
	}
	return parseFrame(m.Frames[0])
}

// beat sends signs of life until stop is closed or the connection ends.
func (p *peer) beat(stop <-chan struct{}) {
	t := time.NewTicker(max(time.Millisecond, min(p.timeout/4, maxBeat)))
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			if p.send(kindAlive, 0, nil) != nil {
				return
			}
		}
	}
}

// why puts the end of a connection into words: what the other end did.
func (p *peer) why(err error) string {
	var s sendError
	if errors.As(err, &s) {
		err = s.cause
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("silent for %v", p.timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, zmq4.ErrClosedConn), isReset(err):
		return "connection closed"
	}
	return err.Error()
}

// reason cuts a text for an abort or a leave frame.
func reason(err error) []byte {
	s := err.Error()
	return []byte(s[:min(len(s), maxReason)])
}

// leave says goodbye to a writer, as far as that is possible at once, and ends
// the connection.
func (p *peer) leave(text string) {
	p.c.SetWriteDeadline(time.Now().Add(time.Second)) // also frees a send that is stuck
	p.mu.Lock()
	p.limit = time.Second
	p.mu.Unlock()
	if p.send(kindLeave, 0, []byte(text)) == nil {
		p.closeWrite()
		return
	}
	p.c.Close()
}

// closeWrite ends this side's half, so that what was sent still arrives: closing
// a connection with unread data destroys data under way to the other side.
func (p *peer) closeWrite() {
	if c, ok := p.c.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		p.c.SetReadDeadline(time.Now().Add(partingLimit))
		return
	}
	p.c.Close()
}

// recvUntilClosed reads and drops until the other side has closed, for a moment.
func (p *peer) recvUntilClosed() {
	p.closeWrite()
	for {
		if _, err := p.next(); err != nil {
			return
		}
	}
}
