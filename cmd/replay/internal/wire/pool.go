package wire

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"hydrant/cmd/replay/internal/clock"
)

// A pool keeps the connections that are not in use, and opens one when there is none:
// so no more are ever opened than were needed at once. The latest used is used first.
//
// Note: the pool of http.Transport opens a connection in the background and gives the
// request whichever is there first, a kept one or the new one. At 50 requests in
// flight it had opened 56.
type pool struct {
	transport *http.Transport
	clk       clock.Clock

	mu      sync.Mutex
	closed  bool
	idle    map[string][]*link       // by scheme and address; HTTP/2 links stay in it while used
	plain   map[string]bool          // do not speak HTTP/2, as far as is known
	opening map[string]chan struct{} // a link that several requests wait for; closed when it is there
}

// A link is a connection the pool knows.
type link struct {
	key  string
	cc   *http.ClientConn
	conn *conn // below TLS; its account is a request's own on HTTP/1.1 only
	h2   bool
}

// get returns a link with room for one request, and how it was opened, nil for a kept one.
func (p *pool) get(ctx context.Context, t target) (*link, *opening, error) {
	address, scheme := t.address(), t.url.Scheme
	key := scheme + "://" + address
	if t.socket != "" {
		key = "unix:" + t.socket
	}
	l, opened, err := p.shared(ctx, key, scheme)
	if l != nil || err != nil {
		return l, nil, err
	}
	o := &opening{socket: t.socket}
	if l, err = p.open(ctx, o, key, scheme, address); err != nil {
		l = nil
	}
	opened(l)
	return l, o, err
}

// open opens a link with room for this request.
func (p *pool) open(ctx context.Context, o *opening, key, scheme, address string) (*link, error) {
	cc, err := p.transport.NewClientConn(o.context(ctx, p.clk), scheme, address)
	if err != nil {
		return nil, err
	}
	l := &link{key: key, cc: cc, conn: o.conn, h2: o.h2.Load()}
	if err := cc.Reserve(); err != nil {
		cc.Close()
		return nil, err
	}
	if l.h2 {
		p.keep(l)
	}
	return l, nil
}

// shared returns a kept link. Without one the caller has to open one, and to call opened
// with it, nil when there is none. Where HTTP/2 is spoken one request at a time opens a
// link and the others wait to share it: at a burst each would open its own.
func (p *pool) shared(ctx context.Context, key, scheme string) (l *link, opened func(*link), err error) {
	for {
		if l := p.kept(key); l != nil {
			return l, nil, nil
		}
		p.mu.Lock()
		wait := p.opening[key]
		if scheme != "https" || !p.transport.Protocols.HTTP2() || p.plain[key] {
			p.mu.Unlock()
			return nil, func(*link) {}, nil
		}
		if wait == nil {
			done := make(chan struct{})
			p.opening[key] = done
			p.mu.Unlock()
			return nil, func(l *link) {
				p.mu.Lock()
				delete(p.opening, key)
				p.plain[key] = l != nil && !l.h2
				p.mu.Unlock()
				close(done)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// kept takes a link out of the pool, or returns nil. Links that the server has closed
// meanwhile are forgotten.
func (p *pool) kept(key string) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[key]
	defer func() { p.idle[key] = list }()
	for i := len(list) - 1; i >= 0; i-- {
		l := list[i]
		err := l.cc.Reserve()
		if err == nil && l.h2 {
			return l
		}
		if err == nil || l.cc.Err() != nil || !l.h2 {
			list = slices.Delete(list, i, i+1)
		}
		if err == nil {
			return l
		}
		if !l.h2 {
			l.cc.Close()
		}
	}
	return nil
}

// put gives back a link after its request. One that cannot take another is closed.
func (p *pool) put(l *link) {
	if l.h2 {
		return
	}
	if l.cc.Available() == 0 {
		l.cc.Close()
		return
	}
	p.keep(l)
}

func (p *pool) keep(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.cc.Close()
		return
	}
	p.idle[l.key] = append(p.idle[l.key], l)
}

// close closes the links that are not in use, and each other one as it is given back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.idle {
		for _, l := range list {
			if l.cc.InFlight() == 0 {
				l.cc.Close()
			}
		}
	}
	clear(p.idle)
}
