package summary

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// batchRows is the length of a record batch. It bounds what one message makes the
// reader allocate.
const batchRows = 1 << 16

// cells is one row of the columns.
type cells struct {
	ints    [len(IntColumns)]formats.Int
	strings [len(StringColumns)]string
}

// table lists the columns as the Arrow door wants them.
func table() []ipc.Column[cells] {
	var cols []ipc.Column[cells]
	for i, name := range IntColumns {
		cols = append(cols, ipc.Column[cells]{Name: name, Type: ipc.Int64, Null: "not known", Since: 1,
			Field: func(c *cells) any { return &c.ints[i] }})
	}
	for i, name := range StringColumns {
		cols = append(cols, ipc.Column[cells]{Name: name, Type: ipc.UTF8, Null: "none", Since: 1,
			Field: func(c *cells) any { return &c.strings[i] }})
	}
	return cols
}

// eos is Arrow's end mark of a stream.
var eos = [8]byte{0xFF, 0xFF, 0xFF, 0xFF}

// EncodeColumns returns the columns as a zstd-compressed Arrow stream in base64. A
// column that c lacks is written as nulls; one of another length than c.N is a
// broken invariant.
func EncodeColumns(c *Columns) (*EncodedColumns, error) {
	ints, texts := c.bind()
	return EncodeRows(c.N, func(i int, intCells []formats.Int, stringCells []string) {
		for j, v := range ints {
			if v != nil {
				intCells[j] = v[i]
			}
		}
		for j, v := range texts {
			if v != nil {
				stringCells[j] = v[i]
			}
		}
	})
}

// EncodeRows does the same for n rows that need not be in memory at once: fill is
// called for each in turn, with cells in the order of IntColumns and StringColumns
// that hold the values of the row before.
func EncodeRows(n int, fill func(i int, ints []formats.Int, strings []string)) (*EncodedColumns, error) {
	cols := table()
	schema, err := ipc.SchemaMessage(ipc.Fields(cols), []string{"hydrant.table"}, []string{"columns"})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	out := base64.NewEncoder(base64.StdEncoding, &text) // a Builder never fails
	_, _ = out.Write(schema)
	enc := ipc.NewEncoder(cols)
	flush := func() error {
		m, err := enc.Encode(false)
		_, _ = out.Write(m.Bytes)
		return err
	}
	var row cells
	for i := range n {
		fill(i, row.ints[:], row.strings[:])
		enc.Append(&row)
		if enc.Len() == batchRows {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if enc.Len() > 0 || n == 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	_, _ = out.Write(eos[:])
	_ = out.Close()
	return &EncodedColumns{Rows: int64(n), Stream: text.String(), CRC32C: formats.Some(ipc.CRC32C([]byte(text.String())))}, nil
}

// bind returns the slices in the order of the tables, nil where there is none.
func (c *Columns) bind() (ints [len(IntColumns)][]formats.Int, texts [len(StringColumns)][]string) {
	check := func(name string, n int) {
		if n != c.N {
			panic(fmt.Sprintf("internal error: column %s has %d values, want %d", name, n, c.N))
		}
	}
	for i, name := range IntColumns {
		if v, ok := c.Ints[name]; ok {
			check(name, len(v))
			ints[i] = v
		}
	}
	for i, name := range StringColumns {
		if v, ok := c.Strings[name]; ok {
			check(name, len(v))
			texts[i] = v
		}
	}
	return ints, texts
}

// DecodeColumns reads what EncodeColumns wrote. All columns of this version are
// there, a column the stream lacks as nulls; unknown columns are passed over.
// place names the summary in errors.
func DecodeColumns(e *EncodedColumns, place string) (*Columns, error) {
	place += ": columns"
	if sum := ipc.CRC32C([]byte(e.Stream)); e.CRC32C.Valid && e.CRC32C.V != sum {
		return nil, &formats.SyntaxError{Place: place, What: "crc32c", Got: fmt.Sprint(sum), Want: e.CRC32C.String(), Help: "the text was changed on its way; reduce the run again"}
	}
	w := ipc.NewWalker(base64.NewDecoder(base64.StdEncoding, strings.NewReader(e.Stream)))
	next := func(at string) (ipc.Frame, error) {
		f, err := w.Next(place + " " + at)
		var syntax *formats.SyntaxError
		if err == nil || errors.As(err, &syntax) {
			return f, err
		}
		var corrupt base64.CorruptInputError
		if errors.As(err, &corrupt) {
			return f, &formats.SyntaxError{Place: place, What: "base64", Err: err}
		}
		return f, &formats.TruncatedError{Place: place, Want: at}
	}
	f, err := next("schema")
	if err != nil {
		return nil, err
	}
	t, err := ipc.ParseSchema(f, place)
	if err != nil {
		return nil, err
	}
	dec, err := ipc.NewDecoder(table(), t, place)
	if err != nil {
		return nil, err
	}
	c := NewColumns(0)
	ints, texts := c.bind()
	names := map[string]string{} // values of text columns repeat: one copy of each
	for batch := 0; ; batch++ {
		at := fmt.Sprintf("batch %d", batch)
		f, err := next(at)
		if err != nil {
			return nil, err
		}
		if f.Type == ipc.EOS {
			break
		}
		if f.Type != ipc.RecordBatch {
			return nil, &formats.SyntaxError{Place: place, What: "message", Got: f.Type.String(), Want: "a record batch"}
		}
		if err := dec.Load(f, place+" "+at); err != nil {
			return nil, err
		}
		for row := dec.Next(); row != nil; row = dec.Next() {
			if c.N++; int64(c.N) > min(e.Rows, MaxRows) {
				return nil, &formats.SyntaxError{Place: place, What: "rows", Got: "more", Want: fmt.Sprint(e.Rows)}
			}
			for j := range ints {
				ints[j] = append(ints[j], row.ints[j])
			}
			for j := range texts {
				s, ok := names[row.strings[j]]
				if !ok {
					s = row.strings[j]
					names[s] = s
				}
				texts[j] = append(texts[j], s)
			}
		}
	}
	if _, err := w.Next(place); !errors.Is(err, io.EOF) {
		return nil, &formats.SyntaxError{Place: place, What: "after the end mark", Got: "more bytes", Want: "nothing"}
	}
	if int64(c.N) != e.Rows {
		return nil, &formats.SyntaxError{Place: place, What: "rows", Got: fmt.Sprint(c.N), Want: fmt.Sprint(e.Rows)}
	}
	for i, name := range IntColumns {
		c.Ints[name] = ints[i]
	}
	for i, name := range StringColumns {
		c.Strings[name] = texts[i]
	}
	return c, nil
}

// NewColumns returns all columns with n null values each.
func NewColumns(n int) *Columns {
	c := &Columns{N: n, Ints: map[string][]formats.Int{}, Strings: map[string][]string{}}
	for _, name := range IntColumns {
		c.Ints[name] = make([]formats.Int, n)
	}
	for _, name := range StringColumns {
		c.Strings[name] = make([]string, n)
	}
	return c
}
