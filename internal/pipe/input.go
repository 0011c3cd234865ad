package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"hydrant/internal/tty"
)

// Open opens an input with the default options; see OpenWith.
func Open(ctx context.Context, name string, stdin io.Reader) (io.ReadCloser, error) {
	return OpenWith(ctx, name, stdin, Options{})
}

// OpenWith opens the input that name stands for: a path, "-" or "" for stdin, or
// a ZMQ endpoint. When ctx ends, a Read returns its cause, even a Read that waits
// for a pipe. A regular file, opened or redirected, is also an io.Seeker. Close
// does not close stdin.
//
// No name at all with a terminal as stdin is a usage error, since the tool would
// wait without a word; "-" reads the terminal.
func OpenWith(ctx context.Context, name string, stdin io.Reader, o Options) (io.ReadCloser, error) {
	switch {
	case isZMQ(name):
		return openZMQ(ctx, name, o)
	case name == "" && tty.Is(stdin):
		return nil, usagef(`name a file, or pipe one in ("-" reads the terminal)`, "no input: standard input is a terminal")
	case isStdin(name):
		if f, ok := stdin.(*os.File); ok {
			return fromFile(ctx, f, name, false)
		}
		return &checked{ctx: ctx, name: name, r: stdin}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, named(name, err)
	}
	return fromFile(ctx, f, name, true)
}

// named puts a path in front of the reason, without the name of the system call.
func named(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func fromFile(ctx context.Context, f *os.File, name string, owned bool) (io.ReadCloser, error) {
	var c io.Closer
	if owned {
		c = f
	}
	st, err := f.Stat()
	switch {
	case err == nil && st.IsDir():
		if owned {
			f.Close()
		}
		return nil, fmt.Errorf("%s: is a folder, want a file", Place(name))
	case err == nil && st.Mode().IsRegular():
		return &file{checked{ctx, name, f, c}, f}, nil
	}
	return newPump(ctx, name, f, c), nil
}

// checked looks at the context before each read, which is enough where a read
// does not wait.
type checked struct {
	ctx  context.Context
	name string
	r    io.Reader
	c    io.Closer // nil: not ours to close
}

func (c *checked) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	n, err := c.r.Read(p)
	return n, readError(c.name, err)
}

// readError names the place of a failed read; the end of the input is no failure.
func readError(name string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return named(Place(name), err)
}

func (c *checked) Close() error {
	if c.c == nil {
		return nil
	}
	return c.c.Close()
}

// file is a regular file.
type file struct {
	checked
	f *os.File
}

// Seek moves the next Read.
func (f *file) Seek(offset int64, whence int) (int64, error) { return f.f.Seek(offset, whence) }
