// Package wire sends one prepared request, reads its answer as it arrives and
// writes down when everything happened.
//
// An Engine is the load engine behind one small interface; NewHTTP gives the one on
// net/http. Engine.Start makes exactly one attempt and fills the sender, receiver,
// wire, token, outcome and chunk columns of the row, whatever becomes of the
// request. Stamps are taken on the run's clock: those of the connection below the
// parser and below TLS, those of events when the events of one read have been
// parsed.
package wire

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// An Engine performs requests, and sleeps for the thread that paces them: an engine
// with an event loop of its own serves its sockets in that sleep.
type Engine interface {
	// Start begins p, dispatched at that offset, and returns at once; it is called by
	// the pacing thread. The engine fills the row's columns from conn_asked_ns on and
	// always sets Outcome and EndNS. Cancelling ctx ends the request as
	// cancelled, with the context's cause in the row's error.
	Start(ctx context.Context, p *Prepared, dispatched int64, f Flight)
	// Sleep returns at instant ns of CLOCK_MONOTONIC, or after Ring; it may return early
	// for no reason. The pacing thread calls it.
	Sleep(ns int64)
	// Ring ends the present Sleep, or the next one when nobody sleeps. Anybody may call it.
	Ring()
	// Close closes idle connections. Requests in flight are left alone. Nobody may
	// sleep any more.
	Close()
}

// A Flight is the other side of a request on its way. Its methods run on any goroutine, or
// on the pacing thread, and must be quick.
type Flight interface {
	// Row returns the row with the columns that the engine does not fill. It is called
	// once, at the latest when the request has ended: a stream that idles needs no row.
	Row() *run.Request
	// Written says that the kernel has the whole request: the engine is done with p, unless it
	// keeps the reply in it, and with p.Body in any case. Not every engine says so.
	Written()
	// Ended takes the complete row, exactly once.
	Ended(row *run.Request)
}

// Do performs one request and waits for its end, on an engine that needs no pacing
// thread. dispatched_ns is now where the row has none.
func Do(ctx context.Context, e Engine, clk clock.Clock, p *Prepared, row *run.Request) {
	if !row.DispatchedNS.Valid {
		row.DispatchedNS = formats.Some(clk.Now())
	}
	f := alone{row, make(chan struct{})}
	e.Start(ctx, p, row.DispatchedNS.V, f)
	<-f.done
}

// alone is a flight that somebody waits for.
type alone struct {
	row  *run.Request
	done chan struct{}
}

func (f alone) Row() *run.Request  { return f.row }
func (f alone) Ended(*run.Request) { close(f.done) }
func (f alone) Written()           {}

// A Kind is what many requests have in common. It is not changed once it is in use, and used
// with one engine.
type Kind struct {
	URL      string             // with the endpoint's path
	Header   http.Header        // sent as given besides the engine's own
	Endpoint *endpoint.Endpoint // reads the events
	Stream   bool               // whether the body asks for a stream
	Chunks   bool               // whether to keep the chunk lists

	prefix *prefix // of the engine on epoll

	stall func(event int64) // for tests: called in the middle of reading, at each token event from 1
}

// Prepared is one request, ready to be sent: nothing is built on the dispatch path.
type Prepared struct {
	*Kind
	ID          int64         // sent as header x-request-id
	Body        []byte        // not changed, not kept after the end or Flight.Written
	CancelAfter time.Duration // cut the answer this long after dispatch, as planned; 0: never
	KeepReply   bool          // whether to collect the answer's text
	Reply       []byte        // out: the answer's text, reasoning left out; valid until p is used again
}

// reply is where the answer's text is kept, nil for nowhere.
func (p *Prepared) reply() *Prepared {
	if p == nil || !p.KeepReply {
		return nil
	}
	return p
}

// Options of an engine. Timeouts are limits with their own outcome each; 0 means none.
type Options struct {
	Clock clock.Clock

	ConnectTimeout   time.Duration // from the dial to a usable connection, TLS included: connect_error
	FirstByteTimeout time.Duration // from a usable connection to the first byte of the body: timeout_first_byte
	IdleTimeout      time.Duration // between two reads of the body: timeout_idle
	TotalTimeout     time.Duration // from dispatch to the end: timeout_total

	KeepP    bool        // GOMAXPROCS has a P for the pacing thread alone, which keeps it while it waits
	LineCap  int         // longest line or event read, bytes; 0: DefaultLineCap
	TLS      *tls.Config // nil: the system's roots
	HTTP2    bool        // offer HTTP/2 over TLS; wire columns are null on such connections
	Proxy    bool        // obey HTTP_PROXY, HTTPS_PROXY and NO_PROXY
	Secrets  []string    // values that never appear in a row's error text
	Counters *Counters   // nil: not counted
	Fault    func(error) // told of a panic that cost a request; nil: nobody is
	Slow     Slowness    // put in on purpose

	cut func(received int64) int // for tests: how much the next read takes at most, given what its request has received
}

// DefaultLineCap bounds one line and one event of a stream: no server sends such a
// line on purpose, and one stream's memory stays below twice this.
const DefaultLineCap = 16 << 20

// Counters are running totals over all requests of an engine, for the client table.
// They only grow; read them at any time.
type Counters struct {
	Opened      atomic.Int64 // connections opened
	Reads       atomic.Int64 // reads of connections that returned data
	Received    atomic.Int64 // bytes
	Sent        atomic.Int64 // bytes
	Events      atomic.Int64
	TokenEvents atomic.Int64
	ReadDelay   Delays // from the kernel's stamp to the parsed token event, ns
}
