package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// encodeJSON returns v, a pointer to a struct, as indented JSON with a final
// newline. Nil slices and maps are written as empty ones, so that a list is always
// a list in the file; v itself is not changed. NaN and infinity are an error.
func encodeJSON[T any](v *T) ([]byte, error) {
	out := *v
	filled(reflect.ValueOf(&out).Elem())
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&out); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// filled replaces nil slices and maps on the way down. What lies behind pointers
// and in slices is copied before it is changed.
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
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Slice:
		if v.Type() == raw {
			return // null is a value of its own
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			filled(c.Index(i))
		}
		v.Set(c)
	}
}

// decodeJSON reads b into v, a pointer to a struct, by rules that the standard
// decoder does not keep: keys match letter by letter, each exactly once; none is
// unknown and none is missing unless its tag says omitempty or omitzero; null
// stands only where the Go type is nullable (a pointer, an Int, a raw message);
// nothing but white space follows, and the last byte is a newline, without which
// the text may have been cut. noun names the document in errors.
func decodeJSON(b []byte, place, noun string, v any) error {
	var all json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(b))
	switch err := dec.Decode(&all); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &TruncatedError{Place: place, Want: "the rest of the " + noun}
	case err != nil:
		return jsonError(b, fmt.Sprintf("%s:%d", place, lineOf(b, err)), "text", err)
	}
	rest := b[dec.InputOffset():]
	if extra := bytes.TrimSpace(rest); len(extra) > 0 {
		return &SyntaxError{Place: place, What: "after the " + noun, Got: Clip(string(extra)), Want: "nothing"}
	}
	if !bytes.HasSuffix(rest, []byte("\n")) {
		return &TruncatedError{Place: place, Want: "the newline that ends a " + noun}
	}
	dec = json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	s := strict{dec: dec, noun: noun}
	if err := s.value(reflect.TypeOf(v).Elem(), ""); err != nil {
		err.Place = place
		return err
	}
	return DecodeJSON(b, place, "", v)
}

// DecodeJSON reads b into v by the rules of encoding/json: keys that v lacks are
// passed over. What is wrong is a *SyntaxError about what, at place, that names the
// key and the value.
func DecodeJSON(b []byte, place, what string, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return jsonError(b, place, what, err)
	}
	return nil
}

// jsonError puts what encoding/json says of b into the form of our errors.
func jsonError(b []byte, place, what string, err error) *SyntaxError {
	var text *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		if kind.Field != "" {
			what = strings.TrimPrefix(what+"."+kind.Field, ".")
		}
		return &SyntaxError{Place: place, What: what, Got: Clip(strings.TrimPrefix(kind.Value, "number ")), Want: wanted(kind.Type)}
	case errors.As(err, &text):
		got := "end of text"
		if at := max(0, int(text.Offset)-1); at < len(b) && !strings.HasPrefix(text.Error(), "unexpected end") {
			got = Clip(string(b[at:min(len(b), at+80)]))
		}
		return &SyntaxError{Place: place, What: what, Got: got, Want: "JSON", Err: err}
	}
	return &SyntaxError{Place: place, What: what, Err: err}
}

// wanted says what JSON a Go type takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number of 64 bits"
	case reflect.Float64:
		return "a number of 64 bits"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

// lineOf is the line of b, from 1, in which a JSON error was found.
func lineOf(b []byte, err error) int {
	at := 0
	var text *json.SyntaxError
	if errors.As(err, &text) {
		at = min(max(0, int(text.Offset)-1), len(b))
	}
	return 1 + bytes.Count(b[:at], []byte("\n"))
}

var (
	number = reflect.TypeFor[Int]()
	digits = reflect.TypeFor[json.Number]()
	raw    = reflect.TypeFor[json.RawMessage]()
)

// strict walks one JSON value beside the Go type it is for.
type strict struct {
	dec  *json.Decoder
	noun string
}

func (s strict) value(t reflect.Type, path string) *SyntaxError {
	if t.Kind() == reflect.Pointer && t.Elem() == raw {
		t = raw
	}
	if t == raw {
		var skip json.RawMessage
		if err := s.dec.Decode(&skip); err != nil {
			return &SyntaxError{What: path, Err: err}
		}
		return nil
	}
	tok, err := s.dec.Token()
	if err != nil {
		return &SyntaxError{What: path, Err: err}
	}
	if tok == nil && (t.Kind() == reflect.Pointer || t == number) {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	bad := func(want string) *SyntaxError {
		got := fmt.Sprint(tok)
		if tok == nil {
			got = "null"
		}
		return &SyntaxError{What: strings.TrimPrefix(path, "."), Got: Clip(got), Want: want}
	}
	kind := t.Kind()
	switch t {
	case number:
		kind = reflect.Int64
	case digits:
		kind = reflect.Float64
	}
	switch kind {
	case reflect.Int, reflect.Int64:
		n, ok := tok.(json.Number)
		if _, err := n.Int64(); !ok || err != nil {
			return bad("a whole number of 64 bits")
		}
	case reflect.Float64:
		n, ok := tok.(json.Number)
		if _, err := n.Float64(); !ok || err != nil {
			return bad("a number")
		}
	case reflect.String:
		if _, ok := tok.(string); !ok {
			return bad("a string")
		}
	case reflect.Bool:
		if _, ok := tok.(bool); !ok {
			return bad("true or false")
		}
	case reflect.Slice:
		if tok != json.Delim('[') {
			return bad("a list")
		}
		for i := 0; s.dec.More(); i++ {
			if err := s.value(t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, _ = s.dec.Token() // the bracket: the text is known to be whole
	case reflect.Map, reflect.Struct:
		if tok != json.Delim('{') {
			return bad("an object")
		}
		return s.object(t, path)
	default:
		panic("internal error: no rule for " + t.String())
	}
	return nil
}

func (s strict) object(t reflect.Type, path string) *SyntaxError {
	fields, required := keys(t)
	seen := map[string]bool{}
	for s.dec.More() {
		tok, err := s.dec.Token()
		key, ok := tok.(string)
		if err != nil || !ok {
			return &SyntaxError{What: path, Err: err}
		}
		ft, known := fields[key]
		if t.Kind() == reflect.Map {
			ft, known = t.Elem(), true
		}
		at := path + "." + key
		switch {
		case !known:
			return &SyntaxError{What: "key", Got: Clip(strings.TrimPrefix(at, ".")), Want: "a key of a " + s.noun}
		case seen[key]:
			return &SyntaxError{What: "key", Got: Clip(strings.TrimPrefix(at, ".")), Want: "each key once"}
		}
		seen[key] = true
		if err := s.value(ft, at); err != nil {
			return err
		}
	}
	_, _ = s.dec.Token() // the brace
	for _, key := range required {
		if !seen[key] {
			return &SyntaxError{What: "key", Got: "nothing", Want: strings.TrimPrefix(path+"."+key, ".")}
		}
	}
	return nil
}

// keys returns the keys of a struct with their types, and those that must be there.
func keys(t reflect.Type) (fields map[string]reflect.Type, required []string) {
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	fields = map[string]reflect.Type{}
	for i := range t.NumField() {
		name, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = t.Field(i).Type
		if !strings.Contains(opts, "omit") {
			required = append(required, name)
		}
	}
	return fields, required
}

// Clip keeps an offending value short enough for an error line: about 60 bytes.
func Clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
