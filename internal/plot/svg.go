package plot

import (
	"bytes"
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// canvas gathers the text of one drawing.
type canvas struct{ b bytes.Buffer }

// put writes markup as it is, with numbers shortened to a tenth.
func (c *canvas) put(parts ...any) {
	for _, p := range parts {
		switch v := p.(type) {
		case string:
			c.b.WriteString(v)
		case float64:
			c.b.WriteString(short(v))
		case int:
			c.b.WriteString(strconv.Itoa(v))
		}
	}
}

// say writes text from anywhere.
func (c *canvas) say(s string) { c.b.WriteString(Escape(s)) }

// short writes a coordinate.
func short(v float64) string {
	s := strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	if s == "-0" {
		return "0"
	}
	return s
}

// Escape makes text from anywhere safe in markup, between tags and in quoted
// attributes. What XML cannot carry, and what turns the order of letters, is replaced.
func Escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return '?'
		}
		return r
	}, s)
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic("internal error: writing to memory: " + err.Error())
	}
	return b.String()
}

// width estimates how wide a text of a size in px is drawn: no font is at hand.
func width(s string, size float64) float64 {
	n := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune(" .,:·|'il", r):
			n += 0.32
		case unicode.IsUpper(r) || r == 'm' || r == 'w' || r == '%':
			n += 0.78
		default:
			n += 0.6
		}
	}
	return n * size
}

// clip shortens a text to a width in px.
func clip(s string, size, most float64) string {
	if width(s, size) <= most {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && width(string(r)+"…", size) > most {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}
