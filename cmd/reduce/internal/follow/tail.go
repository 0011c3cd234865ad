// Package follow reads a run that is still being written, and shows how it goes.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"hydrant/formats"
)

// poll is how often a file is looked at that had nothing new.
const poll = 100 * time.Millisecond

// Tail reads a file that grows. At its end it waits for more, until Ended was called,
// the context ends, or neither the file nor its spool of client rows has grown for the
// time of Silence. A file that is not there yet is waited for as long. One goroutine
// owns it; Close closes the file.
type Tail struct {
	Context context.Context
	Name    string
	Silence time.Duration
	Idle    func() // called while it waits; nil: nothing is

	f     *os.File
	read  int64
	spool int64 // size of the client rows beside the file
	alive time.Time
	ended bool
}

// Ended says that the part that was read is whole: what follows is the end of the file,
// or another part.
func (t *Tail) Ended() { t.ended = true }

// Began says that another part is being read.
func (t *Tail) Began() { t.ended = false }

// Read reads what there is, and waits where there is nothing.
func (t *Tail) Read(p []byte) (int, error) {
	if t.alive.IsZero() {
		t.alive = time.Now()
	}
	for {
		if t.Context.Err() != nil {
			return 0, context.Cause(t.Context)
		}
		n, err := t.more(p)
		if n > 0 {
			t.alive = time.Now()
			return n, nil
		}
		switch {
		case err != nil:
			return 0, err
		case t.ended:
			return 0, io.EOF
		case t.silent():
			return 0, t.dead()
		}
		if t.Idle != nil {
			t.Idle()
		}
		wait := time.NewTimer(poll)
		select {
		case <-t.Context.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// more reads without waiting; no bytes and no error mean that there is nothing new.
func (t *Tail) more(p []byte) (int, error) {
	if t.f == nil {
		f, err := os.Open(t.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.Name, errors.Unwrap(err))
		}
		t.f = f
	}
	st, err := t.f.Stat()
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", t.Name, err)
	case !st.Mode().IsRegular():
		return 0, fmt.Errorf("%s: is no regular file, want one that replay -o writes", t.Name)
	case st.Size() < t.read:
		return 0, &formats.SyntaxError{Place: t.Name, What: "size", Got: fmt.Sprint(st.Size()), Want: fmt.Sprintf("at least %d, which were read", t.read),
			Help: "another run was written over it; follow it again"}
	}
	n, err := t.f.Read(p)
	t.read += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// silent reports whether the writer has shown no life for too long. Its client rows grow
// every second, also while no request ends.
func (t *Tail) silent() bool {
	if st, err := os.Stat(t.Name + ".client"); err == nil && st.Size() != t.spool {
		t.spool, t.alive = st.Size(), time.Now()
	}
	return time.Since(t.alive) >= t.Silence
}

func (t *Tail) dead() error {
	if t.f == nil {
		return fmt.Errorf("%s: %w, after %v of waiting", t.Name, fs.ErrNotExist, t.Silence)
	}
	return &formats.TruncatedError{Place: t.Name, Want: "the end of the run", Help: fmt.Sprintf("the file has not grown for %v; --timeout waits longer, --partial reduces what is there", t.Silence)}
}

// Close closes the file.
func (t *Tail) Close() error {
	if t.f == nil {
		return nil
	}
	return t.f.Close()
}
