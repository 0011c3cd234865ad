// Package sim is a simulated inference server: the streaming side of the OpenAI
// API in front of a documented model of continuous batching, with a prefix cache,
// failure injection and vLLM's metric names. It is what `replay serve` shows and
// what tests replay against. docs/sim.md holds the model's formulas and every key.
//
// ParseSpec reads a description, New makes the server. Serve answers on a
// listener with an HTTP/1.1 loop of its own, in which the pacing thread writes each
// event straight to the socket; as an http.Handler the same server sits in any
// other one. Virtual runs the model alone, in virtual time.
package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a running simulated server. Close ends its goroutines.
type Server struct {
	spec    Spec
	clock   clock
	hash    maphash.Seed
	metrics *metrics
	inside  atomic.Int64 // requests handed to the engine and not yet ended
	unnamed atomic.Int64 // requests without an id so far

	engine *engine    // owned by the pacing goroutine; on null, under nullMu
	nullMu sync.Mutex // null only: requests go to the cache from their own goroutines

	mu      sync.Mutex
	started bool
	closed  bool
	stopped chan struct{} // closed when the pacing goroutine has ended
	inbox   []message
	alarms  alarms
	open    map[io.Closer]struct{} // listeners and connections of Serve

	hashMu  sync.Mutex
	hashes  io.Writer
	hashErr error
}

// New makes a server that paces in real time. The spec must come from ParseSpec
// or pass Check.
func New(spec Spec) *Server { return newServer(spec, newClock()) }

// NewOnTimers makes a server that paces with timers of package time: for
// testing/synctest, where time is false and a sleeping thread would not see it.
func NewOnTimers(spec Spec) *Server { return newServer(spec, newTimerClock()) }

func newServer(spec Spec, c clock) *Server {
	s := &Server{spec: spec, clock: c, hash: maphash.MakeSeed(), metrics: newMetrics(spec.Model),
		stopped: make(chan struct{}), open: map[io.Closer]struct{}{}}
	s.engine = newEngine(&s.spec, s)
	return s
}

// Spec returns what the server was made from.
func (s *Server) Spec() Spec { return s.spec }

// LogHashes makes the server write one line "<x-request-id> <sha256 in hex>" for
// each body of a generation request as received. Call it before serving. The first
// write error is returned by HashError; lines after it are lost.
func (s *Server) LogHashes(w io.Writer) { s.hashes = w }

// HashError returns the first error of writing the log of LogHashes.
func (s *Server) HashError() error {
	s.hashMu.Lock()
	defer s.hashMu.Unlock()
	return s.hashErr
}

func (s *Server) logHash(id string, raw []byte) {
	if s.hashes == nil {
		return
	}
	sum := sha256.Sum256(raw)
	s.hashMu.Lock()
	defer s.hashMu.Unlock()
	if s.hashErr == nil {
		_, s.hashErr = io.WriteString(s.hashes, id+" "+hex.EncodeToString(sum[:])+"\n")
	}
}

// begin starts the pacing goroutine once.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started && !s.closed {
		s.started = true
		go s.pace()
	}
}

// Close closes listeners and connections of Serve and ends the pacing goroutine.
// Responses under way are cut.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	started := s.started
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.clock.wake()
	if started {
		<-s.stopped
	}
	return nil
}

// keep registers something Close has to close; false when the server is closed or,
// for a connection, has as many as it may.
func (s *Server) keep(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if _, isConn := c.(net.Conn); isConn && len(s.open) > s.spec.Conns {
		return false
	}
	s.open[c] = struct{}{}
	return true
}

func (s *Server) forget(c io.Closer) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

// Serve answers HTTP/1.1 on l until Close or until l is closed, then returns nil.
func (s *Server) Serve(l net.Listener) error {
	s.begin()
	defer l.Close()
	if !s.keep(l) {
		return nil
	}
	defer s.forget(l)
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				continue
			}
			// Out of descriptors: those who are connected go on and free some.
			if isDescriptorLimit(err) {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			return fmt.Errorf("sim: accept: %w", err)
		}
		n := s.metrics.connections.Add(1)
		if s.spec.refuses(n) || !s.keep(c) {
			c.Close()
			continue
		}
		go func() {
			defer s.forget(c)
			newWire(s, c).serve()
		}()
	}
}

// reply is an answer that needs no model.
type reply struct {
	status int
	ctype  string
	body   []byte
}

func failure(status int, text string) *reply {
	return &reply{status, "application/json", errorObject(text, status)}
}

// plain answers everything but generation; nil when the path is for generation.
func (s *Server) plain(method, path string) *reply {
	get := func(ctype string, body []byte) *reply {
		if method != http.MethodGet && method != http.MethodHead {
			return failure(http.StatusMethodNotAllowed, "use GET")
		}
		return &reply{http.StatusOK, ctype, body}
	}
	switch path {
	case "/v1/chat/completions", "/v1/completions":
		if method != http.MethodPost {
			return failure(http.StatusMethodNotAllowed, "use POST")
		}
		return nil
	case "/v1/models":
		b := []byte(`{"object":"list","data":[{"id":`)
		b = appendJSON(b, s.spec.Model)
		b = append(b, `,"object":"model","created":0,"owned_by":"hydrant","max_model_len":`...)
		b = strconv.AppendInt(b, int64(s.spec.Context), 10)
		return get("application/json", append(b, "}]}"...))
	case "/version":
		return get("application/json", []byte(`{"version":"hydrant-sim"}`))
	case "/health":
		return get("text/plain; charset=utf-8", nil)
	case "/metrics":
		return get("text/plain; version=0.0.4; charset=utf-8", s.metrics.text())
	}
	return failure(http.StatusNotFound, "no such path: "+path)
}

// generate understands a generation request and opens its stream, or says why not.
// The stream has not been started yet.
func (s *Server) generate(path, id string, raw []byte, out sink) (*stream, *reply) {
	s.metrics.requests.Add(1)
	if !clean(id) {
		id = "anonymous-" + strconv.FormatInt(s.unnamed.Add(1), 10)
	}
	s.logHash(id, raw)
	f := s.spec.faultFor(id)
	if f != nil {
		switch f.Kind {
		case "fail":
			return nil, failure(f.Status, "injected failure")
		case "error_body":
			return nil, &reply{http.StatusOK, "application/json", errorObject("injected error instead of a stream", 500)}
		}
	}
	a, err := s.spec.parseAsk(raw, strings.HasSuffix(path, "/chat/completions"), s.hash)
	if err != nil {
		var r *refusal
		if errors.As(err, &r) {
			return nil, failure(r.status, r.text)
		}
		return nil, failure(http.StatusBadRequest, err.Error())
	}
	a.id = id
	output, reason := s.spec.length(a)
	if a.tokens+output > s.spec.Context {
		return nil, failure(http.StatusBadRequest, fmt.Sprintf("prompt of %d and output of %d tokens are more than the context of %d", a.tokens, output, s.spec.Context))
	}
	st := &stream{srv: s, out: out, fault: f, finished: make(chan struct{}), from: s.clock.now()}
	st.script = script{spec: &s.spec, ask: a, out: out, created: time.Now().Unix(), reason: reason, output: output}
	if f != nil {
		st.script.fault, st.script.bytes = f.Kind, f.Bytes
	}
	st.script.setup()
	if f != nil && (f.Kind == "hang" || f.Kind == "reset" || a.stream && (f.Kind == "empty" || f.Kind == "error_first")) {
		st.may.head = true // these never reach the model
		return st, nil
	}
	if !s.spec.Null() && s.inside.Add(1) > int64(s.spec.Slots+s.spec.Queue) {
		s.inside.Add(-1)
		return nil, failure(http.StatusServiceUnavailable, "the queue is full")
	}
	st.may.head = true
	st.job = &job{id: id, prompt: a.tokens, output: st.script.tokensMade(), blocks: a.blocks, out: st}
	a.blocks = nil // the engine drops them when it has looked them up
	return st, nil
}

// start sends the headers and hands the request to the engine; on null it sends
// everything. It may wait for the socket.
func (st *stream) start() {
	s := st.srv
	st.mu.Lock()
	if st.job != nil && s.spec.Null() {
		j := st.job
		s.nullMu.Lock()
		s.engine.lookup(j)
		s.metrics.gauges(s.engine)
		s.nullMu.Unlock()
		st.script.cached = j.cached
		st.may = allowed{head: true, role: true, tail: true, tokens: st.script.events}
		s.metrics.prompt.Add(int64(j.prompt))
		s.metrics.generation.Add(int64(j.output))
		s.metrics.finish(st.script.reason)
		st.job = nil
	}
	st.draining = true
	st.mu.Unlock()
	st.drain()
	switch {
	case st.job == nil:
	case st.over(): // the client went before the model heard of it
		s.inside.Add(-1)
	default:
		s.send(message{kind: arrived, job: st.job})
	}
}

// clean reports whether an id can stand in a log line and a JSON text as it is.
func clean(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
