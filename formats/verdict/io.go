package verdict

import (
	"fmt"
	"io"
	"slices"

	"hydrant/formats"
)

// document caps what Read takes: a verdict holds no rows, a megabyte would be large.
var document = formats.Document[Verdict]{Format: Format, Version: Version, Noun: "verdict", MaxSize: 64 << 20}

// Write writes v as indented JSON with a final newline. The same v gives the same
// bytes. Format and Version are filled in. NaN and infinity are an error.
func Write(w io.Writer, v *Verdict) error {
	out := *v
	out.Format, out.Version = Format, Version
	return document.Write(w, &out)
}

// Read reads one verdict from r up to its end. place names r in errors, which are
// *formats.SyntaxError, *formats.VersionError or *formats.TruncatedError, or what r
// itself returned.
func Read(r io.Reader, place string) (*Verdict, error) {
	v, err := document.Read(r, place)
	if err == nil {
		err = v.check(place)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// check refuses words that no verdict of this version says.
func (v *Verdict) check(place string) (err error) {
	want := func(what, got string, words ...string) {
		if err == nil && !slices.Contains(words, got) {
			err = &formats.SyntaxError{Place: place, What: what, Got: formats.Clip(got), Want: fmt.Sprintf("one of %v", words)}
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
		if o.Invariance != nil {
			want(fmt.Sprintf("objectives[%d].invariance.status", i), o.Invariance.Status, OK, Warn, Bad)
		}
	}
	if v.AFortiori != nil {
		want("a_fortiori.slo", v.AFortiori.SLO, Pass, Fail)
	}
	return err
}
