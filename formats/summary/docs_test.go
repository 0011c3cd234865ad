package summary

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/internal/fixture"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "formats", "summary.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rowsAfter returns the cells of the table that follows a marker.
func rowsAfter(t *testing.T, text, marker string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "<!-- "+marker+" -->\n")
	if !ok {
		t.Fatalf("the page has no marker %q", marker)
	}
	var rows [][]string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("no table after %q", marker)
	}
	return rows[2:]
}

// Every object of the page has the keys of its Go type, in their order, with their
// types, and says what null means exactly where null may stand.
func TestPageFields(t *testing.T) {
	text := page(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[Summary](), reflect.TypeFor[Input](), reflect.TypeFor[Part](), reflect.TypeFor[PartEnd](), reflect.TypeFor[Window](),
		reflect.TypeFor[Plan](), reflect.TypeFor[Outcome](), reflect.TypeFor[Metric](), reflect.TypeFor[Percentile](), reflect.TypeFor[Scalar](), reflect.TypeFor[Series](),
		reflect.TypeFor[Client](), reflect.TypeFor[GPU](), reflect.TypeFor[Sketch](), reflect.TypeFor[EncodedColumns](),
		reflect.TypeFor[EncodedRows](), reflect.TypeFor[Group](), reflect.TypeFor[Key](), reflect.TypeFor[Order](),
		reflect.TypeFor[Sums](), reflect.TypeFor[SumWindow](), reflect.TypeFor[Tally](), reflect.TypeFor[Spread](), reflect.TypeFor[Counts]()} {
		rows := rowsAfter(t, text, "fields: "+typ.Name())
		for i := range max(typ.NumField(), len(rows)) {
			if i >= typ.NumField() || i >= len(rows) {
				t.Errorf("%s: the page has %d fields, the code %d", typ.Name(), len(rows), typ.NumField())
				break
			}
			f, row := typ.Field(i), rows[i]
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind, nullable := kindOf(f.Type)
			if opts != "" {
				kind += ", optional"
			}
			if len(row) != 6 || row[0] != "`"+name+"`" || row[1] != kind || row[3] == "" || row[5] != "1" {
				t.Errorf("%s.%s: the page says %q; want name `%s`, type %s, a meaning, since 1", typ.Name(), name, row, name, kind)
				continue
			}
			if nullable != (row[4] != "") {
				t.Errorf("%s.%s: nullable is %v in the code, the page says null means %q", typ.Name(), name, nullable, row[4])
			}
		}
	}
}

func kindOf(t reflect.Type) (string, bool) {
	switch {
	case t == reflect.TypeFor[formats.Int]():
		return "integer", true
	case t == reflect.TypeFor[json.RawMessage]():
		return "JSON", false
	case t == reflect.TypeFor[json.Number]():
		return "number", false
	case t == reflect.TypeFor[EncodedColumns]():
		return "Columns", false
	case t == reflect.TypeFor[EncodedRows]():
		return "Rows", false
	}
	switch t.Kind() {
	case reflect.Pointer:
		k, _ := kindOf(t.Elem())
		return k, true
	case reflect.Slice, reflect.Map:
		k, null := kindOf(t.Elem())
		if null {
			k += " or null"
		}
		if t.Kind() == reflect.Map {
			return "object of " + k, false
		}
		return "list of " + k, false
	case reflect.Struct:
		return t.Name(), false
	}
	return map[reflect.Kind]string{reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number", reflect.String: "string", reflect.Bool: "bool"}[t.Kind()], false
}

func TestPageColumns(t *testing.T) {
	var want [][2]string
	for _, n := range IntColumns {
		want = append(want, [2]string{n, "int64"})
	}
	for _, n := range StringColumns {
		want = append(want, [2]string{n, "utf8"})
	}
	rows := rowsAfter(t, page(t), "columns")
	if len(rows) != len(want) {
		t.Fatalf("the page has %d columns; want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if len(row) != 5 || row[0] != "`"+want[i][0]+"`" || row[1] != want[i][1] || row[3] == "" {
			t.Errorf("column %d on the page: %q; want %s of %s with a meaning", i, row, want[i][0], want[i][1])
		}
		if unit := row[2]; (unit == "ns") != strings.HasSuffix(want[i][0], "_ns") {
			t.Errorf("column %s has the unit %q", want[i][0], unit)
		}
	}
	if cap := fmt.Sprintf("%d", MaxRows); cap != "16777216" || !strings.Contains(page(t), "16,777,216 rows") {
		t.Errorf("the page does not say the cap of %s rows", cap)
	}
}

// The example is a piece of the golden file.
func TestPageExample(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(page(t), "<!-- example -->\n```json\n")
	example, _, ok := strings.Cut(rest, "\n```")
	if !ok || !strings.Contains(string(b), example) {
		t.Errorf("the example is not in the golden file:\n%s", example)
	}
}
