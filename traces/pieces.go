package traces

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hydrant/formats/jsonl"
)

// pieces walks a stream of JSON objects of any size and layout, in lines or not, so that
// only one value lies in memory at a time: the caller steps through the objects and
// lists it knows to be long, and takes what is in them as whole values. What it takes
// has still to be parsed; everything between is checked here.
//
// The first error sticks: a *jsonl.Fault, io.ErrUnexpectedEOF for a stream that ends
// within an object, jsonl.ErrLineTooLong for a value of more than jsonl.MaxLine bytes, or
// that of the reader.
type pieces struct {
	r      io.Reader
	buf    []byte
	i, end int   // unread bytes of buf
	line   int64 // of the byte at i, from 1
	from   int64 // line where the latest value began
	err    error
	eof    error // from r, once
}

// newPieces starts on a stream, behind its byte order mark if it has one.
func newPieces(r io.Reader) *pieces {
	p := &pieces{r: r, buf: make([]byte, 64<<10), line: 1}
	const mark = "\uFEFF"
	for p.end < len(mark) && p.more() {
	}
	if bytes.HasPrefix(p.buf[:p.end], []byte(mark)) {
		p.i = len(mark)
	}
	return p
}

// more reads bytes behind those that are left, and reports whether there are any.
func (p *pieces) more() bool {
	if p.err != nil || p.eof != nil {
		return false
	}
	if p.i > 0 {
		p.end = copy(p.buf, p.buf[p.i:p.end])
		p.i = 0
	}
	if p.end == len(p.buf) {
		if len(p.buf) >= jsonl.MaxLine {
			p.err = jsonl.ErrLineTooLong
			return false
		}
		p.buf = append(p.buf, make([]byte, min(len(p.buf), jsonl.MaxLine-len(p.buf)))...)
	}
	for range 100 {
		n, err := p.r.Read(p.buf[p.end:])
		p.end += n
		p.eof = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	p.eof = io.ErrNoProgress
	return false
}

// peek returns the next byte that is not white space; 0 at the end of the stream and
// after an error.
func (p *pieces) peek() byte {
	for p.err == nil {
		for p.i < p.end {
			switch c := p.buf[p.i]; c {
			case '\n':
				p.line++
				p.i++
			case ' ', '\t', '\r':
				p.i++
			default:
				return c
			}
		}
		if !p.more() {
			break
		}
	}
	return 0
}

// done reports whether nothing but white space is left, or an error came.
func (p *pieces) done() bool {
	if p.err == nil && (p.peek() != 0 || p.i < p.end) {
		return false
	}
	if p.err == nil && p.eof != io.EOF {
		p.err = p.eof
	}
	return true
}

// fail records what came instead of what was wanted.
func (p *pieces) fail(what, want string) {
	if p.err != nil {
		return
	}
	if p.i == p.end {
		if p.err = p.eof; p.eof == io.EOF {
			p.err = io.ErrUnexpectedEOF
		}
		return
	}
	got := p.buf[p.i:p.end]
	if i := bytes.IndexAny(got, ",]} \t\r\n"); i >= 0 {
		got = got[:max(i, 1)]
	}
	if len(got) > maxGot {
		got = got[:maxGot]
	}
	p.err = &jsonl.Fault{What: what, Got: strings.ToValidUTF8(string(got), "\uFFFD"), Want: want}
}

// maxGot is how much of an offending value an error repeats.
const maxGot = 60

// open steps into an object or a list and reports whether it has a first element.
func (p *pieces) open(left byte, what string) bool {
	if p.peek() != left {
		want := "an object"
		if left == '[' {
			want = "a list"
		}
		p.fail(what, want)
		return false
	}
	p.i++
	if p.peek() == left+2 { // '[' + 2 == ']', '{' + 2 == '}'
		p.i++
		return false
	}
	return p.err == nil
}

// next steps over the comma or the end that follows an element.
func (p *pieces) next(left byte, what string) bool {
	switch p.peek() {
	case ',':
		p.i++
		return true
	case left + 2:
		p.i++
		return false
	}
	p.fail(what, fmt.Sprintf("a comma or %q", left+2))
	return false
}

// key reads a key, which stays valid, and its colon.
func (p *pieces) key() string {
	if p.peek() != '"' {
		p.fail("key", "a quoted key")
		return ""
	}
	var s jsonl.Scanner
	s.Reset(p.value("key"))
	s.Field = "key"
	key := s.Str()
	if p.err == nil && s.Err != nil {
		p.err = s.Err
	}
	if p.peek() != ':' {
		p.fail("key", "a colon")
		return ""
	}
	p.i++
	return key
}

// kinds of byte outside of strings.
const (
	plain  = iota
	quote  // "
	opens  // { [
	closes // } ]
	ends   // what ends a number or a word
)

var kindOf = [256]uint8{'"': quote, '{': opens, '[': opens, '}': closes, ']': closes, ',': ends, ':': ends, ' ': ends, '\t': ends, '\r': ends, '\n': ends}

// value takes the next value whole, valid until the next call. It is only known to be
// balanced and UTF-8.
func (p *pieces) value(what string) []byte {
	if p.peek() == 0 {
		p.fail(what, "a value")
		return nil
	}
	p.from = p.line
	n, depth, quoted := 0, 0, false
	for {
		b := p.buf[p.i:p.end]
		for n < len(b) {
			if quoted {
				switch c := b[n]; c {
				case '\\':
					n++ // and what follows it
				case '"':
					if quoted = false; depth == 0 {
						return p.take(n+1, what)
					}
				}
				n++
				continue
			}
			switch kindOf[b[n]] {
			case quote:
				quoted = true
			case opens:
				depth++
			case closes:
				if depth--; depth <= 0 {
					return p.take(n+1+min(depth, 0), what) // that of a list around a number is not its own
				}
			case ends:
				if depth == 0 {
					return p.take(n, what)
				}
			}
			n++
		}
		if !p.more() {
			if p.eof == io.EOF && depth == 0 && !quoted && p.err == nil {
				return p.take(p.end-p.i, what) // a number at the end of the stream
			}
			p.i = p.end
			p.fail(what, "the rest of the value")
			return nil
		}
	}
}

func (p *pieces) take(n int, what string) []byte {
	b := p.buf[p.i : p.i+n]
	if n == 0 {
		p.fail(what, "a value")
		return nil
	}
	if !utf8.Valid(b) {
		p.err = &jsonl.Fault{What: what, Got: "bytes that are not UTF-8", Want: "a JSON value"}
		return nil
	}
	p.i += n
	p.line += int64(bytes.Count(b, []byte{'\n'}))
	return b
}
