package formats

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

type note struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Text    string  `json:"text"`
	Share   float64 `json:"share"`
}

var notes = Document[note]{Format: "hydrant-note", Version: 3, Noun: "note", MaxSize: 100}

func TestDocument(t *testing.T) {
	in := note{Format: "hydrant-note", Version: 3, Text: "a<b", Share: 0.25}
	var b bytes.Buffer
	if err := notes.Write(&b, &in); err != nil {
		t.Fatal(err)
	}
	out, err := notes.Read(iotest.OneByteReader(bytes.NewReader(b.Bytes())), "x")
	if err != nil || *out != in {
		t.Errorf("Read = %+v, %v; want %+v", out, err, in)
	}
	for i := range b.Len() {
		var cut *TruncatedError
		if v, err := notes.Read(bytes.NewReader(b.Bytes()[:i]), "x"); v != nil || !errors.As(err, &cut) {
			t.Errorf("cut to %d bytes: %v, %v; want a TruncatedError alone", i, v, err)
		}
	}
	if err := notes.Write(io.Discard, &note{Share: math.NaN()}); err == nil || !strings.HasPrefix(err.Error(), "internal error: note: ") {
		t.Errorf("Write of NaN: %v; want an internal error", err)
	}
	if err := notes.Write(full{}, &in); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Write to a full disk: %v; want its error", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestDocumentRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"format":"hydrant-run","version":3}` + "\n", `x: format: got "hydrant-run", want hydrant-note`},
		{`{"format":7,"version":3}` + "\n", `x: format: got "7", want hydrant-note`},
		{`{"version":3}` + "\n", `x: format: got "", want hydrant-note`},
		{`{"format":"` + strings.Repeat("n", 80) + `"}`, `x: format: got "` + strings.Repeat("n", 60) + `…", want hydrant-note`},
		{`{"format":"hydrant-note","version":4,"new":1}` + "\n", `x: version: got "4", want 3`},
		{`{"format":"hydrant-note"}` + "\n", `x: version: got "", want 3`},
		{`{"format":"hydrant-note","version":3,"new":1}` + "\n", `x: key: got "new", want a key of a note`},
		{`not JSON`, `x:1: text: got "ot JSON", want JSON: invalid character 'o' in literal null (expecting 'u')`},
		{`{"format":"hydrant-note","text":"` + strings.Repeat("n", 80), `x: size: got "more than 100 bytes", want a note`},
		{``, `x: truncated: got end of input, want the rest of the note`},
	} {
		if v, err := notes.Read(strings.NewReader(c.in), "x"); v != nil || err == nil || err.Error() != c.want {
			t.Errorf("Read(%q) = %v, %v; want %s", c.in, v, err, c.want)
		}
	}
	for _, c := range []struct {
		err error
		cut bool
	}{{io.ErrUnexpectedEOF, true}, {io.ErrClosedPipe, false}} {
		_, err := notes.Read(iotest.ErrReader(c.err), "x")
		var cut *TruncatedError
		if !errors.Is(err, c.err) || errors.As(err, &cut) != c.cut {
			t.Errorf("Read of a reader that fails with %v: %v; truncated must be %v", c.err, err, c.cut)
		}
	}
}
