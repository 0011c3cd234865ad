package traces

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// intake is what every reader does while rows come in: it finds lines, counts what it
// repairs or ignores, remembers keys it does not know, and hashes what it reads.
type intake struct {
	place  string // of the file in hand
	strict bool

	n      int64 // rows taken in, over all files
	line   int64 // number of the line in hand, from 1
	counts map[string]int64

	clock    int64 // latest time, ns
	unknown  map[string]string
	order    []string // unknown keys in order of appearance
	things   string   // what the unknown are: keys or columns
	sources  []schedule.SourceDigest
	warnings []string
}

func newIntake(place string, strict bool) *intake {
	return &intake{place: place, strict: strict, counts: map[string]int64{}, unknown: map[string]string{}, things: "key"}
}

// digest hashes and counts the bytes of one file as they pass.
type digest struct {
	sum   hash.Hash
	bytes int64
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) Write(p []byte) (int, error) {
	d.bytes += int64(len(p))
	return d.sum.Write(p)
}

// source notes a file that was read to its end.
func (in *intake) source(name string, d *digest) {
	in.sources = append(in.sources, schedule.SourceDigest{Name: name, SHA256: hex.EncodeToString(d.sum.Sum(nil)), Bytes: d.bytes})
}

// lines calls row for each line of r that is not blank, without its newline, and notes
// the source. The last newline may be missing.
func (in *intake) lines(r io.Reader, name string, row func(line []byte) (*jsonl.Fault, error)) error {
	d := newDigest()
	lines := jsonl.NewLines(io.TeeReader(r, d))
	in.line = 0
	for {
		line, err := lines.Next()
		cut := errors.Is(err, jsonl.ErrNoNewline)
		if cut {
			line = lines.Rest()
		} else if err == io.EOF {
			in.source(name, d)
			return nil
		} else if err != nil {
			return in.broken(lines.Number()+1, err)
		}
		in.line = lines.Number()
		if in.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if blank(line) {
			in.counts["blank_lines"]++
			continue
		}
		fault, err := row(chomp(line))
		switch {
		case err != nil:
			return err
		case fault == nil:
		case cut && fault.Got == "end of line":
			return &formats.TruncatedError{Place: in.at(), Want: "the rest of the row", Help: "the file was cut off; copy it again"}
		default:
			e := in.syntax(fault)
			if in.n == 0 && bytes.Contains(line, []byte(`"`+schedule.Format+`"`)) {
				e.Help = "this is a schedule already: tracegen schedule transforms it, and replay sends it"
			}
			return e
		}
	}
}

// broken says why no more lines can be read.
func (in *intake) broken(line int64, err error) error {
	in.line = line
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &formats.TruncatedError{Place: in.at(), Want: "the rest of the trace", Err: err, Help: "the file was cut off; copy it again"}
	case errors.Is(err, jsonl.ErrLineTooLong):
		return &formats.SyntaxError{Place: in.at(), What: "row", Err: err}
	}
	return fmt.Errorf("%s: %w", in.place, err)
}

// some refuses a trace without a row.
func (in *intake) some() error {
	if in.n == 0 {
		return &formats.TruncatedError{Place: in.place, Want: "a first row", Help: "the input is empty"}
	}
	return nil
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// chomp takes the end of a line off.
func chomp(line []byte) []byte {
	n := len(line)
	for n > 0 && (line[n-1] == '\n' || line[n-1] == '\r') {
		n--
	}
	return line[:n]
}

// at is the place of the line in hand.
func (in *intake) at() string { return in.place + ":" + strconv.FormatInt(in.line, 10) }

func (in *intake) syntax(f *jsonl.Fault) *formats.SyntaxError {
	return &formats.SyntaxError{Place: in.at(), What: formats.Clip(f.What), Got: formats.Clip(f.Got), Want: f.Want}
}

// count adds n of something to the trailer's counts; 0 leaves no trace.
func (in *intake) count(name string, n int64) {
	if n > 0 {
		in.counts[name] += n
	}
}

// time notes the time of the row in hand and counts a step backward.
func (in *intake) time(ns int64) {
	if in.n > 0 && ns < in.clock {
		in.counts["sorted_backward"]++
	}
	in.clock = ns
}

// key counts a key, or a column, that is not carried. A long one goes by its beginning:
// it comes from a damaged row.
func (in *intake) key(name string) *jsonl.Fault {
	name = formats.Clip(name)
	if in.strict {
		return &jsonl.Fault{What: in.things, Got: name, Want: "known " + in.things + "s only, under --strict"}
	}
	if _, seen := in.unknown[name]; !seen {
		if len(in.order) == maxUnknown {
			name = "…"
		}
		if _, seen := in.unknown[name]; !seen {
			in.unknown[name] = in.at()
			in.order = append(in.order, name)
		}
	}
	in.counts["unknown_key:"+name]++
	return nil
}

// ignored counts keys that are not carried.
func (in *intake) ignored(names []string) *jsonl.Fault {
	for _, name := range names {
		if fault := in.key(name); fault != nil {
			return fault
		}
	}
	return nil
}

// maxUnknown is how many unknown keys are told apart: a trailer is no place for a
// million of them.
const maxUnknown = 100

// trace is the common part of a Trace whose rows are all read.
func (in *intake) trace(quantum int64, block *schedule.Block, next func() (*schedule.Request, error), close func() error) *Trace {
	t := &Trace{Block: block, QuantumNS: quantum, Sources: in.sources, Warnings: in.warnings, counts: in.counts, next: next, close: close}
	for _, key := range in.order {
		n, rows := in.counts["unknown_key:"+key], "rows"
		if n == 1 {
			rows = "row"
		}
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s: unknown %s %q, ignored on %d %s", in.unknown[key], in.things, key, n, rows))
	}
	return t
}
