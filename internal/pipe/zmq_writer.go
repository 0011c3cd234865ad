package pipe

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// window is how much a writer sends beyond what the reader has acknowledged.
const window = 4 << 20

// zmqWriter is the writing end: everything it sent is known to have arrived and
// to have been read, or Finish says what is missing.
type zmqWriter struct {
	ep  endpoint
	p   *peer
	acc *acceptor // nil when this end connected

	received chan struct{} // closed when the receiving goroutine has ended
	stop     chan struct{} // ends the signs of life

	mu      sync.Mutex
	change  chan struct{}
	seq     uint64
	sent    int64     // bytes in data frames
	acked   int64     // of them acknowledged
	pending []pending // sent and not acknowledged, in order
	done    bool      // the reader has read everything
	err     error
}

type pending struct {
	seq uint64
	n   int
}

func createZMQ(ctx context.Context, name string, o Options) (*Output, error) {
	ep, err := parseZMQ(name, o, false)
	if err != nil {
		return nil, err
	}
	w := &zmqWriter{ep: ep, received: make(chan struct{}), stop: make(chan struct{}), change: make(chan struct{})}
	if err := w.connect(ctx); err != nil {
		if w.acc != nil {
			w.acc.close()
		}
		return nil, err
	}
	go w.receive()
	go w.p.beat(w.stop)
	return &Output{name: name, w: w, end: w.finish}, nil
}

// connect finds the reader and is let in by it.
func (w *zmqWriter) connect(ctx context.Context) error {
	id := newID()
	var err error
	if w.ep.bind {
		w.p, err = w.waitForReader(ctx, id)
	} else if c, e := w.ep.dial(ctx); e != nil {
		return e
	} else {
		w.p, err = shake(c, false, roleWriter, id, w.ep.timeout)
	}
	if err != nil {
		return At(w.ep.name, err)
	}
	for {
		f, err := w.p.recv()
		switch {
		case err != nil:
			w.p.c.Close()
			return fmt.Errorf("%s: reader: %s", w.ep.name, w.p.why(err))
		case f.kind == kindAdmit:
			return nil
		case f.kind == kindLeave:
			w.p.c.Close()
			return fmt.Errorf("%s: refused: %q", w.ep.name, f.payload)
		case f.kind != kindAlive:
			w.p.c.Close()
			return fmt.Errorf("%s: frame kind: got %d, want an admission", w.ep.name, f.kind)
		}
	}
}

// waitForReader binds and takes the first reader; later ones are told so.
func (w *zmqWriter) waitForReader(ctx context.Context, id uint64) (*peer, error) {
	l, err := w.ep.listen()
	if err != nil {
		return nil, err
	}
	first := make(chan *peer, 1)
	var once sync.Once
	w.acc = accept(l, roleWriter, id, w.ep.timeout, func(p *peer) {
		taken := true
		once.Do(func() { first <- p; taken = false })
		if taken {
			p.limit = time.Second
			p.send(kindAbort, 0, []byte("the writer has its reader"))
			p.recvUntilClosed()
			p.c.Close()
		}
	})
	t := time.NewTimer(w.ep.timeout)
	defer t.Stop()
	select {
	case p := <-first:
		return p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-t.C:
		return nil, &endError{fmt.Errorf("no reader came within %v", w.ep.timeout), "start the reader, or raise --timeout"}
	}
}

// receive takes what the reader says until it is done or gone.
func (w *zmqWriter) receive() {
	defer close(w.received)
	for {
		f, err := w.p.recv()
		if err != nil {
			w.fail(fmt.Errorf("reader: %s", w.p.why(err)))
			return
		}
		switch f.kind {
		case kindAlive:
		case kindAck:
			if !w.ack(f.seq) {
				w.fail(fmt.Errorf("acknowledgement of frame %d, which is not under way", f.seq))
				return
			}
		case kindDone:
			w.mu.Lock()
			w.done = f.seq == w.seq
			w.wake()
			w.mu.Unlock()
			if !w.done {
				w.fail(fmt.Errorf("the reader is done at frame %d, want %d", f.seq, w.seq))
			}
			return
		case kindLeave:
			w.fail(fmt.Errorf("reader: %q", f.payload))
			return
		default:
			w.fail(fmt.Errorf("frame kind: got %d, want one of a reader", f.kind))
			return
		}
	}
}

// wake tells whoever waits to look again. The caller holds mu.
func (w *zmqWriter) wake() {
	close(w.change)
	w.change = make(chan struct{})
}

// ack notes that everything up to seq has arrived; false if seq was never sent.
func (w *zmqWriter) ack(seq uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 || seq < w.pending[0].seq || seq > w.pending[len(w.pending)-1].seq {
		return false
	}
	for len(w.pending) > 0 && w.pending[0].seq <= seq {
		w.acked += int64(w.pending[0].n)
		w.pending = w.pending[1:]
	}
	w.wake()
	return true
}

// fail ends the connection and keeps the first reason, with what is missing.
func (w *zmqWriter) fail(err error) {
	w.p.c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("%w: it acknowledged %d of %d bytes", err, w.acked, w.sent)
		w.wake()
	}
}

// Write sends p in frames, and waits while too much is under way.
func (w *zmqWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		part := p[n:min(len(p), n+maxPayload)]
		seq, err := w.reserve(len(part))
		if err != nil {
			return n, err
		}
		if err := w.p.send(kindData, seq, part); err != nil {
			return n, w.broken(err)
		}
		n += len(part)
	}
	return n, nil
}

// reserve waits for room for n bytes and gives them a sequence number.
func (w *zmqWriter) reserve(n int) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && w.sent-w.acked+int64(n) > window {
		w.wait()
	}
	if w.err != nil {
		return 0, w.err
	}
	w.seq++
	w.sent += int64(n)
	w.pending = append(w.pending, pending{w.seq, n})
	return w.seq, nil
}

// wait lets go of mu until something changes.
func (w *zmqWriter) wait() {
	c := w.change
	w.mu.Unlock()
	<-c
	w.mu.Lock()
}

// broken explains a failed send: the receiving side may hold the reader's last
// word, and ends soon since the connection does.
func (w *zmqWriter) broken(err error) error {
	<-w.received
	w.fail(fmt.Errorf("reader: %s", w.p.why(err)))
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// finish ends the stream: whole, and then it waits for the reader to have read
// everything; or with the reason why it is not.
func (w *zmqWriter) finish(cause error) error {
	defer func() {
		close(w.stop)
		w.p.c.Close()
		if w.acc != nil {
			w.acc.close()
		}
		<-w.received
	}()
	if cause != nil {
		return w.abort(cause)
	}
	w.mu.Lock()
	w.seq++
	seq, total := w.seq, w.sent
	w.mu.Unlock()
	if err := w.p.send(kindEnd, seq, binary.BigEndian.AppendUint64(nil, uint64(total))); err != nil {
		return w.broken(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !w.done {
		w.wait()
	}
	if w.done {
		return nil
	}
	return w.err
}

// abort tells the reader that the stream is not whole, unless it is the reader
// that failed.
func (w *zmqWriter) abort(cause error) error {
	w.mu.Lock()
	failed := w.err != nil
	w.mu.Unlock()
	if failed {
		return nil
	}
	w.p.c.SetWriteDeadline(time.Now().Add(time.Second))
	w.p.send(kindAbort, 0, reason(cause))
	w.p.closeWrite()
	t := time.NewTimer(partingLimit)
	defer t.Stop()
	select {
	case <-w.received:
	case <-t.C:
	}
	return nil
}
