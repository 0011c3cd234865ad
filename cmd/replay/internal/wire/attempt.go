package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

	conn *conn // nil before there is one, and on HTTP/2
	h2   bool
	tls  atomic.Int64 // stamp of the end of this attempt's TLS handshake, 0: none

	phase *time.Timer // the limit of the present phase
	wrote atomic.Int64

	stream stream
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
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	u, err := url.Parse(a.p.URL)
	if err != nil {
		var bad *url.Error // its text would repeat the URL
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, err
	}
	h := make(http.Header, len(a.p.Header)+4)
	for k, v := range a.p.Header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	set := func(key, value string) {
		if _, given := h[key]; !given {
			h[key] = []string{value}
		}
	}
	h["Accept-Encoding"] = []string{"identity"}
	h["X-Request-Id"] = []string{strconv.FormatInt(a.p.ID, 10)}
	set("Content-Type", "application/json")
	set("User-Agent", "hydrant")
	if a.p.Stream {
		set("Accept", "text/event-stream, application/json")
	} else {
		set("Accept", "application/json")
	}
	if user := u.User; user != nil {
		password, _ := user.Password()
		basic := http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user.Username(), password)
		set("Authorization", basic.Header.Get("Authorization"))
	}
	ctx = context.WithValue(ctx, attemptKey{}, a)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              a.getConn,
		GotConn:              a.gotConn,
		TLSHandshakeDone:     a.tlsDone,
		WroteRequest:         a.wroteRequest,
		GotFirstResponseByte: a.answered,
	})
	a.body = newBody(a.p.Body)
	req := &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: a.body, ContentLength: int64(len(a.p.Body)),
		// The transport asks for the body again when a kept connection turned out to be
		// closed. That is no second attempt as long as nothing was sent.
		GetBody: a.again,
	}
	if host := h.Get("Host"); host != "" {
		req.Host = host
	}
	return req.WithContext(ctx), nil
}

var errOneAttempt = errors.New("part of the request was sent already")

func (a *attempt) again() (io.ReadCloser, error) {
	if a.h2 || a.carried().sent > 0 {
		return nil, errOneAttempt
	}
	a.body.wait()
	a.body = newBody(a.p.Body)
	return a.body, nil
}

func (a *attempt) getConn(string) {
	if !a.row.ConnAskedNS.Valid {
		a.row.ConnAskedNS = formats.Some(a.e.o.Clock.Now())
	}
	a.arm(a.e.o.ConnectTimeout, a.e.limits.connect)
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	row := a.row
	reused := int64(0)
	if info.Reused {
		reused = 1
	}
	row.ConnReused = formats.Some(reused)
	row.RemoteAddr = info.Conn.RemoteAddr().String()
	a.conn = nil
	if t, ok := info.Conn.(*tls.Conn); ok {
		a.h2 = t.ConnectionState().NegotiatedProtocol == "h2"
	}
	if c := under(info.Conn); c != nil {
		row.ConnID = formats.Some(c.id)
		if c.dial.by == a {
			row.DNSNS = stamp(c.dial.dns)
			row.ConnectNS = stamp(c.dial.connect)
			row.TLSNS = stamp(a.tls.Load())
		}
		if !info.Reused {
			c.dial.by = nil // not kept alive by the connection
		}
		if !a.h2 {
			a.conn = c
			c.begin()
		}
	}
	row.ConnReadyNS = formats.Some(a.e.o.Clock.Now())
	a.arm(a.e.o.FirstByteTimeout, a.e.limits.firstByte)
}

// tlsDone runs in the goroutine that dials.
func (a *attempt) tlsDone(tls.ConnectionState, error) { a.tls.Store(a.e.o.Clock.Now()) }

// wroteRequest runs in the goroutine that writes.
func (a *attempt) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.wrote.Store(a.e.o.Clock.Now())
	}
}

// answered runs in the goroutine that reads responses.
func (a *attempt) answered() {
	if a.conn != nil {
		a.conn.answered()
	}
}

func stamp(ns int64) formats.Int {
	if ns == 0 {
		return formats.Int{}
	}
	return formats.Some(ns)
}

// under finds our connection below TLS.
func under(c net.Conn) *conn {
	for c != nil {
		if w, ok := c.(*conn); ok {
			return w
		}
		below, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = below.NetConn()
	}
	return nil
}

// carried returns the traffic of the request so far, zeros without a connection of its own.
func (a *attempt) carried() traffic {
	if a.conn == nil {
		return traffic{}
	}
	return a.conn.since()
}

// end writes the last columns: how it ended, and what went over the wire until then.
func (a *attempt) end(outcome, text string) {
	row := a.row
	row.Outcome = outcome
	row.Error = clip(text, a.secrets(text))
	if c := a.conn; c != nil {
		t := c.since()
		row.BytesSent = formats.Some(t.sent)
		row.BytesReceived = formats.Some(t.received)
		row.Reads = formats.Some(t.reads)
		early := c.early.Load()
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
	} else if a.h2 {
		row.WriteDoneNS = stamp(a.wrote.Load())
	}
	row.EndNS = formats.Some(a.e.o.Clock.Now())
}

// secrets lists what must not appear in an error text: what the options name, and the
// credentials this request carried, which servers like to repeat.
func (a *attempt) secrets(text string) []string {
	if text == "" {
		return nil
	}
	list := slices.Clone(a.e.o.Secrets)
	for k, values := range a.p.Header {
		switch http.CanonicalHeaderKey(k) {
		case "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key":
			for _, v := range values {
				_, token, _ := strings.Cut(v, " ") // Bearer TOKEN
				list = append(list, v, token)
			}
		}
	}
	if u, err := url.Parse(a.p.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		list = append(list, password)
	}
	return list
}

// A body is a request body that says when the transport is done with it.
type body struct {
	*bytes.Reader
	once sync.Once
	done chan struct{}
}

func newBody(b []byte) *body { return &body{Reader: bytes.NewReader(b), done: make(chan struct{})} }

// Close is called by the transport, in any of its goroutines, at least once.
func (b *body) Close() error {
	b.once.Do(func() { close(b.done) })
	return nil
}

func (b *body) wait() { <-b.done }
