package main

import (
	"context"
	"io"
	"sync"
)

// head lets the beginning of an input be looked at beside its reader: both get it from the
// start, and it is kept until it is let go. Only what somebody asks for is read from below.
type head struct {
	in io.Reader

	mu   sync.Mutex
	buf  []byte
	at   int           // where the reader is in buf
	gone bool          // nobody looks any more: buf goes as it is read
	err  error         // behind buf
	busy chan struct{} // closed when the reading that goes on has ended; nil: none does
}

// headChunk is how much is read at once.
const headChunk = 64 << 10

// fill waits until there is more than the first at bytes, or an error; done ends the wait.
func (h *head) fill(at func() int, done <-chan struct{}) {
	for {
		h.mu.Lock()
		if len(h.buf) > at() || h.err != nil {
			h.mu.Unlock()
			return
		}
		if h.busy == nil {
			h.busy = make(chan struct{})
			go h.load(h.busy)
		}
		busy := h.busy
		h.mu.Unlock()
		select {
		case <-busy:
		case <-done:
			return
		}
	}
}

// load reads once from below.
func (h *head) load(busy chan struct{}) {
	b := make([]byte, headChunk)
	n, err := h.in.Read(b)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf, h.err, h.busy = append(h.buf, b[:n]...), err, nil
	close(busy)
}

// Read reads from the start.
func (h *head) Read(p []byte) (int, error) {
	h.mu.Lock()
	direct := h.gone && h.at == len(h.buf) && h.err == nil && h.busy == nil
	h.mu.Unlock()
	if direct {
		return h.in.Read(p)
	}
	h.fill(func() int { return h.at }, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	n := copy(p, h.buf[h.at:])
	if h.at += n; h.gone {
		h.buf, h.at = h.buf[h.at:], 0
	}
	if n == 0 {
		return 0, h.err
	}
	return n, nil
}

// letGo says that nobody looks any more.
func (h *head) letGo() {
	h.mu.Lock()
	h.gone = true
	h.mu.Unlock()
}

// look is a second reader of the first bytes of a head.
type look struct {
	h     *head
	ctx   context.Context
	at    int
	most  int  // bytes
	ended bool // before the input did: most was reached, or ctx ended
}

func (l *look) Read(p []byte) (int, error) {
	if l.at >= l.most {
		l.ended = true
		return 0, io.ErrUnexpectedEOF
	}
	l.h.fill(func() int { return l.at }, l.ctx.Done())
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	n := copy(p, l.h.buf[min(l.at, len(l.h.buf)):])
	l.at += n
	switch {
	case n > 0:
		return n, nil
	case l.h.err != nil:
		return 0, l.h.err
	}
	l.ended = true
	return 0, io.ErrUnexpectedEOF
}
