package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Document is a format of which a file holds one JSON object, T, with the keys
// "format" and "version". Its text is strict: the same value gives the same bytes, and
// a reader takes nothing that the type does not have.
type Document[T any] struct {
	Format  string // what the key "format" says
	Version int    // the version that this build writes and reads
	Noun    string // names the document in errors
	MaxSize int64  // of the text, bytes; a longer one is refused
}

// Write writes v as indented JSON with a final newline. The caller has filled in
// format and version. NaN and infinity are an error.
func (d Document[T]) Write(w io.Writer, v *T) error {
	b, err := encodeJSON(v)
	if err != nil {
		return fmt.Errorf("internal error: %s: %w", d.Noun, err)
	}
	_, err = w.Write(b)
	return err
}

// Read reads one document from r up to its end. place names r in errors, which are
// *SyntaxError, *VersionError or *TruncatedError, or what r itself returned. Keys that
// this version does not know, missing keys, repeated keys and bytes after the document
// are syntax errors; a document without its final newline is truncated.
func (d Document[T]) Read(r io.Reader, place string) (*T, error) {
	b, err := io.ReadAll(io.LimitReader(r, d.MaxSize+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &TruncatedError{Place: place, Want: "the rest of the " + d.Noun, Err: err}
	}
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > d.MaxSize {
		return nil, &SyntaxError{Place: place, What: "size", Got: fmt.Sprintf("more than %d bytes", d.MaxSize), Want: "a " + d.Noun}
	}
	if err := d.version(b, place); err != nil {
		return nil, err
	}
	v := new(T)
	if err := decodeJSON(b, place, d.Noun, v); err != nil {
		return nil, err
	}
	return v, nil
}

// version looks at format and version alone, so that a document of another version is
// called that and not one with unknown keys. Text that is no JSON is left to the strict
// decoder.
func (d Document[T]) version(b []byte, place string) error {
	var head struct {
		Format  json.RawMessage `json:"format"`
		Version json.RawMessage `json:"version"`
	}
	if json.Unmarshal(b, &head) != nil {
		return nil
	}
	var name string
	if json.Unmarshal(head.Format, &name) != nil {
		name = string(head.Format)
	}
	if name != d.Format {
		return &SyntaxError{Place: place, What: "format", Got: Clip(name), Want: d.Format}
	}
	if want := strconv.Itoa(d.Version); string(head.Version) != want {
		return &VersionError{Place: place, Got: Clip(string(head.Version)), Want: want}
	}
	return nil
}
