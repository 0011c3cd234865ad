package jsonl

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func scan(text string) *Scanner {
	var s Scanner
	s.Reset([]byte(text))
	return &s
}

func TestInt(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "7", "-7", "9223372036854775807", "-9223372036854775808", "9007199254740993", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
		"99999999999999999999", "00", "01", "-01", "-", "", "+1", "1.0", "1e3", "0x1", "NaN", "1a", `"1"`, "null", "true", "1_000", "１",
	} {
		s := scan(text)
		got := s.Int()
		s.End()
		want, err := strconv.ParseInt(text, 10, 64)
		ok := err == nil && json.Valid([]byte(text))
		if (s.Err == nil) != ok || ok && got != want {
			t.Errorf("Int(%q) = %d, %v; want %d, accepted %v", text, got, s.Err, want, ok)
		}
	}
	if s := scan("-1"); s.Natural() != -1 || s.Err == nil || s.Err.Got != "-1" {
		t.Errorf("Natural(-1): %v; want it refused by name", s.Err)
	}
}

func TestErrorsStayShort(t *testing.T) {
	var s Scanner
	s.Fail("model", strings.Repeat("é", 1000), "a name")
	s.Fail("model", "later", "the first to stay")
	if got := s.Err.Got; got != strings.Repeat("é", maxGot/2)+"…" {
		t.Errorf("got %q; want %d bytes of it", got, maxGot)
	}
}

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{"0.25": 0.25, "-1e-3": -0.001, "12": 12, " 5E+2 ": 500} {
		if s := scan(text); s.Float() != want || s.Err != nil {
			t.Errorf("Float(%q): %v; want %v", text, s.Err, want)
		}
	}
	for _, text := range []string{"1e999", "-1e999", ".5", "5.", "1e", "NaN", "Infinity", "-", "0x1p3", "[]"} {
		if s := scan(text); s.Float() != math.Inf(1) && s.Err == nil {
			t.Errorf("Float(%q): accepted", text)
		}
	}
}

// Strings are those of encoding/json, but for what it repairs in silence.
func TestText(t *testing.T) {
	for _, text := range []string{
		`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"é \u00e9 \u0000"`, `"\ud83d\ude00"`, `"a\u2028b"`, "\"\u2028\"", `"\uD83D\uDE00x"`, `"/"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		s := scan(text)
		if got := s.Str(); got != want || s.Err != nil {
			t.Errorf("Str(%s) = %q, %v; want %q", text, got, s.Err, want)
		}
		back := AppendString(nil, want)
		var again string
		if err := json.Unmarshal(back, &again); err != nil || again != want {
			t.Errorf("AppendString(%q) = %s, which reads %q, %v", want, back, again, err)
		}
	}
	for _, text := range []string{`"`, `"a`, `"\`, `"\u12"`, `"\u12g4"`, `"\x"`, `"\ud800"`, `"\ud800\ud800"`, `"\udc00"`, "\"a\nb\"", "\"\\n\x00\"", `a`, `'a'`} {
		if s := scan(text); s.Str() != "" && s.Err == nil || s.Err == nil {
			t.Errorf("Str(%q): accepted", text)
		}
	}
}

// Raw takes what encoding/json calls valid, and nothing else.
func TestRaw(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` [ 1 , {"a" : null , "b":[true,false]} ] `, `-0.5e+7`, `"x"`, `nul`, `nulll`, `tru`, `truex`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`,
		`[1 2]`, `{"a":1 "b":2}`, `[`, `{`, `]`, `01`, `1.`, `-`, `+1`, `NaN`, `[NaN]`, `{"a":1}}`, ``, `"\u12"`, `1 2`, `{"a":1,"a":2}`,
	} {
		s := scan(text)
		raw := s.Raw()
		s.End()
		if want := json.Valid([]byte(text)); (s.Err == nil) != want {
			t.Errorf("Raw(%q): %v; want accepted %v", text, s.Err, want)
		} else if want && string(raw) != strings.TrimSpace(text) {
			t.Errorf("Raw(%q) = %q", text, raw)
		}
	}
	deep := strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2)
	if s := scan(deep); s.Raw() != nil || s.Err == nil {
		t.Error("deep nesting: accepted")
	}
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte(`{"a":[1,-2.5e3,"\u00e9\n",null,true,{}]}`))
	f.Add([]byte("[\"\\ud83d\\ude00\", \"\\ud800\"]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Scanner
		s.Reset(text)
		s.Raw()
		s.End()
		if s.Err == nil && !json.Valid(text) {
			t.Fatalf("Raw(%q): accepted what is not JSON", text)
		}
		if s.Err != nil && json.Valid(text) && !strings.Contains(s.Err.Want, "escape") && !strings.Contains(s.Err.Want, "levels") {
			t.Fatalf("Raw(%q): %v; want it accepted", text, s.Err)
		}
	})
}

func TestLines(t *testing.T) {
	text := "one\n\n" + strings.Repeat("x", 200_000) + "\r\nlast"
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)), "data with the end": iotest.DataErrReader(strings.NewReader(text)),
	} {
		l := NewLines(r)
		for i, want := range strings.SplitAfter(text, "\n")[:3] {
			line, err := l.Next()
			if err != nil || string(line) != want || l.Number() != int64(i+1) {
				t.Fatalf("%s: line %d = %d bytes, number %d, %v; want %d bytes", name, i+1, len(line), l.Number(), err, len(want))
			}
		}
		if _, err := l.Next(); err != ErrNoNewline {
			t.Fatalf("%s: %v; want ErrNoNewline", name, err)
		}
		if rest := l.Rest(); string(rest) != "last" || l.Number() != 4 {
			t.Fatalf("%s: rest = %q, number %d", name, rest, l.Number())
		}
		if _, err := l.Next(); err != io.EOF {
			t.Fatalf("%s: %v; want io.EOF", name, err)
		}
	}
	broken := errors.New("broken")
	l := NewLines(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if line, err := l.Next(); string(line) != "a\n" || err != nil {
		t.Errorf("before the error: %q, %v", line, err)
	}
	if _, err := l.Next(); err != broken {
		t.Errorf("error = %v; want that of the stream", err)
	}
	if _, err := NewLines(iotest.ErrReader(nil)).Next(); err != io.ErrNoProgress {
		t.Errorf("a reader that reads nothing: %v; want io.ErrNoProgress", err)
	}
}

// Digits reads what Int reads of plain numbers, and leaves everything else where it is.
func TestDigits(t *testing.T) {
	for text, want := range map[string]int64{
		"0,": 0, " 17]": 17, "999999999999999999}": 999999999999999999, "5 ": 5,
		"": -1, "07,": -1, "-1,": -1, "1.5,": -1, "1e3,": -1, "12": -1, "1234567890123456789,": -1, "null": -1, "a": -1,
	} {
		var s Scanner
		s.Reset([]byte(text))
		v, ok := s.Digits()
		if ok != (want >= 0) || ok && v != want {
			t.Errorf("Digits of %q = %d, %t; want %d", text, v, ok, want)
		}
		if ok && (s.Peek() == 0) != (text == "5 ") || !ok && s.i != 0 {
			t.Errorf("Digits of %q left the cursor at %d", text, s.i)
		}
	}
}
