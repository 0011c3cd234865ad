package analyze

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/internal/fixture"
)

// keys lists the keys of a type as the page does: a distribution and a hit are one each.
func keys(t reflect.Type, path string) (all []string) {
	nullable := t.Kind() == reflect.Pointer
	if nullable {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[Dist](), t == reflect.TypeFor[Hit](), t == reflect.TypeFor[formats.Int]():
		return []string{path}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return keys(t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct:
		return []string{path}
	}
	if nullable {
		all = append(all, path)
	}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("json")
		if path != "" {
			name = path + "." + name
		}
		all = append(all, keys(t.Field(i).Type, name)...)
	}
	return all
}

// The page lists the keys that are written, in their order.
func TestPageFields(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "formats", "analysis.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- fields -->\n")
	table, rest, _ := strings.Cut(table, "\n\n")
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	if want := keys(reflect.TypeFor[Figures](), ""); !slices.Equal(named, want) {
		t.Errorf("the page names\n%s\nwant\n%s", strings.Join(named, "\n"), strings.Join(want, "\n"))
	}
	for _, part := range []reflect.Type{reflect.TypeFor[Dist](), reflect.TypeFor[Hit]()} {
		for i := range part.NumField() {
			if key := "`" + part.Field(i).Tag.Get("json") + "`"; !strings.Contains(rest, key) {
				t.Errorf("the page does not say what %s is", key)
			}
		}
	}
}
