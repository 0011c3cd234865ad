package jsonl

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Str reads a string into new memory.
func (s *Scanner) Str() string { return string(s.Text()) }

// Text reads a string. The bytes are valid until the next string is read.
func (s *Scanner) Text() []byte {
	if s.Err != nil {
		return nil
	}
	if s.Peek() != '"' {
		s.Refuse("a string")
		return nil
	}
	start := s.i + 1
	for i := start; i < len(s.b); i++ {
		switch ch := s.b[i]; {
		case ch == '"':
			s.i = i + 1
			return s.b[start:i]
		case ch == '\\':
			return s.unescape(start, i)
		case ch < 0x20:
			s.Fail(s.Field, strconv.QuoteRune(rune(ch)), "control characters escaped")
			return nil
		}
	}
	s.Fail(s.Field, EndOfLine, "a string with its end quote")
	return nil
}

// unescape reads the rest of a string whose first backslash is at i.
func (s *Scanner) unescape(start, i int) []byte {
	out := append(s.scratch[:0], s.b[start:i]...)
	for i < len(s.b) {
		ch := s.b[i]
		switch {
		case ch == '"':
			s.i = i + 1
			s.scratch = out
			return out
		case ch < 0x20:
			s.Fail(s.Field, strconv.QuoteRune(rune(ch)), "control characters escaped")
			return nil
		case ch != '\\':
			out = append(out, ch)
			i++
			continue
		}
		if i+1 >= len(s.b) {
			break
		}
		if plain := bytes.IndexByte([]byte(`"\/bfnrt`), s.b[i+1]); plain >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[plain])
			i += 2
			continue
		}
		r, n := escaped(s.b[i:])
		if n == 0 {
			s.Fail(s.Field, string(s.b[i:min(i+6, len(s.b))]), "a valid escape")
			return nil
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	s.Fail(s.Field, EndOfLine, "a string with its end quote")
	return nil
}

// escaped decodes \uXXXX, or a pair of surrogates; n is 0 when it is neither.
func escaped(b []byte) (r rune, n int) {
	r = hex4(b)
	switch {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if r = utf16.DecodeRune(r, hex4(b[6:])); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 reads \uXXXX, −1 when b does not start with one.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, ch := range b[2:6] {
		switch {
		case ch >= '0' && ch <= '9':
			r = r<<4 | rune(ch-'0')
		case ch|0x20 >= 'a' && ch|0x20 <= 'f':
			r = r<<4 | rune(ch|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// AppendString appends s as a JSON string: quotes, backslashes and control
// characters escaped, everything else as it is, so that equal strings give equal
// bytes in every build. s must be valid UTF-8.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0
	for plain < len(s) && s[plain] >= 0x20 && s[plain] != '"' && s[plain] != '\\' {
		plain++
	}
	dst = append(dst, s[:plain]...)
	for i := plain; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			dst = append(dst, '\\', ch)
		case ch == '\n':
			dst = append(dst, '\\', 'n')
		case ch == '\t':
			dst = append(dst, '\\', 't')
		case ch == '\r':
			dst = append(dst, '\\', 'r')
		case ch < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			dst = append(dst, ch)
		}
	}
	return append(dst, '"')
}
