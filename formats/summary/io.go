package summary

import (
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
// itself returned. The columns are not decoded; see Summary.Decode.
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
