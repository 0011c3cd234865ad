package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	return Plain(strings.NewReplacer("\n", ";", "\t", " ").Replace(strings.TrimRight(s, "\n")))
}

// Plain replaces what could move the cursor of a terminal, change its state or turn
// the order of letters, so that text from a server, a run or a file name can be shown:
// control characters other than the newline, and controls of direction. The sequences
// in except stay, for colours of the tool's own.
func Plain(s string, except ...string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if own := slices.IndexFunc(except, func(e string) bool { return strings.HasPrefix(s[i:], e) }); own >= 0 {
			b.WriteString(except[own])
			i += len(except[own])
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			r = '?'
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}
