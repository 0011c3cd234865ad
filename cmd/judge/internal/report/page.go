package report

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"hydrant/internal/cli"
)

// width is the widest line of a page, in characters.
const width = 80

// page collects lines.
type page struct {
	b      strings.Builder
	colour bool
}

// line adds one line as it is.
func (p *page) line(s string) { p.b.WriteString(strings.TrimRight(s, " ") + "\n") }

// blank adds an empty line.
func (p *page) blank() { p.b.WriteString("\n") }

// wrap adds text after a lead, broken between words, continued below its first
// character at column indent. A lead that reaches beyond indent has lines of its own.
// What has no blank to be broken at is broken at the edge of the page.
func (p *page) wrap(lead string, indent int, text string) {
	lead = strings.TrimRight(lead, " ")
	if lead != "" && size(lead) > indent-1 {
		p.wrap("", 0, lead)
		lead = ""
	}
	line, empty := pad(lead, indent), true
	next := func() {
		p.line(line)
		line, empty = strings.Repeat(" ", indent), true
	}
	for _, word := range words(text, width-indent) {
		if !empty && size(line)+1+size(word) > width {
			next()
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	if !empty || lead != "" {
		p.line(line)
	}
}

// words cuts text at its blanks, but not at the fixed ones, into words of at most n
// characters. One that is longer is cut at its fixed blanks, and then anywhere.
func words(text string, n int) []string {
	var out []string
	for _, word := range strings.Fields(figure.ReplaceAllString(text, "$1"+fixed+"$2")) {
		parts := []string{word}
		if size(word) > n {
			parts = strings.Split(word, fixed)
		}
		for _, part := range parts {
			part = strings.ReplaceAll(part, fixed, " ")
			for size(part) > n {
				head := string([]rune(part)[:n])
				out, part = append(out, head), part[len(head):]
			}
			out = append(out, part)
		}
	}
	return out
}

// figure finds a number and its unit, which stay on one line.
var figure = regexp.MustCompile(`([0-9]) ((?:ns|µs|ms|s|req/s)\b|%)`)

// size is the number of columns that s takes.
func size(s string) int { return utf8.RuneCountInString(s) }

// pad fills s with blanks on the right up to n columns.
func pad(s string, n int) string {
	if d := n - size(s); d > 0 {
		return s + strings.Repeat(" ", d)
	}
	return s
}

// right fills s with blanks on the left up to n columns.
func right(s string, n int) string {
	if d := n - size(s); d > 0 {
		return strings.Repeat(" ", d) + s
	}
	return s
}

// fixed stands for a blank that wrap does not break at.
const fixed = "\x00"

// glue keeps a figure and its unit on one line when text is wrapped.
func glue(s string) string { return strings.ReplaceAll(s, " ", fixed) }

// loose turns fixed blanks into ordinary ones.
func loose(s string) string { return strings.ReplaceAll(s, fixed, " ") }

// Colours of the headline's words on a terminal.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// paint colours the words of a verdict in a line.
func (p *page) paint(s string) string {
	if !p.colour {
		return s
	}
	// INVALID before VALID, which is a part of it: each place is replaced once.
	return strings.NewReplacer("INVALID", red+"INVALID"+plain, "VALID", green+"VALID"+plain, "INCONCLUSIVE", yellow+"INCONCLUSIVE"+plain,
		"PASS", green+"PASS"+plain, "FAIL", red+"FAIL"+plain, "unproven", yellow+"unproven"+plain).Replace(s)
}

func (p *page) flush(w io.Writer) error {
	var own []string
	if p.colour {
		own = []string{green, yellow, red, plain}
	}
	_, err := io.WriteString(w, cli.Plain(p.b.String(), own...))
	return err
}
