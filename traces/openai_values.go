package traces

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"hydrant/formats/jsonl"
)

// object reads an object, or one that stands in a text.
func (m *members) object() json.RawMessage {
	s := &m.s
	if s.Err != nil || s.Null() {
		return nil
	}
	switch s.Peek() {
	case '{':
		return s.Raw()
	case '"':
		v, err := wholeObject(s.Str())
		if err != nil && s.Err == nil {
			s.Fail(s.Field, "a text that is no JSON object", "an object, or one as text")
		}
		return v
	}
	s.Refuse("an object, or one as text")
	return nil
}

// instant reads a time as ns: a number or ISO 8601.
func (m *members) instant() int64 {
	s := &m.s
	if s.Err != nil {
		return 0
	}
	const want = "a number of at least 0, or a time of ISO 8601, before 2262"
	if s.Peek() == '"' {
		text := s.Str()
		ns, ok := isoTime(text)
		if !ok {
			if isDecimal([]byte(text)) {
				ns, ok = epochTime([]byte(text))
			}
			if !ok {
				s.Fail(s.Field, text, want)
			}
		}
		return ns
	}
	field := s.Field
	text := s.Number()
	if s.Err != nil {
		s.Err.Want = want
		return 0
	}
	ns, ok := epochTime(text)
	if field == "timestamp_ms" {
		if ns, ok = milliseconds(text); ns < 0 {
			ok = false
		}
	}
	if !ok {
		s.Fail(field, string(text), want)
	}
	return ns
}

// milliseconds reads a duration in ms as ns.
func (m *members) milliseconds() int64 {
	s := &m.s
	text := s.Number()
	if s.Err != nil {
		return 0
	}
	ns, ok := milliseconds(text)
	if !ok || ns < 0 || text[0] == '-' && len(parseDecimal(text).digits) > 0 {
		s.Fail(s.Field, string(text), "a duration in ms of at least 0")
	}
	return ns
}

// name reads a text or a whole number as a name.
func (m *members) name() string {
	if m.s.Peek() == '"' {
		return m.text()
	}
	return fmt.Sprint(m.whole(math.MinInt64))
}

// nameAt returns the text or the number under a key, or at a path of keys with dots
// between them; "" when there is none.
func nameAt(v json.RawMessage, path string) string {
	if at := member(v, path); at != nil {
		return plainText(at)
	}
	for key := range strings.SplitSeq(path, ".") {
		v = member(v, key)
	}
	return plainText(v)
}

// plainText returns a JSON string or number as text, "" for anything else.
func plainText(v json.RawMessage) string {
	switch {
	case len(v) == 0:
		return ""
	case v[0] == '"':
		var s jsonl.Scanner
		s.Reset(v)
		return s.Str()
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return string(v)
	}
	return ""
}
