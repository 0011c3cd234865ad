package columns_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/formats/ipc"
	"hydrant/internal/columns"
	"hydrant/internal/fixture"
	"hydrant/internal/parquet"
)

// open opens a columnar file by its extension.
func open(r io.ReaderAt, size int64, name string) (columns.Table, error) {
	if filepath.Ext(name) == ".arrow" {
		return ipc.OpenFile(r, size, name)
	}
	return parquet.Open(r, size, name)
}

// tables has Python write the tables once, and returns their folder.
func tables(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(fixture.Python(t), filepath.Join(fixture.Root(), "internal/columns/testdata/tables.py"), dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tables.py: %v\n%s", err, out)
	}
	return dir
}

// Every file has the rows that pyarrow, Polars or DuckDB put into it, cell by cell.
func TestFilesOfOthers(t *testing.T) {
	dir := tables(t)
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	seen := map[string]int{}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".json")
		seen[filepath.Ext(name)]++
		t.Run(filepath.Base(name), func(t *testing.T) {
			raw, err := os.ReadFile(name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Columns []string
				Rows    [][]json.RawMessage
			}
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			table, err := open(bytes.NewReader(b), int64(len(b)), name)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range table.Columns() {
				if c.Name != want.Columns[i] || len(table.Columns()) != len(want.Columns) {
					t.Fatalf("columns = %v; want %v", table.Columns(), want.Columns)
				}
				fixed := c.Name == "fixed" && filepath.Ext(name) == ".parquet" // a list like others there
				if other := i >= 16 && !fixed; other != (c.Kind == columns.Other) {
					t.Errorf("column %s is %s, kind %d; want it read: %v", c.Name, c.Type, c.Kind, !other)
				}
			}
			for pass := range 2 { // it can be read again, and in any order of columns
				var ask []int
				for i := range table.Columns() {
					if i < 16 {
						ask = append(ask, i)
					}
				}
				if pass == 1 {
					ask[0], ask[len(ask)-1] = ask[len(ask)-1], ask[0]
				}
				compare(t, table, ask, want.Rows)
			}
		})
	}
	if seen[".parquet"] < 15 || seen[".arrow"] < 9 {
		t.Errorf("files: %v; want those of tables.py", seen)
	}
}

func compare(t *testing.T, table columns.Table, ask []int, want [][]json.RawMessage) {
	t.Helper()
	rows, err := table.Rows(ask)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		cells, err := rows.Next()
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		for j, at := range ask {
			if got := show(table.Columns()[at].Kind, &cells[j]); got != normal(want[i][at]) {
				t.Fatalf("row %d, column %s = %s; want %s", i, table.Columns()[at].Name, got, normal(want[i][at]))
			}
		}
	}
	if _, err := rows.Next(); err != io.EOF {
		t.Errorf("after the last row: %v; want io.EOF", err)
	}
}

// show writes a cell as JSON.
func show(k columns.Kind, c *columns.Cell) string {
	switch {
	case c.Null:
		return "null"
	case c.Bad == "null":
		return "[…null…]"
	case c.Bad != "":
		return c.Bad
	case k == columns.Int:
		return fmt.Sprint(c.Int)
	case k == columns.Float:
		b, _ := json.Marshal(c.Float)
		return string(b)
	case k == columns.Bool:
		return fmt.Sprint(c.Int == 1)
	case k == columns.Text:
		b, _ := json.Marshal(string(c.Text))
		return string(b)
	case k == columns.IntList:
		return strings.ReplaceAll(fmt.Sprint(c.Ints), " ", ",")
	}
	return "?"
}

// normal brings JSON of Python into the form of show.
func normal(raw json.RawMessage) string {
	s := string(raw)
	if strings.HasPrefix(s, "[") && strings.Contains(s, "null") {
		return "[…null…]"
	}
	if strings.HasPrefix(s, "[") {
		return strings.ReplaceAll(s, " ", "")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return s
	}
	if n, ok := v.(json.Number); ok {
		if strings.ContainsAny(s, ".e") {
			f, _ := n.Float64()
			b, _ := json.Marshal(f)
			return string(b)
		}
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}
