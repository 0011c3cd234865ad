// Package jsonl reads JSON Lines strictly: keys in their exact letter case, whole
// numbers from their text, nothing after the value, and lines no longer than a cap.
//
// Lines hands out one line at a time; Scanner walks the JSON value in it.
//
// Note: encoding/json is too lenient for a contract. It matches keys in any letter
// case, keeps the last of a repeated key, passes numbers through float64 when the
// type is open, and its Decoder does not look at what follows the value.
package jsonl

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of literal JSON (body, extra): scanning recurses.
const maxDepth = 1000

// EndOfLine is what a Fault got where the line ended too early.
const EndOfLine = "end of line"

// maxGot is how much of an offending value an error repeats.
const maxGot = 60

// Fault is a rule that a line breaks; the reader adds the place.
type Fault struct{ What, Got, Want string }

func (f *Fault) Error() string { return f.What + ": got " + strconv.Quote(f.Got) + ", want " + f.Want }

// Scanner scans one JSON value from b. The first fault sticks and every later call
// is a no-op, so that callers check once at the end.
type Scanner struct {
	b       []byte
	i       int
	Field   string // the key being read, for errors
	Err     *Fault
	scratch []byte // unescaped text of the latest string
}

// Reset starts on a new line, without its newline, and keeps the scratch space.
func (s *Scanner) Reset(b []byte) { *s = Scanner{b: b, Field: "line", scratch: s.scratch[:0]} }

// Fail records a fault unless there is one already.
func (s *Scanner) Fail(what, got, want string) {
	if s.Err == nil {
		if len(got) > maxGot {
			got = strings.ToValidUTF8(got[:maxGot], "") + "…"
		}
		s.Err = &Fault{what, got, want}
	}
}

// Refuse records that the value at the cursor is not what the field takes.
func (s *Scanner) Refuse(want string) { s.Fail(s.Field, s.Token(), want) }

// Token returns the text at the cursor up to the next delimiter, for errors.
func (s *Scanner) Token() string {
	s.space()
	rest := s.b[s.i:]
	n := 0
	if len(rest) > 0 && rest[0] == '"' {
		n = 1
		for n < len(rest) && rest[n] != '"' && n < maxGot {
			n++
		}
		n = min(n+1, len(rest))
	} else {
		for n < len(rest) && bytes.IndexByte([]byte(",]} \t\r\n"), rest[n]) < 0 && n < maxGot {
			n++
		}
		if n == 0 && len(rest) > 0 {
			n = 1
		}
	}
	if n == 0 {
		return EndOfLine
	}
	return string(bytes.ToValidUTF8(rest[:n], []byte("\uFFFD")))
}

func (s *Scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// Peek returns the next byte that is not white space, 0 at the end.
func (s *Scanner) Peek() byte {
	s.space()
	if s.i == len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// Open enters an object or array and reports whether it has a first element.
func (s *Scanner) Open(left byte) bool {
	if s.Err != nil {
		return false
	}
	if s.Peek() != left {
		want := "an object"
		if left == '[' {
			want = "a list"
		}
		s.Refuse(want)
		return false
	}
	s.i++
	if s.Peek() == left+2 { // '[' + 2 == ']', '{' + 2 == '}'
		s.i++
		return false
	}
	return true
}

// More steps over the comma or the end that follows an element.
func (s *Scanner) More(left byte) bool {
	if s.Err != nil {
		return false
	}
	if s.i < len(s.b) && s.b[s.i] == ',' { // by far the most frequent
		s.i++
		return true
	}
	switch s.Peek() {
	case ',':
		s.i++
		return true
	case left + 2:
		s.i++
		return false
	}
	s.Refuse("a comma or " + strconv.QuoteRune(rune(left+2)))
	return false
}

// Key reads a key and its colon. The bytes are valid until the next string.
func (s *Scanner) Key() []byte {
	if s.Err != nil {
		return nil
	}
	if s.Peek() != '"' {
		s.Fail("key", s.Token(), "a quoted key")
		return nil
	}
	k := s.Text()
	if s.Err == nil && s.Peek() != ':' {
		s.Fail("key", s.Token(), "a colon")
		return nil
	}
	s.i++
	return k
}

// End checks that nothing follows the value.
func (s *Scanner) End() {
	if s.space(); s.Err == nil && s.i < len(s.b) {
		s.Fail("line", s.Token(), "nothing after the object")
	}
}

// Null consumes a null and reports whether there was one.
func (s *Scanner) Null() bool {
	if s.Err == nil && s.Peek() == 'n' && bytes.HasPrefix(s.b[s.i:], []byte("null")) {
		s.i += 4
		return true
	}
	return false
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	if s.Err != nil {
		return false
	}
	s.space()
	switch rest := s.b[s.i:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		s.i += 4
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		s.i += 5
	default:
		s.Refuse("true or false")
	}
	return false
}

// Int reads a whole number of 64 bits from its text.
func (s *Scanner) Int() int64 {
	if s.Err != nil {
		return 0
	}
	s.space()
	const want = "a whole number of 64 bits"
	start, i := s.i, s.i
	neg := i < len(s.b) && s.b[i] == '-'
	if neg {
		i++
	}
	digits := i
	var v uint64
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		d := uint64(s.b[i] - '0')
		if v > (math.MaxUint64-d)/10 {
			s.Refuse(want)
			return 0
		}
		v = v*10 + d
		i++
	}
	if i == digits || s.b[digits] == '0' && i > digits+1 || i < len(s.b) && !delimits(s.b[i]) {
		s.Refuse(want)
		return 0
	}
	if neg && v > 1<<63 || !neg && v > math.MaxInt64 {
		s.i = start
		s.Refuse(want)
		return 0
	}
	s.i = i
	if neg {
		return -int64(v) // 1<<63 wraps to the smallest int64, as it should
	}
	return int64(v)
}

// Digits reads a number of up to 18 digits and nothing else, the usual case of Int; ok is
// false, and nothing is read, where something else stands.
func (s *Scanner) Digits() (v int64, ok bool) {
	if s.Err != nil {
		return 0, false
	}
	start := s.i
	if start < len(s.b) && s.b[start] == ' ' {
		start++
	}
	b := s.b[start:]
	for n, c := range b {
		if d := c - '0'; d <= 9 {
			v = v*10 + int64(d)
			continue
		}
		if n == 0 || n > 18 || n > 1 && b[0] == '0' || c != ',' && !delimits(c) {
			break
		}
		s.i = start + n
		return v, true
	}
	return 0, false
}

// Natural reads a whole number that is not negative.
func (s *Scanner) Natural() int64 {
	if s.Err != nil {
		return 0
	}
	s.space()
	at := s.i
	v := s.Int()
	if v < 0 {
		s.i = at
		s.Refuse("a whole number of at least 0")
	}
	return v
}

func delimits(b byte) bool {
	switch b {
	case ',', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// Float reads a JSON number.
func (s *Scanner) Float() float64 {
	s.space()
	at := s.i
	v, err := strconv.ParseFloat(string(s.Number()), 64)
	if err != nil {
		s.i = at
		s.Refuse("a number")
	}
	return v
}

// Number reads a JSON number and returns its text, which lies in the line.
func (s *Scanner) Number() []byte {
	if s.Err != nil {
		return nil
	}
	s.space()
	start := s.i
	s.number("a number")
	return s.b[start:s.i]
}

// Raw reads any JSON value and returns its bytes, which lie in the line.
func (s *Scanner) Raw() []byte {
	if s.Err != nil {
		return nil
	}
	s.space()
	start := s.i
	s.skip(0)
	if s.Err != nil {
		return nil
	}
	return s.b[start:s.i]
}

// skip checks and steps over any JSON value.
func (s *Scanner) skip(depth int) {
	if s.Err != nil {
		return
	}
	if depth > maxDepth {
		s.Fail(s.Field, "deeper nesting", "at most "+strconv.Itoa(maxDepth)+" levels")
		return
	}
	switch ch := s.Peek(); {
	case ch == '{':
		for ok := s.Open('{'); ok; ok = s.More('{') {
			s.Key()
			s.skip(depth + 1)
		}
	case ch == '[':
		for ok := s.Open('['); ok; ok = s.More('[') {
			s.skip(depth + 1)
		}
	case ch == '"':
		s.Text()
	case ch == 'n':
		if !s.Null() {
			s.Refuse("a JSON value")
		}
	case ch == 't' || ch == 'f':
		s.Bool()
	default:
		s.number("a JSON value")
	}
}

// number steps over a number of the JSON grammar: NaN and Infinity are not in it.
func (s *Scanner) number(want string) {
	i, ok := s.i, true
	digits := func() bool {
		at := i
		for i < len(s.b) && s.b[i]-'0' <= 9 {
			i++
		}
		return i > at
	}
	if i < len(s.b) && s.b[i] == '-' {
		i++
	}
	if i < len(s.b) && s.b[i] == '0' {
		i++
	} else {
		ok = digits()
	}
	if ok && i < len(s.b) && s.b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(s.b) && s.b[i]|0x20 == 'e' {
		i++
		if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok || i < len(s.b) && !delimits(s.b[i]) {
		s.Refuse(want)
		return
	}
	s.i = i
}

// Name reads a key into new memory.
func (s *Scanner) Name() string { return string(s.Key()) }
