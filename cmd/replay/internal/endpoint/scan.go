package endpoint

import (
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a document: the scanner calls itself per level.
const maxDepth = 512

// A scanner walks one JSON document once, without copies. It checks the syntax of
// everything it passes, also of what it skips, so that a document that ends with ok
// is one that encoding/json accepts. After a fault every method returns zero values
// and every loop ends.
//
// Note: it stands in for encoding/json, which takes about six times as long on a
// chunk of a stream and matches keys in any letter case. A fuzz test holds the two
// together.
type scanner struct {
	b     []byte
	i     int
	depth int
	first bool // no element of the innermost container has been read yet
	bad   bool
}

func (s *scanner) reset(b []byte) { *s = scanner{b: b} }

func (s *scanner) fail() {
	s.bad = true
	s.i = len(s.b)
}

// ok reports whether the document was well formed and nothing follows it.
func (s *scanner) ok() bool {
	s.space()
	return !s.bad && s.i == len(s.b)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// peek returns the first byte of the next value, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// open enters the container that begins with c, '{' or '['.
func (s *scanner) open(c byte) {
	if s.peek() != c || s.depth == maxDepth {
		s.fail()
		return
	}
	s.i++
	s.depth++
	s.first = true
}

// more reports whether another element follows before the end of the container,
// which is c, '}' or ']'; at the end it leaves the container.
func (s *scanner) more(c byte) bool {
	switch s.peek() {
	case c:
		s.i++
		s.depth--
		s.first = false
		return false
	case ',':
		if s.first {
			s.fail()
			return false
		}
		s.i++
		s.space()
	case 0:
		s.fail()
		return false
	default:
		if !s.first {
			s.fail()
			return false
		}
	}
	s.first = false
	return true
}

// key reads the name of the next member and its colon, without undoing escapes.
func (s *scanner) key() []byte {
	k := s.str()
	if s.peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	return k
}

// str reads a string and returns what stands between its quotes, escapes and all.
func (s *scanner) str() []byte {
	if s.peek() != '"' {
		s.fail()
		return nil
	}
	b, i := s.b, s.i+1 // in registers: this loop sees most bytes of a stream
	from := i
	for i < len(b) {
		switch c := b[i]; {
		case c > '\\' || c >= ' ' && c != '"' && c != '\\':
			i++
		case c == '"':
			s.i = i + 1
			return b[from:i]
		case c == '\\':
			if s.i = i; !s.escape() {
				s.fail()
				return nil
			}
			i = s.i
		default:
			s.fail()
			return nil
		}
	}
	s.fail()
	return nil
}

// escape passes one escape sequence.
func (s *scanner) escape() bool {
	if s.i+1 >= len(s.b) {
		return false
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
		if s.i+6 > len(s.b) {
			return false
		}
		if _, err := strconv.ParseUint(string(s.b[s.i+2:s.i+6]), 16, 16); err != nil {
			return false
		}
		s.i += 6
		return true
	}
	return false
}

// raw passes any value and returns its text.
func (s *scanner) raw() []byte {
	s.space()
	from := s.i
	s.skip()
	if s.bad {
		return nil
	}
	return s.b[from:s.i]
}

// skip passes any value.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		for s.open('{'); s.more('}'); {
			s.key()
			s.skip()
		}
	case '[':
		for s.open('['); s.more(']'); {
			s.skip()
		}
	case '"':
		s.str()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

func (s *scanner) word(w string) {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		s.fail()
		return
	}
	s.i += len(w)
}

// number passes a number by the grammar of RFC 8259 and returns its text.
func (s *scanner) number() []byte {
	from := s.i
	if s.at('-') {
		s.i++
	}
	if s.at('0') {
		s.i++
	} else if !s.digits() {
		s.fail()
		return nil
	}
	if s.at('.') {
		s.i++
		if !s.digits() {
			s.fail()
			return nil
		}
	}
	if s.at('e') || s.at('E') {
		s.i++
		if s.at('+') || s.at('-') {
			s.i++
		}
		if !s.digits() {
			s.fail()
			return nil
		}
	}
	return s.b[from:s.i]
}

func (s *scanner) at(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

// text reads a string; of any other value it says false.
func (s *scanner) text() ([]byte, bool) {
	if s.peek() != '"' {
		s.skip()
		return nil, false
	}
	return s.str(), !s.bad
}

// count reads a whole number of at least 0; of any other value it says false.
func (s *scanner) count() (int64, bool) {
	if c := s.peek(); c < '0' || c > '9' {
		s.skip()
		return 0, false
	}
	n := s.number()
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return v, !s.bad
	}
	// some servers count in floats: 12.0
	v, err := strconv.ParseFloat(string(n), 64)
	if err != nil || v != float64(int64(v)) || v > 1<<53 {
		return 0, false
	}
	return int64(v), !s.bad
}

// unquote appends the text of a JSON string, given between its quotes and known to be
// well formed: escapes are undone, a byte that is not UTF-8 becomes U+FFFD.
func unquote(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\':
			switch raw[i+1] {
			case 'u':
				r, n := unquoteRune(raw[i:])
				dst = utf8.AppendRune(dst, r)
				i += n
				continue
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			default:
				c = raw[i+1]
			}
			dst = append(dst, c)
			i += 2
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

// unquoteRune reads \uXXXX, or two of them that are a surrogate pair, and returns how
// many bytes they take; a lone surrogate is U+FFFD.
func unquoteRune(raw []byte) (rune, int) {
	hex := func(b []byte) rune {
		v, _ := strconv.ParseUint(string(b), 16, 16)
		return rune(v)
	}
	r := hex(raw[2:6])
	if r < 0xD800 || r > 0xDFFF {
		return r, 6
	}
	if r < 0xDC00 && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if low := hex(raw[8:12]); low >= 0xDC00 && low <= 0xDFFF {
			return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, 12
		}
	}
	return utf8.RuneError, 6
}

const hexDigits = "0123456789abcdef"

// quote appends s as the inside of a JSON string; a byte that is not UTF-8 becomes U+FFFD.
func quote(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			i++
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}
