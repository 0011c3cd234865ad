package rows

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// source makes n rows in which every third value is null.
func source(n int) Source {
	return Source{N: n, Fill: func(i int, r *Row) {
		for j := range r.Ints {
			if r.Ints[j] = formats.Some(int64(i*1000 - j)); (i+j)%3 == 0 {
				r.Ints[j] = formats.Int{}
			}
		}
		for j := range r.Texts {
			if r.Texts[j] = string(rune('a' + (i+j)%26)); (i+j)%3 == 0 {
				r.Texts[j] = ""
			}
		}
	}}
}

func TestNamesAreDistinct(t *testing.T) {
	var seen []string
	for _, c := range append(Ints[:], Texts[:]...) {
		if slices.Contains(seen, c.Name) {
			t.Errorf("column %s stands there twice", c.Name)
		}
		seen = append(seen, c.Name)
	}
}

// What is written comes back, nulls as nulls, in both files; the same rows give the same
// bytes.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 100, batchRows + 1} {
		s := source(n)
		var arrow, again, file, fileAgain bytes.Buffer
		for _, f := range []struct {
			write func(io.Writer, Source) error
			out   *bytes.Buffer
		}{{Arrow, &arrow}, {Arrow, &again}, {Parquet, &file}, {Parquet, &fileAgain}} {
			if err := f.write(f.out, s); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(arrow.Bytes(), again.Bytes()) || !bytes.Equal(file.Bytes(), fileAgain.Bytes()) {
			t.Errorf("%d rows: two calls write different bytes", n)
		}
		checkArrow(t, arrow.Bytes(), s)
		checkParquet(t, file.Bytes(), s)
	}
}

func checkArrow(t *testing.T, text []byte, s Source) {
	t.Helper()
	w := ipc.NewWalker(bytes.NewReader(text))
	f, err := w.Next("schema")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ipc.ParseSchema(f, "rows")
	if err != nil {
		t.Fatal(err)
	}
	dec, err := ipc.NewDecoder(arrowColumns(), table, "rows")
	if err != nil {
		t.Fatal(err)
	}
	i, want := 0, Row{}
	for {
		f, err := w.Next("batch")
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == ipc.EOS {
			break
		}
		if err := dec.Load(f, "batch"); err != nil {
			t.Fatal(err)
		}
		for row := dec.Next(); row != nil; row = dec.Next() {
			if s.Fill(i, &want); *row != want {
				t.Fatalf("arrow row %d = %v; want %v", i, *row, want)
			}
			i++
		}
	}
	if _, err := w.Next("end"); !errors.Is(err, io.EOF) || i != s.N {
		t.Errorf("arrow: %d rows, then %v; want %d and the end", i, err, s.N)
	}
}

func checkParquet(t *testing.T, text []byte, s Source) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != int64(s.N) {
		t.Fatalf("parquet: %d rows; want %d", f.NumRows(), s.N)
	}
	for i, c := range f.Schema().Columns() {
		name := append(Ints[:], Texts[:]...)[i].Name
		if c[0] != name {
			t.Errorf("parquet: column %d is %s; want %s", i, c[0], name)
		}
	}
	i, want := 0, Row{}
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for {
			var buf [16]pq.Row
			n, err := rows.ReadRows(buf[:])
			for _, row := range buf[:n] {
				s.Fill(i, &want)
				for j, v := range row {
					null, equal := false, false
					if j < len(Ints) {
						null, equal = !want.Ints[j].Valid, v.Int64() == want.Ints[j].V
					} else {
						null, equal = want.Texts[j-len(Ints)] == "", v.String() == want.Texts[j-len(Ints)]
					}
					if v.IsNull() != null || !null && !equal {
						t.Fatalf("parquet row %d column %d = %v; want %v", i, j, v, want)
					}
				}
				i++
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
}
