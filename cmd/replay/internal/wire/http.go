package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"hydrant/cmd/replay/internal/kernel"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// httpEngine is the Engine on net/http.
type httpEngine struct {
	o        Options
	limits   limits
	counters *Counters
	pool     pool
	drag     *drag
	buffers  sync.Pool // of *[readSize]byte
	alarm    pace.Alarm
}

// readSize is how much of a body one read takes. A stream holds a buffer for as long as
// it is open, so it is small: events are a few hundred bytes.
const readSize = 8 << 10

// NewHTTP returns the engine on net/http: HTTP/1.1 and TLS, and HTTP/2 or a proxy when
// asked for. It opens as many connections as there are requests in flight, keeps them,
// and never waits for one that is in use. Compression is not asked for, redirects
// are not followed, nothing is tried again.
func NewHTTP(o Options) Engine {
	e := &httpEngine{o: o, limits: limitsOf(&o), counters: o.Counters, drag: newDrag(&o)}
	if e.counters == nil {
		e.counters = new(Counters)
	}
	d := &dialer{clk: o.Clock, stamps: kernel.NewConverter(o.Clock), cut: o.cut, counters: e.counters}
	d.net.KeepAliveConfig = keepAlive
	config := o.TLS.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(o.HTTP2)
	e.pool = pool{clk: o.Clock, idle: map[string][]*link{}, plain: map[string]bool{}, opening: map[string]chan struct{}{}, transport: &http.Transport{
		DialContext:            d.dial,
		TLSClientConfig:        config,
		Protocols:              protocols,
		ForceAttemptHTTP2:      o.HTTP2,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 1 << 20,
	}}
	if o.Proxy {
		e.pool.transport.Proxy = http.ProxyFromEnvironment
	}
	e.buffers.New = func() any { return new([readSize]byte) }
	return e
}

// Close closes idle connections.
func (e *httpEngine) Close() { e.pool.close() }

// Sleep and Ring are those of an alarm: the requests have goroutines of their own.
func (e *httpEngine) Sleep(ns int64) { e.alarm.Sleep(ns) }

func (e *httpEngine) Ring() { e.alarm.Ring() }

// Start makes one attempt in a goroutine of its own. A panic costs that request only.
func (e *httpEngine) Start(ctx context.Context, p *Prepared, dispatched int64, f Flight) {
	go func() {
		row := f.Row()
		row.DispatchedNS = formats.Some(dispatched)
		if err := cli.Guard(func() error { e.do(ctx, p, row); return nil }); err != nil {
			row.Outcome, row.Error = run.Truncated, err.Error()
			row.EndNS = formats.Some(e.o.Clock.Now())
			if e.o.Fault != nil {
				e.o.Fault(err)
			}
		}
		f.Ended(row)
	}()
}

// do makes one attempt.
func (e *httpEngine) do(parent context.Context, p *Prepared, row *run.Request) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	a := &attempt{e: e, p: p, row: row, cancel: cancel}
	stop := a.start()
	defer stop()

	req, err := a.request()
	if err != nil {
		a.end(run.ConnectError, run.LocalPrefix+err.Error())
		return
	}
	// the transport may read on after we have left
	defer a.body.take()

	resp, err := a.send(ctx, req)
	if err != nil {
		outcome, text := ended(causeOf(ctx))
		if outcome == "" {
			switch l := a.link; {
			case l == nil:
				outcome, text = e.limits.unconnected(err)
			case l.h2:
				outcome, text = unanswered(bare(err), false, true)
			default:
				received, ended := l.conn.since().received > 0, l.conn.ended.Load()
				outcome, text = unanswered(cutShort(err, received && ended), received, ended)
			}
		}
		a.end(outcome, text)
	} else {
		row.HeadersNS = formats.Some(e.o.Clock.Now())
		row.HTTPStatus = formats.Some(int64(resp.StatusCode))
		a.end(a.answer(ctx, resp))
	}
	if a.link != nil {
		e.pool.put(a.link)
	}
}

// cutShort is the error of a header that its connection ended: the parser tells of the
// line that it was given half of.
func cutShort(err error, ended bool) error {
	var op *net.OpError
	if ended && !errors.As(err, &op) {
		return io.ErrUnexpectedEOF
	}
	return bare(err)
}

// bare strips what net/http says of itself, so that both engines say the same.
func bare(err error) error {
	for _, said := range [...]string{"net/http: Transport failed to read from server: ", "net/http: HTTP/1.x transport connection broken: "} {
		if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), said) {
			err = inner
		}
	}
	if strings.HasPrefix(err.Error(), "net/http: server response headers exceeded") {
		return errLongHeader
	}
	return err
}
