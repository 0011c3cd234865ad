package parquet

import (
	"fmt"
	"io"
	"strconv"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// maxList bounds the numbers in one cell: that many block ids are a prompt of 64
// million tokens at least.
const maxList = 1 << 22

// Columns returns the columns of the table.
func (f *File) Columns() []columns.Column { return f.cols }

// Rows returns the rows of the table with the columns want, of which none may be of
// kind Other. A page of each of these is in memory at a time.
func (f *File) Rows(want []int) (columns.Rows, error) {
	r := &rows{f: f, want: want, cells: make([]columns.Cell, len(want)), cursors: make([]cursor, len(want)), group: -1}
	for _, i := range want {
		if f.cols[i].Kind == columns.Other {
			return nil, &formats.SyntaxError{Place: f.place, What: "type of column " + f.cols[i].Name, Got: f.cols[i].Type, Want: "whole numbers, numbers, text, bool or a list of whole numbers"}
		}
	}
	return r, nil
}

// rows reads the row groups one after the other.
type rows struct {
	f       *File
	want    []int
	cells   []columns.Cell
	cursors []cursor
	group   int
	left    int64 // rows of the group
}

// Next is columns.Rows.
func (r *rows) Next() ([]columns.Cell, error) {
	for r.left == 0 {
		for i := range r.cursors {
			if r.group >= 0 {
				if err := r.cursors[i].end(); err != nil {
					return nil, err
				}
			}
		}
		r.group++
		if r.group >= len(r.f.groups) {
			r.group = len(r.f.groups)
			return nil, io.EOF
		}
		r.open()
	}
	r.left--
	for i := range r.cursors {
		c := &r.cells[i]
		*c = columns.Cell{Ints: c.Ints[:0]}
		if err := r.cursors[i].cell(c); err != nil {
			return nil, err
		}
	}
	return r.cells, nil
}

func (r *rows) open() {
	g := r.f.groups[r.group]
	r.left = g.rows
	for i, w := range r.want {
		l := r.f.leaves[w]
		c := g.chunks[l.at]
		r.cursors[i] = cursor{list: r.f.cols[w].Kind == columns.IntList, pages: pages{
			f: r.f, l: l, c: c, name: r.f.cols[w].Name, group: r.group, at: c.start(), buf: r.cursors[i].pages.buf,
		}}
	}
}

// cursor reads the cells of one chunk.
type cursor struct {
	pages
	list  bool
	ahead bool  // the levels of the next value were read
	rep   uint8 // they are these
	def   uint8
}

// peek reads the levels of the next value. The chunk must have one.
func (c *cursor) peek() (err error) {
	if c.ahead {
		return nil
	}
	if c.left == 0 {
		if err := c.pages.next(); err != nil {
			return err
		}
	}
	if c.rep, err = c.reps.next(); err != nil {
		return c.fault("levels", err)
	}
	if c.def, err = c.defs.next(); err != nil {
		return c.fault("levels", err)
	}
	c.left--
	c.ahead = true
	return nil
}

// more reports whether the chunk has a value that was not read.
func (c *cursor) more() bool { return c.ahead || c.left > 0 || c.seen < c.c.values }

func (c *cursor) cell(out *columns.Cell) error {
	if err := c.peek(); err != nil {
		return err
	}
	if c.rep != 0 {
		return c.fault("levels", fmt.Errorf("got level %d at the start of a row, want 0", c.rep))
	}
	if !c.list {
		c.ahead = false
		if out.Null = c.def < c.l.max; out.Null {
			return nil
		}
		return c.value(out)
	}
	if c.def < c.l.element {
		c.ahead = false
		out.Null = c.def < c.l.present
		return nil
	}
	for {
		c.ahead = false
		if c.def < c.l.max {
			out.Bad = "null"
		} else if err := c.value(out); err != nil {
			return err
		}
		if out.Bad == "" {
			out.Ints = append(out.Ints, out.Int)
		}
		if len(out.Ints) > maxList {
			return c.fault("list", fmt.Errorf("got more than %d numbers in a row", maxList))
		}
		if !c.more() {
			return nil
		}
		if err := c.peek(); err != nil {
			return err
		}
		switch {
		case c.rep == 0:
			return nil
		case c.def < c.l.element:
			return c.fault("levels", fmt.Errorf("got an empty list within a list"))
		}
	}
}

// value reads the value itself.
func (c *cursor) value(out *columns.Cell) error {
	if err := c.values.next(out); err != nil {
		return c.fault("values", err)
	}
	if c.l.unsigned && out.Int < 0 {
		if c.l.bits == 32 {
			out.Int = int64(uint32(out.Int))
		} else {
			out.Bad = strconv.FormatUint(uint64(out.Int), 10)
		}
	}
	return nil
}

// end checks that the rows of the group took all values of the chunk.
func (c *cursor) end() error {
	if c.more() {
		return c.fault("values", fmt.Errorf("got more than the rows of the group have"))
	}
	return nil
}
