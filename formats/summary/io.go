package summary

import (
	"fmt"
	"io"

	"hydrant/formats"
)

// document caps what Read takes at 1 GiB. The columns of a million requests, the most
// that are written, come to about a quarter of it.
var document = formats.Document[Summary]{Format: Format, Version: Version, Noun: "summary", MaxSize: 1 << 30}

// MaxRows caps the rows of the columns.
const MaxRows = 1 << 24

// Write writes s as indented JSON with a final newline. The same s gives the same
// bytes. Format and Version are filled in. NaN and infinity are an error.
func Write(w io.Writer, s *Summary) error {
	out := *s
	out.Format, out.Version = Format, Version
	return document.Write(w, &out)
}

// Read reads one summary from r up to its end. place names r in errors, which are
// *formats.SyntaxError, *formats.VersionError or *formats.TruncatedError, or what r
// itself returned. The columns are not decoded; see DecodeColumns.
func Read(r io.Reader, place string) (*Summary, error) {
	s, err := document.Read(r, place)
	if err == nil {
		err = s.check(place)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// check refuses values that no run has and that later arithmetic relies on.
func (s *Summary) check(place string) error {
	bad := func(what, got, want string) error {
		return &formats.SyntaxError{Place: place, What: what, Got: formats.Clip(got), Want: want}
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
