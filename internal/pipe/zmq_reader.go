package pipe

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"hydrant/formats"
)

// partingLimit is how long a reader waits for a writer to hear that everything
// was read; the writer closes the connection as soon as it does.
const partingLimit = 5 * time.Second

// zmqReader reads the streams of one or more writers, one after the other whole,
// in the order in which the writers came.
type zmqReader struct {
	ctx context.Context
	ep  endpoint
	acc *acceptor      // nil when this end connected
	wg  sync.WaitGroup // connection of a reader that connected

	mu      sync.Mutex
	change  chan struct{} // closed and replaced when a writer comes
	streams []*inStream
	closed  bool

	cur   int // of streams; Read only
	err   error
	since time.Time // Read began to wait for a writer
}

// inStream is one writer.
type inStream struct {
	p    *peer
	q    *queue
	seq  uint64        // of the end, once it came
	gone chan struct{} // closed when the connection's goroutine has ended
}

func openZMQ(ctx context.Context, name string, o Options) (io.ReadCloser, error) {
	ep, err := parseZMQ(name, o, true)
	if err != nil {
		return nil, err
	}
	r := &zmqReader{ctx: ctx, ep: ep, change: make(chan struct{})}
	if ep.bind {
		l, err := ep.listen()
		if err != nil {
			return nil, err
		}
		r.acc = accept(l, roleReader, 0, ep.timeout, r.serve)
		return r, nil
	}
	if o.Opening != nil {
		ctx = o.Opening
	}
	c, err := ep.dial(ctx)
	if err != nil {
		return nil, err
	}
	p, err := shake(c, false, roleReader, 0, ep.timeout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.wg.Go(func() { r.serve(p) })
	return r, nil
}

// serve takes what one writer sends, until its connection ends.
func (r *zmqReader) serve(p *peer) {
	defer p.c.Close()
	p.limit = r.ep.timeout
	s, refusal := r.admit(p)
	if s == nil {
		p.send(kindLeave, 0, []byte(refusal))
		p.recvUntilClosed()
		return
	}
	defer close(s.gone)
	if p.send(kindAdmit, 0, nil) == nil {
		go p.beat(s.gone)
	}
	if err := s.receive(); err != nil {
		s.q.end(r.cut(p, err))
	}
}

// admit gives the writer the next place, or says why not.
func (r *zmqReader) admit(p *peer) (*inStream, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, "the reader has been closed"
	case len(r.streams) == r.ep.peers:
		return nil, fmt.Sprintf("the reader has its %d of %d writers", len(r.streams), r.ep.peers)
	}
	s := &inStream{p: p, q: newQueue(), gone: make(chan struct{})}
	if len(r.streams) == 0 {
		s.q.use()
	}
	r.streams = append(r.streams, s)
	close(r.change)
	r.change = make(chan struct{})
	return s, ""
}

// cut is the error of a stream that ended before its end.
func (r *zmqReader) cut(p *peer, err error) error {
	return &formats.TruncatedError{
		Place: fmt.Sprintf("%s: writer %08x", r.ep.name, p.id>>32),
		Want:  "the writer's end mark",
		Err:   err,
		Help:  "everything before the cut has been read; the writer's own message says why it stopped",
	}
}

// receive queues the stream until its end and stays until the connection ends. It
// returns an error if the end did not come.
func (s *inStream) receive() error {
	var seq uint64
	var total int64
	ended := false
	for {
		f, err := s.p.recv()
		if err != nil {
			if ended {
				return nil
			}
			return fmt.Errorf("writer: %s", s.p.why(err))
		}
		if f.id != s.p.id {
			return fmt.Errorf("frame of writer %016x in the stream of %016x", f.id, s.p.id)
		}
		switch f.kind {
		case kindAlive:
			continue
		case kindAbort:
			return fmt.Errorf("the writer gave up: %q", f.payload)
		case kindData, kindEnd:
			if seq++; f.seq != seq || ended {
				return fmt.Errorf("frame sequence: got %d, want %d", f.seq, seq)
			}
		default:
			return fmt.Errorf("frame kind: got %d, want one of a writer", f.kind)
		}
		if f.kind == kindEnd {
			if len(f.payload) != 8 || int64(binary.BigEndian.Uint64(f.payload)) != total {
				return fmt.Errorf("end mark: got a length of %x, want %d", f.payload, total)
			}
			ended, s.seq = true, seq
			s.q.end(nil)
			continue
		}
		total += int64(len(f.payload))
		if err := s.q.push(f.payload); err != nil {
			return err
		}
		s.p.send(kindAck, seq, nil) // a failed send shows at the next recv
	}
}

// Read returns the next bytes of the current writer, or goes on to the next one.
// After the last it returns io.EOF. A stream that ended too early is a
// *formats.TruncatedError, after everything before the cut.
func (r *zmqReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for r.err == nil {
		if r.ctx.Err() != nil {
			return 0, context.Cause(r.ctx)
		}
		if r.cur == r.ep.peers {
			r.err = io.EOF
			break
		}
		s, change := r.current()
		if s == nil {
			r.err = r.await(change)
			continue
		}
		n, change, err := s.q.read(b)
		switch {
		case n > 0:
			return n, nil
		case err == io.EOF:
			s.finish()
			r.cur++
			r.since = time.Time{}
		case err != nil:
			r.err = err
		default:
			select {
			case <-change:
			case <-r.ctx.Done():
			}
		}
	}
	return 0, r.err
}

// current returns the stream that is being read, or the channel that tells of a
// new writer.
func (r *zmqReader) current() (*inStream, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cur < len(r.streams) {
		s := r.streams[r.cur]
		if !s.q.current {
			s.q.use()
		}
		return s, nil
	}
	return nil, r.change
}

// await waits for a writer, as long as a writer may be silent.
func (r *zmqReader) await(change <-chan struct{}) error {
	if r.since.IsZero() {
		r.since = time.Now()
	}
	t := time.NewTimer(time.Until(r.since.Add(r.ep.timeout)))
	defer t.Stop()
	select {
	case <-change:
	case <-r.ctx.Done():
	case <-t.C:
		return &formats.TruncatedError{
			Place: r.ep.name,
			Want:  fmt.Sprintf("writer %d of %d", r.cur+1, r.ep.peers),
			Err:   fmt.Errorf("none came within %v", r.ep.timeout),
			Help:  "start the writer, or raise --timeout",
		}
	}
	return nil
}

// finish tells the writer that everything was read and waits until it knows: data
// that is still under way when a process ends may be lost with it.
func (s *inStream) finish() {
	s.q.close()
	if s.p.send(kindDone, s.seq, nil) != nil {
		return
	}
	t := time.NewTimer(partingLimit)
	defer t.Stop()
	select {
	case <-s.gone:
	case <-t.C:
		s.p.c.Close()
	}
}

// Close ends all connections. Writers whose stream was not read to its end learn
// that the reader left.
func (r *zmqReader) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	streams := r.streams
	r.mu.Unlock()
	for i, s := range streams {
		if i >= r.cur {
			s.p.leave("the reader stopped before the end of the stream")
		}
		s.q.close()
	}
	r.part(streams)
	if r.acc != nil {
		r.acc.close()
	}
	r.wg.Wait()
	if r.err == nil {
		r.err = errQueueClosed
	}
	return nil
}

// part waits a moment for the writers to close and then does it itself.
func (r *zmqReader) part(streams []*inStream) {
	t := time.NewTimer(partingLimit)
	defer t.Stop()
	for _, s := range streams {
		select {
		case <-s.gone:
		case <-t.C:
			for _, s := range streams {
				s.p.c.Close()
			}
			return
		}
	}
}
