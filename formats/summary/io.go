package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
)

// maxSize caps what Read takes, bytes. The columns of a million requests, the most
// that are written, come to about a quarter of it.
const maxSize = 1 << 30

// MaxRows caps the rows of the columns.
const MaxRows = 1 << 24

// Write writes s as indented JSON with a final newline. The same s gives the same
// bytes. Format and Version are filled in.
func Write(w io.Writer, s *Summary) error {
	out := *s
	out.Format, out.Version = Format, Version
	b, err := formats.EncodeJSON(&out)
	if err != nil {
		return fmt.Errorf("internal error: summary: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// Read reads one summary from r up to its end. place names r in errors, which are
// *formats.SyntaxError, *formats.VersionError or *formats.TruncatedError, or what r
// itself returned. The columns are not decoded; see DecodeColumns.
func Read(r io.Reader, place string) (*Summary, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &formats.TruncatedError{Place: place, Want: "the rest of the summary", Err: err}
	}
	if err != nil {
		return nil, err
	}
	if len(b) > maxSize {
		return nil, &formats.SyntaxError{Place: place, What: "size", Got: "more than 1 GiB", Want: "a summary"}
	}
	if err := version(b, place); err != nil {
		return nil, err
	}
	s := new(Summary)
	if err := formats.DecodeJSON(b, place, "summary", s); err != nil {
		return nil, err
	}
	if err := s.check(place); err != nil {
		return nil, err
	}
	return s, nil
}

// version looks at format and version alone, so that a summary of another version
// is called that and not a summary with unknown keys. Text that is no JSON is left
// to the strict decoder.
func version(b []byte, place string) error {
	var head struct {
		Format  json.RawMessage `json:"format"`
		Version json.RawMessage `json:"version"`
	}
	if json.Unmarshal(b, &head) != nil {
		return nil
	}
	var name string
	if json.Unmarshal(head.Format, &name) != nil || name != Format {
		return &formats.SyntaxError{Place: place, What: "format", Got: clip(string(head.Format)), Want: `"` + Format + `"`}
	}
	if string(head.Version) != "1" {
		return &formats.VersionError{Place: place, Got: clip(string(head.Version)), Want: "1"}
	}
	return nil
}

// check refuses values that no run has and that later arithmetic relies on.
func (s *Summary) check(place string) error {
	bad := func(what, got, want string) error {
		return &formats.SyntaxError{Place: place, What: what, Got: clip(got), Want: want}
	}
	if s.Window.ToNS < s.Window.FromNS {
		return bad("window.to_ns", fmt.Sprint(s.Window.ToNS), "at least from_ns")
	}
	for i, x := range s.Series {
		if x.StepNS <= 0 {
			return bad(fmt.Sprintf("series[%d].step_ns", i), fmt.Sprint(x.StepNS), "more than 0")
		}
	}
	for i, m := range s.Metrics {
		if m.N < 0 || m.Nulls < 0 {
			return bad(fmt.Sprintf("metrics[%d].n", i), fmt.Sprint(min(m.N, m.Nulls)), "at least 0")
		}
		for j, p := range m.Percentiles {
			if p.Level < 1 || p.Level > 1000 {
				return bad(fmt.Sprintf("metrics[%d].percentiles[%d].level", i, j), fmt.Sprint(p.Level), "thousandths, 1 to 1000")
			}
		}
	}
	if c := s.Columns; c != nil && (c.Rows < 0 || c.Rows > MaxRows) {
		return bad("columns.rows", fmt.Sprint(c.Rows), fmt.Sprintf("0 to %d", MaxRows))
	}
	return nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
