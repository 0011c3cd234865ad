// Package formats holds what every format of Hydrant shares: the three errors a
// reader may return and the nullable integer that stands for "did not happen".
//
// The formats themselves live in the packages below this one. None of them
// imports another format.
package formats

import "fmt"

// SyntaxError reports input that does not follow its format.
//
// It prints as "<place>: <what>: got "<got>", want <want>"; the parts after
// <what> are left out when empty.
type SyntaxError struct {
	Place string // where: "trace.jsonl:812", "run.arrows: requests batch 12"
	What  string // the field or rule that was broken
	Got   string // the offending value, unquoted
	Want  string // what would have been accepted
	Err   error  // cause, may be nil
	Help  string // the next step, printed as a hint line; may be empty
}

func (e *SyntaxError) Error() string {
	s := e.Place
	if e.What != "" {
		s += ": " + e.What
	}
	if e.Got != "" || e.Want != "" {
		s += fmt.Sprintf(": got %q, want %s", e.Got, e.Want)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Hint returns the next step for the user, or "".
func (e *SyntaxError) Hint() string { return e.Help }

// VersionError reports a format version, or a format name, this build does not read.
type VersionError struct {
	Place string
	Got   string // what the input says of itself
	Want  string // the versions this build reads
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s: version: got %q, want %s", e.Place, e.Got, e.Want)
}

// Hint returns the next step for the user.
func (e *VersionError) Hint() string {
	return "the file was written by another version of Hydrant; use that version, or make the file again"
}

// TruncatedError reports input that ended before its format's end mark. What was
// whole before the cut has already been handed out.
type TruncatedError struct {
	Place string
	Want  string // what was expected next
	Err   error  // cause, may be nil
	Help  string // the next step; may be empty
}

func (e *TruncatedError) Error() string {
	s := fmt.Sprintf("%s: truncated: got end of input, want %s", e.Place, e.Want)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *TruncatedError) Unwrap() error { return e.Err }

// Hint returns the next step for the user, or "".
func (e *TruncatedError) Hint() string { return e.Help }
