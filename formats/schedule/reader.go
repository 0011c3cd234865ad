package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// Reader reads one schedule or several in a row. Several play one after the other:
// the lines of a later part have their ids counted on, their times shifted by the
// span of the parts before, and their sessions renamed with the suffix "@2", "@3",
// so that private prompt text differs while block ids stay shared. The number is
// that of the part, or higher when sessions before it end in such a suffix: a
// schedule may have been joined before.
type Reader struct {
	lines *jsonl.Lines
	place string
	sum   hash.Hash
	parse Parser

	header Header
	raw    []byte // the header's object, as it was read
	end    []Trailer
	tally  *tally
	open   bool // in a part: its header was read, its trailer was not
	edited bool // hand-edited: no trailer needed, none believed

	part   int   // from 1
	suffix int64 // of the current part's sessions, from the second part on
	most   int64 // the highest number in a suffix so far
	idBase int64 // added to ids, of lines of the current part
	atBase int64 // added to times
	err    error // sticks
}

// NewReader reads the header. r yields uncompressed bytes; place names it in errors.
func NewReader(r io.Reader, place string) (*Reader, error) {
	sr := &Reader{lines: jsonl.NewLines(r), place: place}
	return sr, sr.first()
}

// NewEditedReader reads a schedule that a person has edited: lines must be whole and
// keep the rules, but the trailer may be missing and is not compared. References to
// lines that were taken out are dropped; Dropped counts them.
func NewEditedReader(r io.Reader, place string) (*Reader, error) {
	sr := &Reader{lines: jsonl.NewLines(r), place: place, edited: true}
	return sr, sr.first()
}

func (r *Reader) first() error {
	line, err := r.lines.Next()
	if err != nil {
		return r.fail(r.ended(err, "a schedule header on the first line"))
	}
	return r.fail(r.begin(line))
}

// begin starts a part with its header line.
func (r *Reader) begin(line []byte) error {
	kind, inner, fault := envelope(line)
	if fault != nil {
		return syntax(r.here(), fault)
	}
	if kind != "schedule" {
		return &formats.SyntaxError{Place: r.here(), What: "header", Got: excerpt(line), Want: `{"schedule":{…}}`,
			Help: "`tracegen FORMAT TRACE` makes a schedule from a trace"}
	}
	h, err := parseHeader(inner, r.here())
	if err != nil {
		return err
	}
	if r.part > 0 {
		last, _ := r.tally.ids.last()
		r.idBase += last + 1
		r.atBase += r.tally.span
	}
	r.part++
	if r.part > 1 {
		r.suffix = max(int64(r.part), r.most+1)
		r.most = r.suffix
	}
	r.header, r.raw = h, append([]byte(nil), inner...)
	r.tally = newTally(h.Block)
	r.tally.loose = r.edited
	r.sum = sha256.New()
	r.sum.Write(line)
	r.open = true
	return nil
}

// Header returns the header of the part that the latest line came from.
func (r *Reader) Header() Header { return r.header }

// HeaderJSON returns that header's JSON object as it was read.
func (r *Reader) HeaderJSON() []byte { return r.raw }

// Part returns which schedule of several in a row is being read, from 1.
func (r *Reader) Part() int { return r.part }

// Trailers returns the trailers read so far, as they were read.
func (r *Reader) Trailers() []Trailer { return r.end }

// Dropped returns how many references a hand-edited schedule lost.
func (r *Reader) Dropped() int64 { return r.tally.dropped }

// Next returns the next request, valid until the next call. It returns io.EOF after
// a trailer that fits its lines and nothing behind it; *formats.SyntaxError,
// *formats.VersionError or *formats.TruncatedError when the input is not a whole
// schedule, after every whole line before the fault; any other error is the stream's.
func (r *Reader) Next() (*Request, error) {
	for r.err == nil {
		line, err := r.lines.Next()
		if err != nil {
			r.fail(r.ended(err, "the trailer line {\"end\":…}"))
			break
		}
		if !r.open {
			r.fail(r.begin(line))
			continue
		}
		req, err := r.line(line)
		if err != nil || req != nil {
			return req, r.fail(err)
		}
	}
	return nil, r.err
}

// line reads a request, or the trailer and returns nil.
func (r *Reader) line(line []byte) (*Request, error) {
	if len(line) > 7 && line[2] != 'i' { // {"id":… is by far the most frequent
		switch kind, inner, fault := envelope(line); {
		case fault != nil:
			return nil, syntax(r.here(), fault)
		case kind == "schedule":
			return nil, &formats.SyntaxError{Place: r.here(), What: "line", Got: "a second header", Want: "the trailer of the schedule before it",
				Help: "the schedule before it was cut off; make it again"}
		case kind == "end":
			return nil, r.close(inner)
		}
	}
	r.sum.Write(line)
	req, fault := r.parse.request(line[:len(line)-1])
	if fault == nil {
		fault = r.tally.add(req)
	}
	if fault != nil {
		return nil, syntax(r.here(), fault)
	}
	return req, r.shift(req)
}

// close reads a trailer and ends the part.
func (r *Reader) close(inner []byte) error {
	r.open = false
	end, err := parseTrailer(inner, r.here())
	if err != nil {
		if r.edited {
			return nil
		}
		return err
	}
	r.end = append(r.end, end)
	if r.edited {
		return nil
	}
	if err := r.tally.compare(end, hex.EncodeToString(r.sum.Sum(nil)), r.here()); err != nil {
		return err
	}
	if end.Status != Complete {
		return &formats.TruncatedError{Place: r.here(), Want: "a schedule of status complete",
			Err:  errors.New("the trailer says " + end.Status),
			Help: "the tool that wrote it did not finish; run it again, or accept what is there with `tracegen schedule --reseal`"}
	}
	return nil
}

// shift moves a line of a later part behind the parts before it.
func (r *Reader) shift(req *Request) error {
	if r.part == 1 {
		r.most = max(r.most, suffixOf(req.Session))
		return nil
	}
	if req.ID > math.MaxInt64-r.idBase || req.AtNS.V > math.MaxInt64-r.atBase {
		return &formats.SyntaxError{Place: r.here(), What: "id or at_ns", Got: "a sum over the parts beyond 63 bits", Want: "smaller parts"}
	}
	req.ID += r.idBase
	for i := range req.After {
		req.After[i] += r.idBase
	}
	if req.AtNS.Valid {
		req.AtNS.V += r.atBase
	}
	req.Session += "@" + strconv.FormatInt(r.suffix, 10)
	return nil
}

// suffixOf returns the number behind the last "@" of a session's name, 0 when it has
// none. Numbers beyond 18 digits are not met: no suffix grows to them.
func suffixOf(session string) int64 {
	n, unit := int64(0), int64(1)
	for i := len(session) - 1; i >= 0; i-- {
		switch c := session[i]; {
		case c == '@':
			return n
		case c < '0' || c > '9' || unit > 1e17:
			return 0
		default:
			n += int64(c-'0') * unit
			unit *= 10
		}
	}
	return 0
}

// ended turns the end of the stream into the answer to Next.
func (r *Reader) ended(err error, want string) error {
	switch {
	case err == io.EOF && r.part > 0 && (!r.open || r.edited):
		return io.EOF
	case err == io.EOF && r.part == 0:
		return &formats.TruncatedError{Place: r.place, Want: want, Help: "the input is empty: look at what the tool before it said"}
	case err == io.EOF, errors.Is(err, jsonl.ErrNoNewline):
		return &formats.TruncatedError{Place: r.next(), Want: want, Help: cutHelp}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &formats.TruncatedError{Place: r.next(), Want: want, Err: err, Help: cutHelp}
	case errors.Is(err, jsonl.ErrLineTooLong):
		return &formats.SyntaxError{Place: r.next(), What: "line", Got: "more than " + strconv.Itoa(jsonl.MaxLine) + " bytes", Want: "shorter lines"}
	}
	return fmt.Errorf("%s: %w", r.place, err)
}

const cutHelp = "the file was cut off; copy or make it again"

func (r *Reader) fail(err error) error {
	if err != nil {
		r.err = err
	}
	return err
}

// here names the latest line, next the one after it.
func (r *Reader) here() string { return r.place + ":" + strconv.FormatInt(r.lines.Number(), 10) }
func (r *Reader) next() string { return r.place + ":" + strconv.FormatInt(r.lines.Number()+1, 10) }

// excerpt returns the start of a line for an error.
func excerpt(line []byte) string {
	line = bytes.TrimRight(line[:min(len(line), 60)], "\r\n")
	return string(bytes.ToValidUTF8(line, []byte("\uFFFD")))
}
