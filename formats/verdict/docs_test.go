package verdict

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

const page = "../../docs/formats/verdict.md"

// typeName is how the page names a Go type.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[formats.Int]():
		return "integer or null"
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Float64:
		return "number or null"
	case t.Kind() == reflect.Pointer:
		return "object or null"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "list of strings"
	case t.Kind() == reflect.Slice:
		return "list of objects"
	case t.Kind() == reflect.Struct:
		return "object"
	}
	return map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number",
		reflect.String: "string", reflect.Bool: "boolean"}[t.Kind()]
}

// fields lists path and type of every key, depth first.
func fields(t reflect.Type, path string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := path + f.Tag.Get("json")
		out = append(out, key+" | "+typeName(f.Type))
		in := f.Type
		suffix := "."
		if in.Kind() == reflect.Slice {
			in, suffix = in.Elem(), "[]."
		}
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() == reflect.Struct && in != reflect.TypeFor[formats.Int]() {
			out = append(out, fields(in, key+suffix)...)
		}
	}
	return out
}

func TestPageListsEveryField(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+?) \\| ([^|]*?) \\| ([^|]+?) \\| ([^|]*?) \\| ([^|]+?) \\|$")
	var got []string
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		got = append(got, m[1]+" | "+m[2])
		if strings.Contains(m[2], "null") && m[5] == "" {
			t.Errorf("%s: the page does not say what null means", m[1])
		}
		if m[6] != "1" {
			t.Errorf("%s: since version %q; want 1", m[1], m[6])
		}
	}
	if d := cmp.Diff(fields(reflect.TypeFor[Verdict](), ""), got); d != "" {
		t.Errorf("fields in code (-) and on the page (+) differ:\n%s", d)
	}
}

func TestPageShowsTheGoldenFile(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("```json\n"))
	example, _, _ := bytes.Cut(rest, []byte("```\n"))
	var shown []string
	for line := range strings.Lines(string(example)) {
		shown = append(shown, line)
	}
	if len(shown) < 20 {
		t.Fatalf("the page shows %d lines of a verdict; want at least 20", len(shown))
	}
	all := slices.Collect(strings.Lines(string(want)))
	if d := cmp.Diff(all[:len(shown)], shown); d != "" {
		t.Errorf("the example differs from the start of the golden file:\n%s", d)
	}
}
