package sim

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory is a listener and dialler without sockets, for synctest bubbles.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemory() *memory { return &memory{conns: make(chan net.Conn), done: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.done) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (m *memory) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case m.conns <- b:
		return a, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

// bubble serves spec inside a synctest bubble and returns a client for it.
func bubble(t *testing.T, spec string) (*Server, *http.Client) {
	t.Helper()
	s, m := NewOnTimers(parse(t, spec)), newMemory()
	served := make(chan error, 1)
	go func() { served <- s.Serve(m) }()
	tr := &http.Transport{DialContext: m.dial, DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return s, &http.Client{Transport: tr}
}

// seen is what a client got: each line of data with the time it came at.
type seen struct {
	status  int
	headers time.Duration
	data    []string
	at      []time.Duration
	end     time.Duration
	err     error
}

// watch sends one streaming request and times what comes, from the call on.
func watch(c *http.Client, id, body string) (v seen) {
	begin := time.Now()
	r, _ := http.NewRequest("POST", "http://sim/v1/completions", strings.NewReader(body))
	r.Header.Set("X-Request-Id", id)
	resp, err := c.Do(r)
	v.headers = time.Since(begin)
	if err != nil {
		v.err, v.end = err, v.headers
		return v
	}
	defer resp.Body.Close()
	v.status = resp.StatusCode
	br := bufio.NewReader(resp.Body)
	for {
		line, err := br.ReadString('\n')
		if d, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: "); ok {
			v.data = append(v.data, d)
			v.at = append(v.at, time.Since(begin))
		}
		if err != nil {
			v.end = time.Since(begin)
			if err != io.EOF {
				v.err = err
			}
			return v
		}
	}
}
