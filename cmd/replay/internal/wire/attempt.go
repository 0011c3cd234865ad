package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// An attempt is one request on its way. Its methods run in the goroutine of Do, but for
// the hooks that say so.
type attempt struct {
	e      *httpEngine
	p      *Prepared
	row    *run.Request
	cancel context.CancelCauseFunc
	body   *body
	socket string // path of the Unix socket to send to; "": TCP
	link   *link  // nil before there is one

	phase *time.Timer  // the limit of the present phase
	wrote atomic.Int64 // stamp of the request handed to the transport's connection whole, 0 before

	stream *stream // nil before the answer is read
	drains bool    // [DONE] has come
}

// start starts the timers that run over the whole request.
func (a *attempt) start() (stop func()) {
	var timers []*time.Timer
	since := time.Duration(a.e.o.Clock.Now() - a.row.DispatchedNS.V)
	if d := a.e.o.TotalTimeout; d > 0 {
		timers = append(timers, time.AfterFunc(d-since, func() { a.cancel(a.e.limits.total) }))
	}
	if d := a.p.CancelAfter; d > 0 {
		timers = append(timers, time.AfterFunc(d-since, func() { a.cancel(errPlanned) }))
	}
	return func() {
		a.arm(0, nil)
		for _, t := range timers {
			t.Stop()
		}
	}
}

// arm ends the phase before and limits the next one to d; 0 is no limit.
func (a *attempt) arm(d time.Duration, cause error) {
	if a.phase != nil {
		a.phase.Stop()
		a.phase = nil
	}
	if d > 0 {
		cancel := a.cancel
		a.phase = time.AfterFunc(d, func() { cancel(cause) })
	}
}

// request makes the HTTP request. Nothing of it is shared with another attempt but the
// values of p.Header.
func (a *attempt) request() (*http.Request, error) {
	t, err := targetOf(a.p.URL)
	if err != nil {
		return nil, err
	}
	a.socket = t.socket
	h, host := headerOf(a.p.Kind, t.url)
	h["X-Request-Id"] = []string{strconv.FormatInt(a.p.ID, 10)}
	a.body = &body{b: a.p.Body}
	return &http.Request{
		Method: http.MethodPost, URL: t.url, Host: host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: a.body, ContentLength: int64(len(a.p.Body)),
	}, nil
}

// send gets a connection and sends the request on it. A kept connection that turns out
// to be closed, or with HTTP/2 going away, before a byte of the request was taken is
// replaced: nothing was sent, so that is no second attempt.
func (a *attempt) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	a.row.ConnAskedNS = formats.Some(a.e.o.Clock.Now())
	a.arm(a.e.o.ConnectTimeout, a.e.limits.connect)
	for {
		l, opened, err := a.e.pool.get(ctx, target{req.URL, a.socket})
		if err != nil {
			a.arm(0, nil)
			return nil, err
		}
		a.connected(l, opened)
		var begun atomic.Bool // the request's header is being written
		trace := &httptrace.ClientTrace{WroteRequest: a.wroteRequest, GotFirstResponseByte: l.conn.answered,
			WroteHeaderField: func(string, []string) { begun.Store(true) }}
		resp, err := l.cc.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
		sent := begun.Load()
		if !l.h2 {
			sent = l.conn.since().sent > 0
		}
		if err == nil || opened != nil || ctx.Err() != nil || sent {
			return resp, err
		}
		a.link = nil
		if !l.h2 { // others may be on it
			l.cc.Close()
		}
		a.body.rewind()
	}
}

// connected notes the connection. opened is nil when it is a kept one.
func (a *attempt) connected(l *link, opened *opening) {
	row := a.row
	a.link = l
	row.ConnReused = formats.Some(1)
	row.ConnID = formats.Some(l.conn.id)
	row.RemoteAddr = l.conn.RemoteAddr().String()
	if opened != nil {
		row.ConnReused = formats.Some(0)
		row.DNSNS = stamp(opened.dns.Load())
		row.ConnectNS = stamp(opened.connect.Load())
		row.TLSNS = stamp(opened.tls.Load())
	}
	if !l.h2 {
		l.conn.begin()
	}
	row.ConnReadyNS = formats.Some(a.e.o.Clock.Now())
	a.arm(a.e.o.FirstByteTimeout, a.e.limits.firstByte)
}

// wroteRequest runs in the goroutine that writes.
func (a *attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.wrote.Store(a.e.o.Clock.Now())
	}
}

// own returns the connection that carries this request alone, or nil.
func (a *attempt) own() *conn {
	if a.link == nil || a.link.h2 {
		return nil
	}
	return a.link.conn
}

func stamp(ns int64) formats.Int {
	if ns == 0 {
		return formats.Int{}
	}
	return formats.Some(ns)
}

// end writes the last columns: how it ended, and what went over the wire until then.
func (a *attempt) end(outcome, text string) {
	row := a.row
	row.Outcome = outcome
	row.Error = clip(text, secretsOf(&a.e.o, a.p.Kind, text))
	if c := a.own(); c != nil {
		c.since().fill(row)
		early := c.cameEarly()
		// an answer that did not come early proves the request was written
		if a.wrote.Load() != 0 || row.HeadersNS.Valid && !early {
			row.WriteDoneNS = stamp(c.writeDone())
		}
		if row.HeadersNS.Valid {
			row.EarlyResponse = formats.Some(0)
			if early {
				row.EarlyResponse = formats.Some(1)
			}
		}
	} else {
		// the transport's word, which may come after the answer or not in time
		at := a.wrote.Load()
		if at == 0 && row.HeadersNS.Valid && a.body.whole() {
			at = row.HeadersNS.V
		}
		if at != 0 {
			row.WriteDoneNS = formats.Some(min(at, row.FirstByteNS.Or(at)))
		}
	}
	row.EndNS = formats.Some(a.e.o.Clock.Now())
}

// A body is a request body. The transport may still read it after the request has ended,
// so it can be taken away.
type body struct {
	mu sync.Mutex
	b  []byte
	at int
}

var errTaken = errors.New("the request has ended")

// Read copies out the next bytes.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at < 0 {
		return 0, errTaken
	}
	if b.at == len(b.b) {
		return 0, io.EOF
	}
	n := copy(p, b.b[b.at:])
	b.at += n
	return n, nil
}

// Close does nothing.
func (b *body) Close() error { return nil }

// whole reports whether all of it has been read.
func (b *body) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at == len(b.b)
}

// rewind starts again.
func (b *body) rewind() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = 0
}

// take ends all reading: the bytes are the caller's again.
func (b *body) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b, b.at = nil, -1
}
