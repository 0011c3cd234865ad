package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"hydrant/formats"
)

// maxSize caps what Read takes: a verdict holds no rows, a megabyte would be large.
const maxSize = 64 << 20

// Write writes v as indented JSON with a final newline. The same v gives the same
// bytes. NaN and infinity are an error of the JSON encoder.
func Write(w io.Writer, v *Verdict) error {
	out := *v
	filled(reflect.ValueOf(&out).Elem())
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("verdict: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// filled replaces nil slices by empty ones on the way down, so that a list is
// always a list in the file. Slices are copied before they are changed.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			c := reflect.New(v.Elem().Type())
			c.Elem().Set(v.Elem())
			filled(c.Elem())
			v.Set(c)
		}
	case reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			filled(c.Index(i))
		}
		v.Set(c)
	}
}

// Read reads one verdict from r up to its end. Place names r in errors, which are
// *formats.SyntaxError, *formats.VersionError or *formats.TruncatedError, or what r
// itself returned. Keys that this version does not know, missing keys, repeated keys
// and bytes after the verdict are syntax errors; a verdict without its final newline
// is truncated.
func Read(r io.Reader, place string) (*Verdict, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxSize {
		return nil, &formats.SyntaxError{Place: place, What: "size", Got: "more than 64 MiB", Want: "a verdict"}
	}
	if err := whole(raw, place); err != nil {
		return nil, err
	}
	if err := version(raw, place); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := strict(dec, reflect.TypeFor[Verdict](), ""); err != nil {
		err.Place = place
		return nil, err
	}
	v := new(Verdict)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, &formats.SyntaxError{Place: place, Err: err}
	}
	return v, nil
}

// whole checks that raw is one JSON value and a newline.
func whole(raw []byte, place string) error {
	var v json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(raw))
	err := dec.Decode(&v)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &formats.TruncatedError{Place: place, Want: "the rest of the verdict"}
	case err != nil:
		return &formats.SyntaxError{Place: place, What: "JSON", Err: err}
	}
	rest := raw[dec.InputOffset():]
	if len(bytes.TrimSpace(rest)) > 0 {
		return &formats.SyntaxError{Place: place, What: "after the verdict", Got: clip(string(bytes.TrimSpace(rest))), Want: "nothing"}
	}
	if !bytes.HasSuffix(rest, []byte("\n")) {
		return &formats.TruncatedError{Place: place, Want: "the newline that ends a verdict"}
	}
	return nil
}

func version(raw []byte, place string) error {
	var head struct {
		Format  string      `json:"format"`
		Version json.Number `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return &formats.SyntaxError{Place: place, What: "JSON", Err: err}
	}
	if head.Format != Format {
		return &formats.SyntaxError{Place: place, What: "format", Got: clip(head.Format), Want: Format}
	}
	if head.Version != "1" {
		return &formats.VersionError{Place: place, Got: clip(head.Version.String()), Want: "1"}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// number is the type that a JSON number or null fills.
var number = reflect.TypeFor[formats.Int]()

// strict walks one JSON value beside the Go type it is for. The standard decoder
// would take keys in any letter case, keep the last of two and leave out null.
func strict(dec *json.Decoder, t reflect.Type, path string) *formats.SyntaxError {
	tok, err := dec.Token()
	if err != nil {
		return &formats.SyntaxError{What: path, Err: err}
	}
	bad := func(want string) *formats.SyntaxError {
		return &formats.SyntaxError{What: strings.TrimPrefix(path, "."), Got: clip(fmt.Sprint(tok)), Want: want}
	}
	if t.Kind() == reflect.Pointer || t == number {
		if tok == nil {
			return nil
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	switch {
	case t == number || t.Kind() == reflect.Int || t.Kind() == reflect.Int64 || t.Kind() == reflect.Float64:
		if _, ok := tok.(json.Number); !ok {
			return bad("a number")
		}
	case t.Kind() == reflect.String:
		if _, ok := tok.(string); !ok {
			return bad("a string")
		}
	case t.Kind() == reflect.Bool:
		if _, ok := tok.(bool); !ok {
			return bad("true or false")
		}
	case t.Kind() == reflect.Slice:
		if tok != json.Delim('[') {
			return bad("a list")
		}
		for i := 0; dec.More(); i++ {
			if err := strict(dec, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, _ = dec.Token() // the closing bracket: raw is known to be whole
	default:
		if tok != json.Delim('{') {
			return bad("an object")
		}
		return object(dec, t, path)
	}
	return nil
}

func object(dec *json.Decoder, t reflect.Type, path string) *formats.SyntaxError {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("json")] = t.Field(i).Type
	}
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			return &formats.SyntaxError{What: path, Err: err}
		}
		at := path + "." + key
		ft, known := fields[key]
		if !known || seen[key] {
			want := "a key of a verdict, version 1"
			if known {
				want = "each key once"
			}
			return &formats.SyntaxError{What: "key", Got: clip(strings.TrimPrefix(at, ".")), Want: want}
		}
		seen[key] = true
		if err := strict(dec, ft, at); err != nil {
			return err
		}
	}
	_, _ = dec.Token() // the closing brace
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("json"); !seen[key] {
			return &formats.SyntaxError{What: "key", Got: "nothing", Want: strings.TrimPrefix(path+"."+key, ".")}
		}
	}
	return nil
}
