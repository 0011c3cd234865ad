package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	ucli "github.com/urfave/cli/v2"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
)

// difference is what two schedules do not have in common.
type difference struct {
	first  *formats.SyntaxError // the first of the header and the request lines; nil: none
	end    *formats.SyntaxError // of the trailers; nil: none
	source *formats.SyntaxError // of what the sources are; nil: none
	lines  string               // SHA-256 of the request lines of the one given, hex
	build  string               // that made the other
}

// errDifferent says that a comparison is over before the end.
var errDifferent = errors.New("different")

// compare compares a schedule with one that r yields.
func (s *sealed) compare(c *ucli.Context, r io.Reader) (d *difference, err error) {
	in, err := unpack(c, common{}, s.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	made, _, err := codec.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	d = &difference{}
	sum := sha256.New()
	got, want := jsonl.NewLines(in), jsonl.NewLines(made)
	for {
		line, err := got.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.place, err) // it was whole before
		}
		other, err := want.Next()
		if err != nil {
			return nil, err
		}
		place := s.place + ":" + strconv.FormatInt(got.Number(), 10)
		switch a, b := inside("end", line), inside("end", other); {
		case got.Number() == 1:
			if err := d.headers(place, inside("schedule", line), inside("schedule", other)); err != nil {
				return nil, err
			}
		case a != nil && b != nil:
			d.lines = hex.EncodeToString(sum.Sum(nil))
			return d, d.trailers(place, a, b)
		case a == nil && b == nil:
			sum.Write(line)
			if d.first == nil && !bytes.Equal(line, other) {
				d.first = differing(place, "", line, other)
			}
		default:
			return d, d.lengths(s, place, want, a, b)
		}
	}
}

// inside returns the object of a line whose one key is kind, nil when it is another line.
func inside(kind string, line []byte) []byte {
	inner, ok := bytes.CutPrefix(line, []byte(`{"`+kind+`":`))
	if !ok {
		return nil
	}
	return bytes.TrimSuffix(inner, []byte("}\n"))
}

// headers compares what headers say of the request lines.
func (d *difference) headers(place string, a, b []byte) error {
	var h schedule.Header
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	d.build = h.Build
	d.first = differing(place, "schedule.", a, b, "build", "sources", "args")
	return nil
}

// trailers compares trailers. Their hashes are of the headers too, which name the builds.
func (d *difference) trailers(place string, a, b []byte) error {
	var err error
	if d.source, err = otherSource(place, a, b); err != nil {
		return err
	}
	d.end = differing(place, "end.", a, b, "sources", "sha256")
	return nil
}

// lengths is about schedules of which one is longer; the trailer of the other one is
// still to come.
func (d *difference) lengths(s *sealed, place string, want *jsonl.Lines, a, b []byte) error {
	n := want.Number() - 2 // requests before b
	for b == nil {
		other, err := want.Next()
		if err != nil {
			return err
		}
		if n++; inside("end", other) != nil {
			b = inside("end", other)
		}
	}
	if d.first == nil {
		d.first = &formats.SyntaxError{Place: place, What: "end.requests", Got: itoa(s.end.Requests), Want: itoa(n)}
	}
	end, err := json.Marshal(s.end)
	if err != nil {
		return err
	}
	if d.source, err = otherSource(place, end, b); err != nil {
		return err
	}
	return errDifferent
}

// fault is the error that a difference is; nil when there is none. Another source explains
// every other one.
func (d *difference) fault(s *sealed, source string) error {
	for _, f := range []struct {
		e    *formats.SyntaxError
		hint string
	}{
		{d.source, fmt.Sprintf("%s is not what the schedule was made from", source)},
		{d.first, "the source is the same: the schedule was changed, or this build makes another one; header: " + s.header.Build},
		{d.end, "the request lines are the same: the trailer was changed, or this build counts otherwise; header: " + s.header.Build},
	} {
		if f.e != nil {
			f.e.Want += ", as the source gives"
			f.e.Help = f.hint
			return f.e
		}
	}
	return nil
}

// member is a key of an object and the text of its value.
type member struct{ key, value string }

// members reads an object one level deep.
func members(object []byte) (list []member) {
	var s jsonl.Scanner
	s.Reset(bytes.TrimRight(object, "\n"))
	for ok := s.Open('{'); ok; ok = s.More('{') {
		list = append(list, member{s.Name(), string(s.Raw())})
	}
	return list
}

func valueOf(list []member, key string) string {
	for _, m := range list {
		if m.key == key {
			return m.value
		}
	}
	return "nothing"
}

// differing is about the first key, but for some, whose value differs in two objects.
func differing(place, above string, a, b []byte, but ...string) *formats.SyntaxError {
	got, want := members(a), members(b)
	for _, m := range append(slices.Clip(got), want...) {
		if x, y := valueOf(got, m.key), valueOf(want, m.key); x != y && !slices.Contains(but, m.key) {
			return &formats.SyntaxError{Place: place, What: above + m.key, Got: formats.Clip(x), Want: formats.Clip(y)}
		}
	}
	return nil
}

// otherSource is about the first source that two trailers say different things of.
func otherSource(place string, a, b []byte) (*formats.SyntaxError, error) {
	var got, want schedule.Trailer
	if err := errors.Join(json.Unmarshal(a, &got), json.Unmarshal(b, &want)); err != nil {
		return nil, err
	}
	of := func(list []schedule.SourceDigest, i int) string {
		if i >= len(list) {
			return "nothing"
		}
		return fmt.Sprintf("%s, sha256 %s, %s bytes", list[i].Name, list[i].SHA256, grouped(list[i].Bytes))
	}
	for i := range max(len(got.Sources), len(want.Sources)) {
		if x, y := of(got.Sources, i), of(want.Sources, i); x != y {
			return &formats.SyntaxError{Place: place, What: "end.sources", Got: x, Want: y}, nil
		}
	}
	return nil, nil
}

// report prints the chain of hashes.
func (s *sealed) report(w io.Writer, d *difference) error {
	var b bytes.Buffer
	row := func(name, hash, format string, a ...any) {
		fmt.Fprintf(&b, "%-9s %-64s  %s\n", name, hash, fmt.Sprintf(format, a...))
	}
	for _, src := range s.end.Sources {
		row("source", src.SHA256, "%s, %s bytes", src.Name, grouped(src.Bytes))
	}
	row("lines", d.lines, "%s", counted(s.end.Requests, "request"))
	row("schedule", s.end.SHA256, "%s", s.place)
	fmt.Fprintf(&b, "made by %s, made again by %s: the same\n", s.header.Build, cli.Build())
	_, err := w.Write(b.Bytes())
	return err
}
