// Package tty tells whether a stream is a terminal. It is a leaf of its own
// because both internal/cli and internal/pipe have to know.
package tty

import "os"

// Is reports whether v is an open file that is a terminal. Anything that is not
// an *os.File (a buffer in a test, a network stream) is none.
func Is(v any) bool {
	f, ok := v.(*os.File)
	return ok && f != nil && isTerminal(f)
}
