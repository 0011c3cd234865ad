// Package pipe opens the ends of a tool: a path, "-" for a standard stream, or a
// ZMQ endpoint. Both ends are plain byte streams; the formats never know which
// kind they read or write.
//
// Open gives an input, Create an output that appears whole or not at all.
package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// Options say how an end is opened. The zero value is right for most ends.
type Options struct {
	Binary  bool // the output is no text: a terminal refuses it
	Force   bool // a terminal gets it all the same
	InPlace bool // write into the file itself, durably, instead of beside it and renamed (replay)

	Timeout     time.Duration // ZMQ: silence after which the other end counts as gone; 0 is DefaultTimeout
	AllowRemote bool          // ZMQ: addresses beyond this host are accepted

	Opening context.Context // ends the wait for the other end of an input; nil: the context of the whole
}

// usageError is a mistake in how an end was named; internal/cli knows it by its
// method and exits with the status of a usage error.
type usageError struct {
	msg  string
	help string
}

func (e *usageError) Error() string { return e.msg }

// Usage marks the error as a mistake on the command line.
func (e *usageError) Usage() bool { return true }

// Hint returns the next step.
func (e *usageError) Hint() string { return e.help }

func usagef(help, format string, a ...any) error {
	return &usageError{fmt.Sprintf(format, a...), help}
}

// Place is how messages name an input: "standard input" for "-" and "", else the
// name itself.
func Place(name string) string {
	if isStdin(name) {
		return "standard input"
	}
	return name
}

// At puts the place of an input in front of an error that does not begin with it
// yet. A nil error and io.EOF stay as they are.
func At(name string, err error) error {
	if err == nil || err == io.EOF || strings.HasPrefix(err.Error(), Place(name)) {
		return err
	}
	return fmt.Errorf("%s: %w", Place(name), err)
}

func isStdin(name string) bool {
	return name == "" || name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" || name == "/proc/self/fd/0"
}

func isStdout(name string) bool {
	return name == "" || name == "-" || name == "/dev/stdout" || name == "/dev/fd/1" || name == "/proc/self/fd/1"
}

func isZMQ(name string) bool { return strings.HasPrefix(name, "zmq+") }

// closedError says that nobody reads the output any more.
type closedError struct{ error }

// Quiet marks the error for internal/cli: it ends the tool without a message.
func (closedError) Quiet() bool { return true }

func (e closedError) Unwrap() error { return e.error }

// IsClosed reports whether err says that nobody reads the output any more. A tool
// that meets it stops; internal/cli prints nothing for it.
func IsClosed(err error) bool {
	var c closedError
	return errors.As(err, &c)
}

// isBroken reports whether a write failed because the other end of a pipe is gone.
func isBroken(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
