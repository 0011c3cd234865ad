// Package columns is what the readers of columnar files show of a table: its columns,
// each of one kind, and its rows as cells. formats/ipc reads Arrow's file format into
// it, internal/parquet reads Parquet.
package columns

// Kind is what the cells of a column hold.
type Kind uint8

// Kinds. All widths of whole numbers are one, all encodings of text are one.
const (
	Other Kind = iota // none of the others: such a column is never read
	Nulls             // nothing but nulls
	Int
	Float
	Bool
	Text
	IntList
)

// Column is one column of a table.
type Column struct {
	Name string
	Kind Kind
	Type string // what the file calls it, for errors
}

// Cell is the value of one column in one row.
type Cell struct {
	Null  bool
	Int   int64 // of Int, and of Bool: 0 or 1
	Float float64
	Text  []byte  // of Text, any bytes; valid until the next row
	Ints  []int64 // of IntList; valid until the next row

	// Bad is what the cell holds that 64 bits with a sign cannot: a larger number, or a
	// null in a list, whose numbers are then not all there. "" in all other cells.
	Bad string
}

// Rows yields rows of some columns of a table.
type Rows interface {
	// Next returns the cells of the next row, in the order in which the columns were
	// asked for, valid until the next call; io.EOF after the last.
	Next() ([]Cell, error)
}

// Table is a columnar file that was opened.
type Table interface {
	Columns() []Column
	// Rows starts over with these columns, by their index. It may be called again; the
	// Rows before must then be done with.
	Rows(want []int) (Rows, error)
}
