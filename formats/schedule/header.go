package schedule

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// parseHeader reads the object under the key "schedule". A version this build does
// not know is reported before any of its keys is judged.
func parseHeader(inner []byte, place string) (Header, error) {
	if err := checkVersion(inner, place); err != nil {
		return Header{}, err
	}
	var h Header
	var s jsonl.Scanner
	s.Reset(inner)
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(&s, seen, key)
		s.Field = "schedule." + key
		switch key {
		case "format":
			h.Format = s.Str()
		case "version":
			h.Version = int(s.Natural())
		case "build":
			h.Build = s.Str()
		case "args":
			h.Args = readList(&s, func() string { return s.Str() })
		case "sources":
			h.Sources = readList(&s, func() Source { return readSource(&s) })
		case "seed":
			h.Seed = s.Int()
		case "block":
			if !s.Null() {
				h.Block = readBlock(&s)
			}
		case "transforms":
			h.Transforms = readList(&s, func() Transform { return readTransform(&s) })
		case "quantum_ns":
			h.QuantumNS = s.Natural()
		case "edited":
			h.Edited = s.Bool()
		default:
			s.Fail("key", s.Field, "a key of docs/formats/schedule.md")
		}
	}
	s.End()
	return h, syntax(place, s.Err)
}

// checkVersion looks at format and version alone.
func checkVersion(inner []byte, place string) error {
	var s jsonl.Scanner
	s.Reset(inner)
	format, version := "", int64(-1)
	for ok := s.Open('{'); ok; ok = s.More('{') {
		switch key := s.Name(); key {
		case "format":
			s.Field = "schedule.format"
			format = s.Str()
		case "version":
			s.Field = "schedule.version"
			version = s.Natural()
		default:
			s.Field = key
			s.Raw()
		}
	}
	s.End()
	switch {
	case s.Err != nil:
		return syntax(place, s.Err)
	case format != Format:
		return &formats.VersionError{Place: place, Got: format, Want: Format + " version 1"}
	case version < 0:
		return &formats.SyntaxError{Place: place, What: "schedule.version", Got: "nothing", Want: "1"}
	case version != Version:
		return &formats.VersionError{Place: place, Got: strconv.FormatInt(version, 10), Want: Format + " version 1"}
	}
	return nil
}

func readSource(s *jsonl.Scanner) (v Source) {
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(s, seen, key)
		s.Field = "schedule.sources." + key
		switch key {
		case "name":
			v.Name = s.Str()
		case "format":
			v.Format = s.Str()
		case "licence":
			v.Licence = s.Str()
		case "url":
			v.URL = s.Str()
		default:
			s.Fail("key", s.Field, "name, format, licence or url")
		}
	}
	return v
}

func readBlock(s *jsonl.Scanner) *Block {
	b := &Block{}
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(s, seen, key)
		s.Field = "schedule.block." + key
		switch key {
		case "tokens":
			b.Tokens = s.Natural()
		case "last":
			b.Last = s.Str()
		default:
			s.Fail("key", s.Field, "tokens or last")
		}
	}
	if b.Tokens < 1 {
		s.Fail("schedule.block.tokens", strconv.FormatInt(b.Tokens, 10), "at least 1")
	}
	if b.Last != Partial && b.Last != Absent {
		s.Fail("schedule.block.last", b.Last, `"partial" or "absent"`)
	}
	return b
}

func readTransform(s *jsonl.Scanner) (t Transform) {
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(s, seen, key)
		s.Field = "schedule.transforms." + key
		switch key {
		case "name":
			t.Name = s.Str()
		case "params":
			t.Params = map[string]string{}
			if s.Null() {
				continue
			}
			for ok := s.Open('{'); ok; ok = s.More('{') {
				name := s.Name()
				s.Field = "schedule.transforms.params." + name
				if _, repeated := t.Params[name]; repeated {
					s.Fail("key", s.Field, "each key once")
				}
				t.Params[name] = s.Str()
			}
		default:
			s.Fail("key", s.Field, "name or params")
		}
	}
	return t
}

// readList reads a list, or null as an empty one.
func readList[T any](s *jsonl.Scanner, item func() T) []T {
	if s.Null() {
		return nil
	}
	var list []T
	for ok := s.Open('['); ok; ok = s.More('[') {
		list = append(list, item())
	}
	return list
}

func once(s *jsonl.Scanner, seen map[string]bool, key string) {
	if seen[key] {
		s.Fail("key", key, "each key once")
	}
	seen[key] = true
}

// syntax gives a fault its place.
func syntax(place string, f *jsonl.Fault) error {
	if f == nil {
		return nil
	}
	return &formats.SyntaxError{Place: place, What: f.What, Got: f.Got, Want: f.Want}
}

// envelope returns what a line is: its one key when that is "schedule" or "end",
// with the bytes of the value, or "" for every other line.
func envelope(line []byte) (kind string, inner []byte, _ *jsonl.Fault) {
	var s jsonl.Scanner
	s.Reset(line)
	if s.Peek() != '{' || !s.Open('{') {
		return "", nil, nil
	}
	switch key := s.Key(); string(key) {
	case "schedule":
		kind = "schedule"
	case "end":
		kind = "end"
	default:
		return "", nil, nil
	}
	if !utf8.Valid(line) {
		s.Fail(kind, "bytes that are not UTF-8", "UTF-8 text")
	}
	s.Field = kind
	inner = s.Raw()
	if s.More('{') {
		s.Fail("key", string(s.Key()), "nothing beside "+strconv.Quote(kind))
	}
	s.End()
	return kind, inner, s.Err
}

// wrap encodes v as the one value of an object: the form of header and trailer.
func wrap(kind string, v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString(`{"` + kind + `":`)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	buf.Truncate(buf.Len() - 1) // the encoder's newline
	buf.WriteString("}\n")
	return buf.Bytes(), nil
}
