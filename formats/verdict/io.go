package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"hydrant/formats"
)

// maxSize caps what Read takes: a verdict holds no rows, a megabyte would be large.
const maxSize = 64 << 20

// Write writes v as indented JSON with a final newline. The same v gives the same
// bytes. Format and Version are filled in. NaN and infinity are an error.
func Write(w io.Writer, v *Verdict) error {
	out := *v
	out.Format, out.Version = Format, Version
	b, err := formats.EncodeJSON(&out)
	if err != nil {
		return fmt.Errorf("internal error: verdict: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// Read reads one verdict from r up to its end. place names r in errors, which are
// *formats.SyntaxError, *formats.VersionError or *formats.TruncatedError, or what r
// itself returned. Keys that this version does not know, missing keys, repeated keys
// and bytes after the verdict are syntax errors; a verdict without its final newline
// is truncated.
func Read(r io.Reader, place string) (*Verdict, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &formats.TruncatedError{Place: place, Want: "the rest of the verdict", Err: err}
	}
	if err != nil {
		return nil, err
	}
	if len(b) > maxSize {
		return nil, &formats.SyntaxError{Place: place, What: "size", Got: "more than 64 MiB", Want: "a verdict"}
	}
	if err := version(b, place); err != nil {
		return nil, err
	}
	v := new(Verdict)
	if err := formats.DecodeJSON(b, place, "verdict", v); err != nil {
		return nil, err
	}
	if err := v.check(place); err != nil {
		return nil, err
	}
	return v, nil
}

// version looks at format and version alone, so that a verdict of another version is
// called that and not a verdict with unknown keys. Text that is no JSON is left to
// the strict decoder.
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
		return &formats.SyntaxError{Place: place, What: "format", Got: clip(string(head.Format)), Want: Format}
	}
	if string(head.Version) != "1" {
		return &formats.VersionError{Place: place, Got: clip(string(head.Version)), Want: "1"}
	}
	return nil
}

// check refuses words that no verdict of this version says.
func (v *Verdict) check(place string) (err error) {
	want := func(what, got string, words ...string) {
		if err == nil && !slices.Contains(words, got) {
			err = &formats.SyntaxError{Place: place, What: what, Got: clip(got), Want: fmt.Sprintf("one of %v", words)}
		}
	}
	want("harness", v.Harness, Valid, Invalid)
	want("slo", v.SLO, Pass, Fail, Inconclusive, None)
	want("tier", v.Tier, "T0", "T1", "T2", "T3")
	for i, c := range v.Checks {
		want(fmt.Sprintf("checks[%d].status", i), c.Status, OK, Warn, Bad, Unknown)
		for j, t := range c.Terms {
			want(fmt.Sprintf("checks[%d].terms[%d].status", i, j), t.Status, OK, Warn, Bad, Unknown, NotApplicable)
		}
	}
	for i, o := range v.Objectives {
		want(fmt.Sprintf("objectives[%d].result", i), o.Result, Pass, Fail, Inconclusive)
	}
	return err
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
