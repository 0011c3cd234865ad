package cli

import (
	"errors"
	"fmt"
)

// The exit statuses of the five tools. StatusFail, StatusInvalid and
// StatusInconclusive belong to judge alone; a crash is never one of them.
const (
	StatusDone         = 0   // done; judge: VALID and PASS, or no objective given
	StatusFail         = 1   // judge: VALID and FAIL
	StatusUsage        = 2   // the command line cannot be understood
	StatusError        = 3   // could not do it: bad input, unreachable server, dead worker, crash
	StatusInvalid      = 4   // judge: INVALID
	StatusInconclusive = 5   // judge: INCONCLUSIVE
	StatusInterrupted  = 130 // SIGINT or SIGTERM
)

// ErrInterrupted is the cause of a context that a signal cancelled. An action
// that returns it, wrapped or not, exits with StatusInterrupted.
var ErrInterrupted = errors.New("interrupted")

// usageError is a mistake on the command line.
type usageError struct{ error }

// Usage marks the error: other packages that cannot import this one mark theirs
// with the same method.
func (usageError) Usage() bool { return true }

func (e usageError) Unwrap() error { return e.error }

// Usagef returns an error that exits with StatusUsage. It formats like
// fmt.Errorf, and the text follows "<tool>: error: ".
func Usagef(format string, a ...any) error {
	return usageError{fmt.Errorf(format, a...)}
}

// hinted carries the next step for the user beside an error.
type hinted struct {
	error
	hint string
}

func (e hinted) Hint() string  { return e.hint }
func (e hinted) Unwrap() error { return e.error }

// WithHint adds a line "hint: …" that is printed after the error. A nil error
// stays nil, an empty hint changes nothing.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{err, hint}
}

// status is an exit status without a message.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Status returns an error that exits with code and prints nothing, for a tool
// whose result was already written and is told again by the status (judge: 1, 4
// and 5). Status(0) is nil.
func Status(code int) error {
	if code == StatusDone {
		return nil
	}
	return status(code)
}

// isUsage reports whether err, or anything it wraps, is a usage error.
func isUsage(err error) bool {
	var u interface{ Usage() bool }
	return errors.As(err, &u) && u.Usage()
}

// hint returns the first non-empty hint in err's chain.
func hint(err error) string {
	for err != nil {
		var h interface {
			error
			Hint() string
		}
		if !errors.As(err, &h) {
			return ""
		}
		if s := h.Hint(); s != "" {
			return s
		}
		err = errors.Unwrap(h)
	}
	return ""
}
