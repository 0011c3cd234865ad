package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/kernel"
)

// keepAlive makes probes slow: they keep a silent stream's entry in the tables of
// routers on the way and find a host that is gone after minutes, but never kill a
// connection that is only loaded.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 30 * time.Second, Count: 9}

// A dialer opens connections that stamp themselves.
type dialer struct {
	net      net.Dialer
	clk      clock.Clock
	stamps   *kernel.Converter
	cut      func(received int64) int
	counters *Counters
	ids      atomic.Int64
}

// An opening collects what becomes of one connection being opened: the connection
// below TLS, and when each step was finished, 0 for a step not done.
type opening struct {
	socket            string // path of a Unix socket to dial instead; "": TCP
	conn              *conn
	dns, connect, tls atomic.Int64
	h2                atomic.Bool
}

// openingKey is the key of the context value that holds the *opening.
type openingKey struct{}

// context returns ctx for the transport to open a connection with.
func (o *opening) context(ctx context.Context, clk clock.Clock) context.Context {
	ctx = context.WithValue(ctx, openingKey{}, o)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { o.dns.Store(clk.Now()) },
		TLSHandshakeDone: func(s tls.ConnectionState, _ error) {
			o.tls.Store(clk.Now())
			o.h2.Store(s.NegotiatedProtocol == "h2")
		},
	})
}

// dial is the transport's DialContext.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	o, _ := ctx.Value(openingKey{}).(*opening)
	if o != nil && o.socket != "" {
		network, addr = "unix", o.socket
	}
	c, err := d.net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	w := newConn(c, d.clk, d.stamps, d.counters, d.ids.Add(1)-1)
	w.cut = d.cut
	if o != nil {
		o.conn = w
		o.connect.Store(d.clk.Now())
	}
	d.counters.Opened.Add(1)
	return w, nil
}

// isLocal reports whether a connection failed for want of a port, a descriptor, memory
// or a name.
func isLocal(err error) bool {
	var dns *net.DNSError
	var target *unusableError
	if errors.As(err, &dns) || errors.As(err, &target) {
		return true
	}
	for _, e := range [...]syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
