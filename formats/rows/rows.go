// Package rows is the table of per-request metrics: one row per planned request, every
// metric of one request in a column of its own, for programs that group and draw. It is
// written as an Arrow IPC stream by Arrow or as a Parquet file by Parquet, from the same
// literal list of columns, and never read back: the run is the record.
package rows

import (
	"bufio"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/ipc"
	"hydrant/internal/parquet"
)

// Format and Version name the table in the metadata of both files.
const (
	Format  = "hydrant-rows"
	Version = 1
)

// Column is one column.
type Column struct {
	Name    string
	Unit    string
	Meaning string
	Null    string // what null means
}

// Row holds the values of one row in the order of Ints and Texts.
type Row struct {
	Ints  [len(Ints)]formats.Int
	Texts [len(Texts)]string // empty is null
}

// Source is what is written: N rows, the i-th of which Fill puts into a row that holds
// the values of the row before.
type Source struct {
	N    int
	Fill func(i int, r *Row)
}

const batchRows = 1 << 14

// Arrow writes one Arrow IPC stream with zstd bodies and an end mark.
func Arrow(w io.Writer, s Source) error {
	cols := arrowColumns()
	schema, err := ipc.SchemaMessage(ipc.Fields(cols), []string{"hydrant.table", "hydrant.version"}, []string{Format, fmt.Sprint(Version)})
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(schema) // the first error stays with out
	enc := ipc.NewEncoder(cols)
	var row Row
	for i := range s.N {
		s.Fill(i, &row)
		enc.Append(&row)
		if enc.Len() == batchRows || i == s.N-1 {
			m, err := enc.Encode(false)
			if err != nil {
				return err
			}
			out.Write(m.Bytes)
		}
	}
	out.Write([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0})
	return out.Flush()
}

func arrowColumns() []ipc.Column[Row] {
	var cols []ipc.Column[Row]
	for i, c := range Ints {
		cols = append(cols, ipc.Column[Row]{Name: c.Name, Type: ipc.Int64, Unit: c.Unit, Meaning: c.Meaning, Null: c.Null, Since: 1, Field: func(r *Row) any { return &r.Ints[i] }})
	}
	for i, c := range Texts {
		cols = append(cols, ipc.Column[Row]{Name: c.Name, Type: ipc.UTF8, Unit: c.Unit, Meaning: c.Meaning, Null: c.Null, Since: 1, Field: func(r *Row) any { return &r.Texts[i] }})
	}
	return cols
}

// Parquet writes one Parquet file with zstd pages.
func Parquet(w io.Writer, s Source) error {
	var cols []parquet.Column
	for _, c := range Ints {
		cols = append(cols, parquet.Column{Name: c.Name})
	}
	for _, c := range Texts {
		cols = append(cols, parquet.Column{Name: c.Name, Text: true})
	}
	out := parquet.NewWriter(w, cols, map[string]string{"hydrant.table": Format, "hydrant.version": fmt.Sprint(Version)})
	var row Row
	for i := range s.N {
		s.Fill(i, &row)
		for j, v := range row.Ints {
			out.Int(j, v)
		}
		for j, v := range row.Texts {
			out.Text(len(Ints)+j, v)
		}
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return out.Close()
}

// Markdown returns the columns as the fields table of the format's page.
func Markdown() string { return ipc.Markdown(arrowColumns()) }
