package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"hydrant/internal/tty"
)

// Output is an output that appears whole or not at all where its kind allows it.
// Finish must be called; one goroutine owns it.
//
//	regular path   written beside under another name, synced, renamed
//	InPlace        written into the file itself; whatever was written stays
//	standard output, a device, a fifo   written directly
//	ZMQ            Finish returns when the reader has acknowledged everything
type Output struct {
	name string
	w    io.Writer
	err  error // the first failed write
	end  func(err error) error
	file *os.File // to be synced, may be nil
	path string   // of the regular file that is written in place, else ""
}

// Create opens the output that name stands for: a path, "-" or "" for stdout, or
// a ZMQ endpoint. Nothing exists under a path's name before Finish, unless
// o.InPlace; what a file held is then kept until the first Write. ctx bounds the
// opening alone, which may wait for the other end.
func Create(ctx context.Context, name string, stdout io.Writer, o Options) (*Output, error) {
	switch {
	case isZMQ(name):
		return createZMQ(ctx, name, o)
	case isStdout(name):
		if o.Binary && !o.Force && tty.Is(stdout) {
			return nil, usagef("use -o FILE or a pipe; --force writes it all the same", "standard output is a terminal and the output is binary")
		}
		return toStdout(stdout), nil
	}
	st, err := os.Stat(name)
	switch {
	case err == nil && st.IsDir():
		return nil, fmt.Errorf("%s: is a folder, want a file", name)
	case err == nil && !st.Mode().IsRegular() || isDescriptor(name):
		return toDevice(name, o)
	case o.InPlace:
		return inPlace(name)
	}
	return beside(name, st)
}

// isDescriptor reports whether a path names an open file of this process, which
// must not be replaced by a rename.
func isDescriptor(name string) bool {
	return name == "/dev/stderr" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// Write writes to the output. The first error is kept and returned by Finish too.
func (o *Output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = named(o.name, err)
		if isBroken(err) {
			o.err = closedError{o.err}
		}
	}
	return n, o.err
}

// File returns the path of the regular file that is written in place, "" when the
// output is of another kind.
func (o *Output) File() string { return o.path }

// Sync makes what was written so far durable where the output is a file.
func (o *Output) Sync() error {
	if o.err != nil || o.file == nil {
		return o.err
	}
	if err := syncFile(o.file); err != nil {
		o.err = named(o.name, err)
	}
	return o.err
}

// Finish ends the output. With a nil err it makes the output durable and gives it
// its name; else it discards what can be discarded. It returns err, or what kept
// the output from becoming whole. Calls after the first return the same.
func (o *Output) Finish(err error) error {
	if o.end == nil {
		return o.err
	}
	if err == nil {
		err = o.err
	}
	end := o.end
	o.end = nil
	if e := end(err); err == nil && e != nil {
		err = named(o.name, e)
	}
	o.err = err
	if err == nil {
		o.err, o.w = nil, closed{}
	}
	return err
}

// closed refuses writes after Finish.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, os.ErrClosed }

func toStdout(w io.Writer) *Output {
	f, _ := w.(*os.File)
	return &Output{name: "standard output", w: w, file: f, end: func(err error) error {
		if err != nil || f == nil {
			return nil
		}
		return syncFile(f)
	}}
}

func toDevice(name string, o Options) (*Output, error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, named(name, err)
	}
	if o.Binary && !o.Force && tty.Is(f) {
		f.Close()
		return nil, usagef("--force writes it all the same", "%s: is a terminal and the output is binary", name)
	}
	return &Output{name: name, w: f, file: f, end: func(err error) error {
		if err == nil {
			err = syncFile(f)
		}
		return errors.Join(err, f.Close())
	}}, nil
}

// syncFile makes f durable. What cannot be synced (a pipe, a terminal) needs no
// sync: the write was all there is.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// syncDir makes a folder's entries durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return syncFile(d)
}
