package wire

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/internal/fixture"
)

// An opener opens an engine that the test closes, with a clock and a cap on everything so
// that a fault of the test does not hang it.
type opener func(t testing.TB, o Options) Engine

// both runs a test over both engines: what it says holds for each.
func both(t *testing.T, f func(t *testing.T, engine opener)) {
	t.Run("http", func(t *testing.T) { f(t, engine) })
	t.Run("epoll", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			fixture.Need(t, false, "epoll: needs Linux")
		}
		f(t, looped)
	})
}

// engine opens the one on net/http.
func engine(t testing.TB, o Options) Engine {
	t.Helper()
	o = fitted(o)
	e := &clocked{NewHTTP(o), o.Clock}
	t.Cleanup(e.Close)
	return e
}

// looped opens the one on epoll, with a thread that plays the pacer.
func looped(t testing.TB, o Options) Engine {
	t.Helper()
	o = fitted(o)
	e, err := NewEpoll(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &pacer{Engine: e, ended: make(chan struct{})}
	go p.run()
	t.Cleanup(p.Close)
	return &clocked{p, o.Clock}
}

func fitted(o Options) Options {
	o.Clock = clock.New(clock.Epoch())
	if o.TotalTimeout == 0 {
		o.TotalTimeout = time.Minute
	}
	warm()
	return o
}

// clocked is an engine whose clock is known.
type clocked struct {
	Engine
	clk clock.Clock
}

// clockOf returns the clock of an engine.
func clockOf(e Engine) clock.Clock { return e.(*clocked).clk }

// A pacer lets anybody start requests on an engine that belongs to one thread.
type pacer struct {
	Engine
	ended chan struct{}

	mu     sync.Mutex
	starts []func()
	closed bool
}

func (p *pacer) Start(ctx context.Context, q *Prepared, dispatched int64, f Flight) {
	p.mu.Lock()
	p.starts = append(p.starts, func() { p.Engine.Start(ctx, q, dispatched, f) })
	p.mu.Unlock()
	p.Ring()
}

func (p *pacer) run() {
	runtime.LockOSThread()
	defer close(p.ended)
	for {
		p.mu.Lock()
		starts, closed := p.starts, p.closed
		p.starts = nil
		p.mu.Unlock()
		for _, f := range starts {
			f()
		}
		if closed {
			return
		}
		p.Sleep(pace.Forever)
	}
}

func (p *pacer) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Ring()
	<-p.ended
	p.Engine.Close()
}
