package run

import (
	"fmt"
	"slices"

	"hydrant/formats/ipc"
)

// Cells are the values of one column of table requests, of the rows at hand.
type Cells = ipc.Cells

// ColumnIndex is the place of a column of table requests in Columns.
func ColumnIndex(name string) int {
	i := slices.IndexFunc(Columns[:], func(c ipc.Column[Request]) bool { return c.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("internal error: no column %s", name))
	}
	return i
}

// Skip says that nobody looks at some columns of table requests, by their place in Columns. They
// are not decompressed in the parts that follow, and read as null, or as the zero value. What
// is wrong inside them is not found, other than by the checksums of the part.
func (r *Reader) Skip(columns ...int) { r.skip = append(r.skip, columns...) }

// Rows returns how many rows of table requests are at hand, to be looked at by Cells or to be
// read by NextRequest; io.EOF after the last.
func (p *Part) Rows() (int, error) { return ipc.Ready(p.r, 0, p.requests) }

// Cells returns the values of a column, by its place in Columns, of the rows at hand.
func (p *Part) Cells(column int) Cells { return p.requests.Cells(column) }

// Pass passes over n of the rows at hand.
func (p *Part) Pass(n int) { p.requests.Pass(n) }
