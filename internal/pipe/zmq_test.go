package pipe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hydrant/formats"
)

// long is the timeout of ends that should never meet it.
var long = Options{Timeout: 2 * time.Minute}

// noise returns n bytes that depend on seed.
func noise(seed uint64, n int) []byte {
	c := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	b := make([]byte, n)
	c.Read(b)
	return b
}

// end returns the name of a free ZMQ end without options.
func end(t *testing.T, network string) string {
	t.Helper()
	if network == "ipc" {
		dir, err := os.MkdirTemp("", "z") // t.TempDir is too long for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return "zmq+ipc://" + filepath.Join(dir, "s")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "zmq+tcp://" + l.Addr().String()
}

func address(name string) (network, addr string) {
	if rest, ok := strings.CutPrefix(name, "zmq+ipc://"); ok {
		return "unix", rest
	}
	return "tcp", strings.TrimPrefix(name, "zmq+tcp://")
}

func openEnd(t *testing.T, name string, o Options) io.ReadCloser {
	t.Helper()
	r, err := OpenWith(ctx, name, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// writeAll sends b over a new writer and returns what its Finish says.
func writeAll(name string, b []byte, o Options) error {
	w, err := Create(ctx, name, nil, o)
	if err != nil {
		return err
	}
	for len(b) > 0 { // pieces of many sizes
		n := min(len(b), 1+int(b[0])*3001)
		if _, err := w.Write(b[:n]); err != nil {
			return w.Finish(err)
		}
		b = b[n:]
	}
	return w.Finish(nil)
}

func TestZMQStream(t *testing.T) {
	in := noise(1, 10<<20)
	for _, network := range []string{"tcp", "ipc"} {
		for _, who := range []string{"reader", "writer"} {
			t.Run(network+" "+who+" binds", func(t *testing.T) {
				name := end(t, network)
				rName, wName := name+"?bind", name
				if who == "writer" {
					rName, wName = name, name+"?bind"
				}
				wrote := make(chan error, 1)
				go func() { wrote <- writeAll(wName, in, long) }()
				r := openEnd(t, rName, long)
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, in) {
					t.Errorf("read %d bytes, %v; want the %d written", len(got), err, len(in))
				}
				if err := <-wrote; err != nil {
					t.Errorf("writer: %v", err)
				}
				if err := r.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				if network, path := address(name); network == "unix" {
					if _, err := os.Stat(path); err == nil {
						t.Error("the socket file is still there")
					}
				}
			})
		}
	}
}

func TestZMQEmptyStream(t *testing.T) {
	name := end(t, "ipc")
	wrote := make(chan error, 1)
	go func() { wrote <- writeAll(name, nil, long) }()
	if got, err := io.ReadAll(openEnd(t, name+"?bind", long)); len(got) != 0 || err != nil {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("writer: %v", err)
	}
}

// Finish must not say that all is well before the reader has read to the end.
func TestFinishWaitsForTheReader(t *testing.T) {
	name := end(t, "ipc")
	r := openEnd(t, name+"?bind", long)
	w, err := Create(ctx, name, nil, long)
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "some bytes")
	finished := make(chan error, 1)
	go func() { finished <- w.Finish(nil) }()
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-finished:
		t.Fatalf("Finish = %v before the reader met the end", err)
	default:
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("Read = %d, %v; want EOF", n, err)
	}
	if err := <-finished; err != nil {
		t.Errorf("Finish = %v", err)
	}
}

// Several writers: each stream whole, one after the other, whatever the order in
// which their frames arrive; the later ones are never held up by the first.
func TestZMQPeers(t *testing.T) {
	const n = 3
	for _, network := range []string{"tcp", "ipc"} {
		name := end(t, network)
		r := openEnd(t, fmt.Sprintf("%s?bind&peers=%d", name, n), long)
		var outs []*Output
		for range n { // in order of arrival
			w, err := Create(ctx, name, nil, long)
			if err != nil {
				t.Fatal(err)
			}
			outs = append(outs, w)
		}
		if err := writeAll(name, nil, long); err == nil || !strings.Contains(err.Error(), "3 of 3 writers") {
			t.Errorf("a fourth writer: %v; want a refusal", err)
		}
		streams := make([][]byte, n)
		done := make(chan error, n)
		for i := n - 1; i >= 0; i-- { // the last writers write everything before the first starts
			streams[i] = noise(uint64(i), 3<<20+i)
			if i > 0 {
				put(t, outs[i], string(streams[i]))
				go func() { done <- outs[i].Finish(nil) }()
			}
		}
		go func() {
			_, err := outs[0].Write(streams[0])
			done <- outs[0].Finish(err)
		}()
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, bytes.Join(streams, nil)) {
			t.Errorf("%s: read %d bytes, %v; want the streams one after the other", network, len(got), err)
		}
		for range n {
			if err := <-done; err != nil {
				t.Errorf("%s: writer: %v", network, err)
			}
		}
	}
}

func TestReaderThatLeavesFailsTheWriter(t *testing.T) {
	for _, network := range []string{"tcp", "ipc"} {
		name := end(t, network)
		r := openEnd(t, name+"?bind", long)
		wrote := make(chan error, 1)
		go func() { wrote <- writeAll(name, noise(1, 20<<20), long) }()
		if _, err := io.ReadFull(r, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		err := <-wrote
		if err == nil || !strings.Contains(err.Error(), "the reader stopped before the end") || !strings.Contains(err.Error(), "it acknowledged") || IsClosed(err) {
			t.Errorf("%s: writer: %v; want what is missing", network, err)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Error("Read after Close succeeds")
		}
	}
}

// A reader process that is killed sends nothing: only its connection ends.
func TestReaderThatDiesFailsTheWriter(t *testing.T) {
	for _, network := range []string{"tcp", "ipc"} {
		for _, before := range []int{0, 1 << 20} {
			name := end(t, network)
			r := openEnd(t, name+"?bind", long).(*zmqReader)
			wrote := make(chan error, 1)
			go func() { wrote <- writeAll(name, noise(1, 20<<20), long) }()
			if _, err := io.ReadFull(r, make([]byte, before+1)); err != nil {
				t.Fatal(err)
			}
			r.streams[0].p.c.Close()
			err := <-wrote
			if err == nil || !strings.Contains(err.Error(), "connection closed: it acknowledged") {
				t.Errorf("%s: writer: %v; want what is missing", network, err)
			}
		}
	}
}

// A dead writer leaves a stream that is cut: everything before it is read.
func TestWriterThatDies(t *testing.T) {
	for _, network := range []string{"tcp", "ipc"} {
		for what, kill := range map[string]func(*Output){
			"connection closed":           func(w *Output) { w.w.(*zmqWriter).p.c.Close() },
			`the writer gave up: "broken`: func(w *Output) { w.Finish(errors.New("broken")) },
		} {
			name := end(t, network)
			r := openEnd(t, name+"?bind", long)
			w, err := Create(ctx, name, nil, long)
			if err != nil {
				t.Fatal(err)
			}
			in := noise(1, 1<<20)
			put(t, w, string(in))
			kill(w)
			got, err := io.ReadAll(r)
			var cut *formats.TruncatedError
			if !errors.As(err, &cut) || !strings.Contains(err.Error(), what) || !bytes.HasPrefix(in, got) {
				t.Errorf("%s: read %d bytes, %v; want a prefix, truncated, %s", network, len(got), err, what)
			}
			// A killed process takes with it what its kernel had not sent; whoever
			// can still say that it gives up loses nothing.
			if what != "connection closed" && len(got) != len(in) {
				t.Errorf("%s: read %d bytes; want all %d that were written", network, len(got), len(in))
			}
			if _, again := r.Read(make([]byte, 1)); again != err {
				t.Errorf("the next Read = %v; want the same error", again)
			}
			w.Finish(nil)
		}
	}
}

func TestSilence(t *testing.T) {
	short := Options{Timeout: 200 * time.Millisecond}
	var cut *formats.TruncatedError

	// No writer at all.
	r := openEnd(t, end(t, "ipc")+"?bind", short)
	if _, err := r.Read(make([]byte, 1)); !errors.As(err, &cut) || !strings.Contains(err.Error(), "writer 1 of 1: none came within 200ms") {
		t.Errorf("without a writer: %v", err)
	}

	// A writer that freezes: let in, some bytes, then not even a sign of life.
	name := end(t, "ipc")
	r = openEnd(t, name+"?bind", short)
	p := rawPeer(t, name, roleWriter)
	if err := p.send(kindData, 1, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if !errors.As(err, &cut) || !strings.Contains(err.Error(), "silent for 200ms") || string(got) != "abc" {
		t.Errorf("with a frozen writer: %q, %v", got, err)
	}

	// A reader that freezes.
	name = end(t, "ipc")
	frozen := make(chan *peer, 1)
	go func() {
		p := rawPeer(t, name, roleReader)
		p.send(kindAdmit, 0, nil)
		frozen <- p
	}()
	w, err := Create(ctx, name+"?bind", nil, short)
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "abc")
	if err := w.Finish(nil); err == nil || !strings.Contains(err.Error(), "reader: silent for 200ms: it acknowledged 0 of 3 bytes") {
		t.Errorf("with a frozen reader: %v", err)
	}
	<-frozen

	// Nobody to connect to.
	for _, f := range []func() error{
		func() error { _, err := Create(ctx, end(t, "ipc"), nil, short); return err },
		func() error { _, err := OpenWith(ctx, end(t, "tcp"), nil, short); return err },
		func() error { _, err := Create(ctx, end(t, "tcp")+"?bind", nil, short); return err },
	} {
		err := f()
		var h interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), "within 200ms") || !errors.As(err, &h) {
			t.Errorf("with nobody there: %v; want a hint", err)
		}
	}
}

// rawPeer connects like an end of ours and does only what the test tells it to.
// The other end may bind a moment later.
func rawPeer(t *testing.T, name string, role byte) *peer {
	ep, err := parseZMQ(name, long, role == roleReader)
	if err != nil {
		t.Error(err)
		return nil
	}
	c, err := ep.dial(ctx)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { c.Close() })
	p, err := shake(c, false, role, 77, long.Timeout)
	if err != nil {
		t.Error(err)
	}
	return p
}

func TestInterruptedWaits(t *testing.T) {
	c, cancel := context.WithCancelCause(ctx)
	r, err := OpenWith(c, end(t, "ipc")+"?bind", nil, long)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make(chan error, 4)
	go func() { _, err := r.Read(make([]byte, 1)); got <- err }()
	go func() {
		_, err := OpenWith(ctx, end(t, "ipc"), nil, Options{Timeout: long.Timeout, Opening: c})
		got <- err
	}()
	go func() { _, err := Create(c, end(t, "ipc"), nil, long); got <- err }()
	go func() { _, err := Create(c, end(t, "ipc")+"?bind", nil, long); got <- err }()
	cancel(errStop)
	for range 4 {
		if err := <-got; !errors.Is(err, errStop) {
			t.Errorf("error %v; want %v", err, errStop)
		}
	}
}

func TestBindErrors(t *testing.T) {
	// In use by a live process.
	name := end(t, "ipc")
	openEnd(t, name+"?bind", long)
	if _, err := OpenWith(ctx, name+"?bind", nil, long); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second reader: %v; want %v", err, syscall.EADDRINUSE)
	}
	// No socket: never removed.
	name = end(t, "ipc")
	_, path := address(name)
	os.WriteFile(path, []byte("precious"), 0o600)
	if _, err := OpenWith(ctx, name+"?bind", nil, long); err == nil || content(t, path) != "precious" {
		t.Errorf("binding over a file: %v", err)
	}
	// Left behind by a dead process: replaced.
	name = end(t, "ipc")
	_, path = address(name)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	r := openEnd(t, name+"?bind", long)
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v; want 0600", st.Mode(), err)
	}
	r.Close()
}
