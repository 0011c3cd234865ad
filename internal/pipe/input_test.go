package pipe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

var errStop = errors.New("stopped")

func TestPlace(t *testing.T) {
	for in, want := range map[string]string{"": "standard input", "-": "standard input", "/dev/stdin": "standard input", "a.arrows": "a.arrows"} {
		if got := Place(in); got != want {
			t.Errorf("Place(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestOpenFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	os.WriteFile(name, []byte("content"), 0o600)
	r, err := Open(ctx, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := iotest.TestReader(r, []byte("content")); err != nil {
		t.Error(err)
	}
	s, ok := r.(io.ReadSeeker)
	if !ok {
		t.Fatal("a regular file is no io.Seeker")
	}
	if _, err := s.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(s); string(b) != "tent" || err != nil {
		t.Errorf("after Seek read %q, %v", b, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		filepath.Join(dir, "no"): filepath.Join(dir, "no") + ": no such file or directory",
		dir:                      dir + ": is a folder, want a file",
	} {
		if _, err := Open(ctx, name, nil); err == nil || err.Error() != want {
			t.Errorf("Open(%s) = %v; want %s", name, err, want)
		}
	}
}

func TestOpenStdin(t *testing.T) {
	for _, name := range []string{"", "-", "/dev/stdin"} {
		r, err := Open(ctx, name, strings.NewReader("typed"))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); string(b) != "typed" || err != nil {
			t.Errorf("Open(%q) read %q, %v", name, b, err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
}

func TestRedirectedStdinIsSeekableAndStaysOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	os.WriteFile(name, []byte("content"), 0o600)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Open(ctx, "-", f)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.(io.Seeker); !ok {
		t.Error("a redirected file is no io.Seeker")
	}
	r.Close()
	if _, err := f.Stat(); err != nil {
		t.Errorf("Close closed stdin: %v", err)
	}
}

func TestPipeInput(t *testing.T) {
	in := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB, many blocks
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		w.Write(in)
		w.Close()
	}()
	p, err := Open(ctx, "-", r)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.(io.Seeker); ok {
		t.Error("a pipe claims to be an io.Seeker")
	}
	if err := iotest.TestReader(p, in); err != nil {
		t.Error(err)
	}
	if n, err := p.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read after the end = %d, %v; want EOF again", n, err)
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// A Read that waits for a pipe ends with the context, and says why.
func TestContextEndsARead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	c, cancel := context.WithCancelCause(ctx)
	p, err := Open(c, "-", r)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "x")
	if _, err := io.ReadFull(p, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		_, err := p.Read(make([]byte, 1))
		got <- err
	}()
	cancel(errStop)
	if err := <-got; err != errStop {
		t.Errorf("Read = %v; want %v", err, errStop)
	}
	// Whatever has no reason to wait is asked before each read.
	name := filepath.Join(t.TempDir(), "in")
	os.WriteFile(name, []byte("content"), 0o600)
	for _, open := range []func() (io.ReadCloser, error){
		func() (io.ReadCloser, error) { return Open(c, name, nil) },
		func() (io.ReadCloser, error) { return Open(c, "-", strings.NewReader("x")) },
	} {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 1)); err != errStop {
			t.Errorf("Read after the end of the context = %v; want %v", err, errStop)
		}
		r.Close()
	}
}

func TestReadErrorsHaveAPlace(t *testing.T) {
	bad := func() io.Reader { return io.MultiReader(strings.NewReader("good"), iotest.ErrReader(errStop)) }
	onStdin, err := Open(ctx, "-", bad())
	if err != nil {
		t.Fatal(err)
	}
	for want, r := range map[string]io.Reader{
		"standard input: stopped": onStdin,
		"fifo: stopped":           newPump(ctx, "fifo", bad(), nil),
	} {
		b, err := io.ReadAll(r)
		if string(b) != "good" || !errors.Is(err, errStop) || err.Error() != want {
			t.Errorf("read %q, %v; want good, then %s", b, err, want)
		}
	}
}

func TestAt(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"a", errors.New("gone"), "a: gone"},
		{"a", errors.New("a: gone"), "a: gone"},
		{"-", errors.New("gone"), "standard input: gone"},
	} {
		if got := At(tt.name, tt.err); got.Error() != tt.want {
			t.Errorf("At(%q, %v) = %v; want %s", tt.name, tt.err, got, tt.want)
		}
	}
	if At("a", nil) != nil || At("a", io.EOF) != io.EOF {
		t.Error("At changes nil or io.EOF")
	}
}
