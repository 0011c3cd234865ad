package traces

import (
	"strconv"
	"unicode/utf8"

	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// members walks the JSON object of a row, for readers of JSON Lines. The zero value is
// ready.
type members struct {
	s       jsonl.Scanner
	seen    map[string]bool
	unknown []string // keys that no one read, valid until the next row
	runs    []schedule.Run
}

// each calls member for each key of line with the scanner in front of its value, in the
// order of the row. member returns false for a key that it does not know, whose value
// is then skipped. Keys of need must be there.
func (m *members) each(line []byte, need []string, member func(key string) bool) *jsonl.Fault {
	s := &m.s
	if !utf8.Valid(line) {
		return &jsonl.Fault{What: "row", Got: "bytes that are not UTF-8", Want: "a JSON object"}
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	clear(m.seen)
	m.unknown = m.unknown[:0]
	s.Reset(line)
	s.Field = "row"
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		if s.Err != nil {
			break
		}
		if m.seen[key] {
			s.Fail("key", key, "each key once")
		}
		m.seen[key] = true
		s.Field = key
		if !member(key) {
			s.Raw()
			m.unknown = append(m.unknown, key)
		}
	}
	s.End()
	for _, key := range need {
		if !m.seen[key] {
			s.Fail(key, "nothing", "this key on every row")
		}
	}
	return s.Err
}

// whole reads a whole number of at least least.
func (m *members) whole(least int64) int64 {
	s := &m.s
	if s.Err != nil {
		return 0
	}
	want := "a whole number of at least " + strconv.FormatInt(least, 10)
	text := s.Number()
	if s.Err != nil {
		s.Err.Want = want
		return 0
	}
	v, ok := whole(text)
	if !ok || v < least {
		s.Fail(s.Field, string(text), want)
	}
	return v
}

// seconds reads a time in s as ns.
func (m *members) seconds(g grain) (ns int64) {
	s := &m.s
	if s.Err != nil {
		return 0
	}
	const want = "a time in s of at least 0 and within 292 years"
	text := s.Number()
	if s.Err != nil {
		s.Err.Want = want
		return 0
	}
	ns, ok := seconds(text, g)
	if !ok || text[0] == '-' && len(parseDecimal(text).digits) > 0 {
		s.Fail(s.Field, string(text), want)
	}
	return ns
}

// ids reads a list of block ids as runs, valid until the next one, and their number.
func (m *members) ids() (runs []schedule.Run, n int64) {
	m.runs = m.runs[:0]
	for ok := m.s.Open('['); ok; ok = m.s.More('[') {
		m.runs = appendRun(m.runs, schedule.Run{m.whole(0), 1})
		n++
	}
	return m.runs, n
}

// text reads a string that is not empty.
func (m *members) text() string {
	v := m.s.Str()
	if v == "" {
		m.s.Fail(m.s.Field, "", "a text that is not empty")
	}
	return v
}
