package wire

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/clock"
)

// keepAlive makes probes slow: they keep a silent stream's entry in the tables of
// routers on the way and find a host that is gone after minutes, but never kill a
// connection that is only loaded.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 30 * time.Second, Count: 9}

// A dialer opens connections that stamp themselves.
type dialer struct {
	net      net.Dialer
	clk      clock.Clock
	counters *Counters
	ids      atomic.Int64
}

// dial is the transport's DialContext. It may outlive the request that asked for it,
// whose attempt is in ctx: the connection then goes to another one.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dns atomic.Int64
	c, err := d.net.DialContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { dns.Store(d.clk.Now()) },
	}), network, addr)
	if err != nil {
		return nil, err
	}
	connected := d.clk.Now()
	w := newConn(c, d.clk, d.counters, d.ids.Add(1)-1)
	w.dial = dialStamps{dns: dns.Load(), connect: connected}
	w.dial.by, _ = ctx.Value(attemptKey{}).(*attempt)
	d.counters.Opened.Add(1)
	return w, nil
}

// attemptKey is the key of the context value that holds the *attempt.
type attemptKey struct{}

// localPrefix marks the error of a request that failed on this host, before it could
// reach the server: the generator's own fault.
const localPrefix = "local: "

// isLocal reports whether a connection failed for want of a port, a descriptor, memory
// or a name.
func isLocal(err error) bool {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return true
	}
	for _, e := range [...]syscall.Errno{syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
