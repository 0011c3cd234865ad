package pipe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	dialPause  = 50 * time.Millisecond // between two attempts
	maxPending = 64                    // connections that have not said who they are
)

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// dial connects to the end that binds, which may start later than this one: it
// tries until the timeout.
func (e endpoint) dial(ctx context.Context) (net.Conn, error) {
	deadline := time.Now().Add(e.timeout)
	var d net.Dialer
	for {
		attempt, cancel := context.WithDeadline(ctx, deadline)
		c, err := d.DialContext(attempt, e.network, e.addr)
		cancel()
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", e.name, context.Cause(ctx))
		}
		if !time.Now().Add(dialPause).Before(deadline) {
			var sys syscall.Errno
			if errors.As(err, &sys) {
				err = sys
			}
			return nil, &endError{fmt.Errorf("%s: nobody accepted a connection within %v: %w", e.name, e.timeout, err),
				"start the end that binds (?bind), or raise --timeout"}
		}
		t := time.NewTimer(dialPause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// listen binds. A socket file that a dead process left behind is replaced; one
// that somebody listens on is not.
func (e endpoint) listen() (net.Listener, error) {
	l, err := net.Listen(e.network, e.addr)
	if e.network == "unix" && errors.Is(err, syscall.EADDRINUSE) && stale(e.addr) {
		if os.Remove(e.addr) == nil {
			l, err = net.Listen(e.network, e.addr)
		}
	}
	if err != nil {
		var sys syscall.Errno
		if errors.As(err, &sys) {
			err = sys
		}
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	if e.network == "unix" {
		if err := os.Chmod(e.addr, 0o600); err != nil {
			l.Close()
			return nil, named(e.name, err)
		}
	}
	return l, nil
}

// stale reports whether path is a socket that nobody listens on.
func stale(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&fs.ModeSocket == 0 {
		return false
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// endError is an error of an end with the next step.
type endError struct {
	error
	help string
}

func (e *endError) Hint() string  { return e.help }
func (e *endError) Unwrap() error { return e.error }

// acceptor takes connections and does each handshake in a goroutine of its own,
// so that a peer that says nothing keeps nobody else out.
type acceptor struct {
	l    net.Listener
	stop chan struct{}
	wg   sync.WaitGroup
	mu   sync.Mutex
	open []net.Conn // before the end of the handshake, oldest first
	once sync.Once
}

// accept starts to serve l. handle is called with each peer of the other role, in
// a goroutine that may stay in it.
func accept(l net.Listener, role byte, id uint64, timeout time.Duration, handle func(*peer)) *acceptor {
	a := &acceptor{l: l, stop: make(chan struct{})}
	a.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) || !a.pause() {
					return
				}
				continue // too many open files, or a peer that left at once
			}
			if !a.add(c) {
				c.Close()
				continue
			}
			a.wg.Go(func() {
				p, err := shake(c, true, role, id, timeout)
				a.remove(c)
				if err == nil {
					handle(p)
				}
			})
		}
	})
	return a
}

// pause waits a moment; false says that the acceptor ends.
func (a *acceptor) pause() bool {
	t := time.NewTimer(dialPause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.stop:
		return false
	}
}

// add notes a connection that has to say who it is; too many of them cost the
// oldest its place. false says that the acceptor has ended.
func (a *acceptor) add(c net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.stop:
		return false
	default:
	}
	if len(a.open) == maxPending {
		a.open[0].Close()
		a.open = a.open[1:]
	}
	a.open = append(a.open, c)
	return true
}

func (a *acceptor) remove(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.open, c); i >= 0 {
		a.open = slices.Delete(a.open, i, i+1)
	}
}

// close ends the listener and whoever is still in a handshake, and waits for all
// goroutines; peers that were handled must have been closed.
func (a *acceptor) close() {
	a.once.Do(func() {
		close(a.stop)
		a.l.Close()
		a.mu.Lock()
		for _, c := range a.open {
			c.Close()
		}
		a.mu.Unlock()
	})
	a.wg.Wait()
}
