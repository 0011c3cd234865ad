package parquet

import (
	"bytes"
	"errors"
	"testing"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// FuzzOpen reads what nothing has proven: no panic, and no error but a typed one.
func FuzzOpen(f *testing.F) {
	var buf bytes.Buffer
	w := NewWriter(&buf, []Column{{Name: "at"}, {Name: "prompt", Text: true}}, map[string]string{"k": "v"})
	for i := range int64(20) {
		w.Int(0, formats.Int{V: i, Valid: i%3 > 0})
		w.Text(1, []string{"", "a", "bb"}[i%3])
		if err := w.EndRow(); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(bytes.NewReader(b), int64(len(b)), "f")
		var rows columns.Rows
		if err == nil {
			var ask []int
			for i, c := range file.Columns() {
				if c.Kind != columns.Other {
					ask = append(ask, i)
				}
			}
			rows, err = file.Rows(ask)
		}
		for i := 0; err == nil && i < 10_000; i++ {
			_, err = rows.Next()
		}
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if err != nil && err.Error() != "EOF" && !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Fatalf("%T %v; want a typed error", err, err)
		}
	})
}

// What this package writes it reads.
func TestReadsWhatItWrites(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, []Column{{Name: "n"}, {Name: "s", Text: true}}, nil)
	for i := range int64(300) {
		w.Int(0, formats.Int{V: i * i, Valid: i%7 > 0})
		w.Text(1, string(rune('a'+i%26)))
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), "f")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := f.Rows([]int{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(300) {
		c, err := rows.Next()
		if err != nil {
			t.Fatal(err)
		}
		if string(c[0].Text) != string(rune('a'+i%26)) || c[1].Null != (i%7 == 0) || !c[1].Null && c[1].Int != i*i {
			t.Fatalf("row %d = %+v", i, c)
		}
	}
}
