// Package parquet writes tables of nullable whole numbers and text as Parquet files, and
// reads tables that others wrote. It is the only door to the library, which writes; the
// same rows give the same bytes.
//
// Note: files are read by code of our own. The library trusts the lengths in a file, and a
// damaged one can end the process for want of memory, which nothing catches.
package parquet

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	pq "github.com/parquet-go/parquet-go"

	"hydrant/formats"
)

// Column is one column: int64, or UTF-8 text. Both may be null.
type Column struct {
	Name string
	Text bool
}

// groupRows is the length of a row group: what is in memory until it is written.
const groupRows = 1 << 17

// Writer writes rows of one table. One goroutine owns it.
type Writer struct {
	w   *pq.GenericWriter[any]
	row pq.Row
}

// NewWriter returns a writer of a file with these columns, in this order, and with
// metadata in the order of its keys.
func NewWriter(w io.Writer, cols []Column, meta map[string]string) *Writer {
	var fields []reflect.StructField
	for i, c := range cols {
		typ := reflect.TypeFor[int64]()
		if c.Text {
			typ = reflect.TypeFor[string]()
		}
		// The library keeps the order of the fields of a struct; a group of its own is
		// sorted by name.
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: typ, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,optional,zstd"`, c.Name))})
	}
	schema := pq.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	options := []pq.WriterOption{schema, pq.MaxRowsPerRowGroup(groupRows), pq.CreatedBy("hydrant", "1", "")}
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		options = append(options, pq.KeyValueMetadata(k, meta[k]))
	}
	return &Writer{w: pq.NewGenericWriter[any](w, options...), row: make(pq.Row, len(cols))}
}

// Int sets column i of the current row.
func (w *Writer) Int(i int, v formats.Int) {
	w.row[i] = pq.Value{}.Level(0, 0, i)
	if v.Valid {
		w.row[i] = pq.Int64Value(v.V).Level(0, 1, i)
	}
}

// Text sets column i of the current row; empty text is null.
func (w *Writer) Text(i int, v string) {
	w.row[i] = pq.Value{}.Level(0, 0, i)
	if v != "" {
		w.row[i] = pq.ByteArrayValue([]byte(v)).Level(0, 1, i)
	}
}

// EndRow ends a row, all columns of which have been set.
func (w *Writer) EndRow() error {
	_, err := w.w.WriteRows([]pq.Row{w.row})
	return err
}

// Close writes the footer; what lies below stays open.
func (w *Writer) Close() error { return w.w.Close() }
