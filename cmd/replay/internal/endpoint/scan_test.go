package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var documents = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `1.5e-3`, `1E+2`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 , {"b":null} ] } `,
	`{"a":"é→😀\u00e9\ud83d\ude00\ud800x\n\"\\\/\b\f\r\t"}`, "{\"a\":\"\xff\xfe\"}",
	``, `{`, `}`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`, `{1:1}`,
	`01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e+`, `0x1`, `NaN`, `tru`, `nul`, `truex`, `{"a":1}x`, `{"a":1}{`, "\"a\nb\"", `"\x"`, `"\u12g4"`, `"\u+123"`, `"\u12`, `"abc`, `"\`,
	"\x00", "\ufeff{}", `{"a":1}]`, `[1}`, `{"a":1]`, strings.Repeat("[", 400) + strings.Repeat("]", 400),
}

// check compares the scanner's verdict and its view of strings with encoding/json.
func check(t *testing.T, in []byte) {
	t.Helper()
	var s scanner
	s.reset(in)
	s.skip()
	got := s.ok()
	if want := json.Valid(in); got != want {
		if bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) > maxDepth && !got {
			return // nested deeper than we follow
		}
		t.Fatalf("scanner takes %q: %t; encoding/json: %t", in, got, want)
	}
	if in = bytes.TrimSpace(in); !got || len(in) == 0 || in[0] != '"' {
		return
	}
	var want string
	if err := json.Unmarshal(in, &want); err != nil {
		t.Fatal(err)
	}
	s.reset(in)
	text := unquote(nil, s.str())
	if string(text) != want {
		t.Fatalf("unquote(%q) = %q; want %q", in, text, want)
	}
	quoted := append(quote([]byte{'"'}, text), '"')
	var again string
	if err := json.Unmarshal(quoted, &again); err != nil || again != want {
		t.Fatalf("quote(%q) = %q, which reads as %q, %v", text, quoted, again, err)
	}
}

func TestScannerAgreesWithJSON(t *testing.T) {
	for _, d := range documents {
		check(t, []byte(d))
		if !strings.HasPrefix(d, `"`) && utf8.ValidString(d) {
			check(t, append(quote([]byte{'"'}, []byte(d)), '"'))
		}
	}
}

func TestScannerDepth(t *testing.T) {
	for _, c := range []struct {
		n    int
		want bool
	}{{maxDepth, true}, {maxDepth + 1, false}, {1 << 20, false}} {
		var s scanner
		s.reset([]byte(strings.Repeat("[", c.n) + strings.Repeat("]", c.n)))
		s.skip()
		if s.ok() != c.want {
			t.Errorf("%d levels: %t; want %t", c.n, s.ok(), c.want)
		}
	}
}

func TestCount(t *testing.T) {
	for in, want := range map[string]int64{
		`0`: 0, `12`: 12, `12.0`: 12, `1.2e1`: 12, `9007199254740993`: 9007199254740993,
		`-1`: -1, `1.5`: -1, `"12"`: -1, `null`: -1, `{}`: -1, `1e300`: -1, `99999999999999999999`: -1,
	} {
		var s scanner
		s.reset([]byte(in))
		got, ok := s.count()
		if !ok {
			got = -1
		}
		if got != want || !s.ok() {
			t.Errorf("count(%s) = %d, well formed %t; want %d", in, got, s.ok(), want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(check)
}
