package pipe

import (
	"context"
	"io"
)

const (
	pumpBlock  = 128 << 10 // bytes per block: twice the capacity of a pipe
	pumpBlocks = 2         // one is read into while the other is read from
)

// pump reads in a goroutine of its own, so that a Read that waits for a pipe or a
// terminal can end with the context. The goroutine itself stays in its system
// call until the process ends or the file is closed.
type pump struct {
	ctx  context.Context
	name string
	full chan block
	free chan []byte
	done chan struct{}
	c    io.Closer
	cur  block
	at   int
	shut bool
}

type block struct {
	b   []byte
	err error
}

func newPump(ctx context.Context, name string, r io.Reader, c io.Closer) *pump {
	p := &pump{
		ctx:  ctx,
		name: name,
		full: make(chan block, pumpBlocks),
		free: make(chan []byte, pumpBlocks),
		done: make(chan struct{}),
		c:    c,
	}
	for range pumpBlocks {
		p.free <- make([]byte, pumpBlock)
	}
	go p.run(r)
	return p
}

func (p *pump) run(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-p.free:
		case <-p.done:
			return
		}
		n, err := r.Read(buf[:cap(buf)])
		p.full <- block{buf[:n], err} // never blocks: there are no more blocks than places
		if err != nil {
			return
		}
	}
}

// Read returns what has arrived, or waits for the next block or the context.
func (p *pump) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for p.at == len(p.cur.b) {
		if p.cur.err != nil {
			return 0, readError(p.name, p.cur.err)
		}
		if p.ctx.Err() != nil {
			return 0, context.Cause(p.ctx)
		}
		if p.cur.b != nil {
			p.free <- p.cur.b
			p.cur, p.at = block{}, 0
		}
		select {
		case p.cur = <-p.full:
			p.at = 0
		case <-p.ctx.Done():
			return 0, context.Cause(p.ctx)
		}
	}
	n := copy(b, p.cur.b[p.at:])
	p.at += n
	return n, nil
}

// Close stops the goroutine as soon as its read returns.
func (p *pump) Close() error {
	if p.shut {
		return nil
	}
	p.shut = true
	close(p.done)
	if p.c == nil {
		return nil
	}
	return p.c.Close()
}
