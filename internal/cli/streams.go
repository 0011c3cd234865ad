package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/tty"
)

// Context returns the context of the running tool: it ends with cause
// ErrInterrupted at the first SIGINT or SIGTERM.
func Context(c *ucli.Context) context.Context { return c.Context }

// Stdin returns the stream that Run was given as standard input.
func Stdin(c *ucli.Context) io.Reader { return c.App.Reader }

// Stdout returns the stream that Run was given as standard output. It carries
// the format and nothing else.
func Stdout(c *ucli.Context) io.Writer { return c.App.Writer }

// Stderr returns the stream that Run was given as standard error.
func Stderr(c *ucli.Context) io.Writer { return c.App.ErrWriter }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool { return tty.Is(w) }

// Warnf prints one line "<tool>: warning: …" to w.
func Warnf(w io.Writer, tool, format string, a ...any) {
	fmt.Fprintf(w, "%s: warning: %s\n", tool, oneLine(fmt.Sprintf(format, a...)))
}

// oneLine keeps a message on one line and its control characters away from the
// terminal: a server's answer may be quoted in it.
func oneLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return '?'
		}
		return r
	}, s)
}
