package ipc

import (
	"slices"

	"hydrant/formats"
)

// Decoder turns the record-batch messages of one stream back into rows. Columns
// are matched by name: one the stream lacks reads as null, one this build does
// not know is passed over.
type Decoder[T any] struct {
	cols []Column[T]
	at   []int // index in the stream of each column, −1 when absent

	skipped []bool // columns that nobody looks at
	table   *Table
	vals    []values
	rows    int
	next    int
	row     T

	loader            loader
	wanted            []bool // of the buffers of a batch
	arrayAt, bufferAt []int  // of each field of the table: its first ones

	numbers []number // of the loaded batch
	others  []int    // columns that are no whole numbers that may be null
}

// number is a column of whole numbers that may be null, and the field that it fills.
type number struct {
	to     *formats.Int
	values []int64
	valid  []byte // a bit per row; nil: none is null
}

// NewDecoder returns a decoder for a stream that declares table t.
func NewDecoder[T any](cols []Column[T], t *Table, place string) (*Decoder[T], error) {
	d := &Decoder[T]{cols: cols, table: t, vals: make([]values, len(cols))}
	for i, c := range cols {
		d.vals[i].ints, d.vals[i].nulls = []int64{}, []formats.Int{} // an empty list is not a nil one
		at := -1
		for j, f := range t.Fields {
			if f.Name == c.Name {
				at = j
			}
		}
		switch {
		case at >= 0 && t.Fields[at].Type != c.Type:
			return nil, &formats.SyntaxError{Place: place, What: "type of column " + c.Name, Got: t.Fields[at].Type, Want: c.Type}
		case at < 0 && c.Null == "":
			return nil, &formats.SyntaxError{Place: place, What: "column " + c.Name, Got: "none", Want: "one of type " + c.Type}
		}
		d.at = append(d.at, at)
		d.vals[i].field, d.vals[i].typ = c.Field(&d.row), c.Type
	}
	d.skipped = make([]bool, len(cols))
	known := make([]bool, len(t.Fields))
	for _, at := range d.at {
		if at >= 0 {
			known[at] = true
		}
	}
	array := 0
	for i, f := range t.Fields {
		d.arrayAt, d.bufferAt = append(d.arrayAt, array), append(d.bufferAt, len(d.wanted))
		a, b := arrays(f.Type)
		array += a
		for range b {
			d.wanted = append(d.wanted, known[i])
		}
	}
	return d, nil
}

// Skip leaves a column, by its place among those of the decoder, as it is stored: it reads as
// null, or as the zero value, in every row from now on.
func (d *Decoder[T]) Skip(i int) {
	at := d.at[i]
	if at < 0 {
		return
	}
	d.skipped[i] = true
	_, n := arrays(d.table.Fields[at].Type)
	for b := range n {
		d.wanted[d.bufferAt[at]+b] = false
	}
}

// Load takes the next record batch. Nothing of the frame is kept.
func (d *Decoder[T]) Load(fr Frame, place string) (err error) {
	d.rows, d.next = 0, 0
	b, err := checkBatch(fr, d.table, place)
	if err != nil {
		return err
	}
	buffers, err := d.loader.load(&b, d.wanted)
	if err != nil {
		return &formats.SyntaxError{Place: place, What: "record batch", Err: err}
	}
	d.numbers, d.others = d.numbers[:0], d.others[:0]
	for i, c := range d.cols {
		at := d.at[i]
		if at < 0 {
			continue
		}
		of := b.arrays[d.arrayAt[at]:]
		if of[0].nulls > 0 && c.Null == "" {
			return &formats.SyntaxError{Place: place, What: "column " + c.Name, Got: "null", Want: "a value in every row"}
		}
		if d.skipped[i] {
			continue
		}
		v := &d.vals[i]
		if err := v.load(of, buffers[d.bufferAt[at]:]); err != nil {
			return &formats.SyntaxError{Place: place, What: "column " + c.Name, Err: err}
		}
		// Most columns are numbers that may be null, of which Next asks nothing row by row.
		if to, ok := v.field.(*formats.Int); ok && v.typ == Int64 {
			d.numbers = append(d.numbers, number{to, v.i64, v.valid})
		} else {
			d.others = append(d.others, i)
		}
	}
	d.rows = int(b.rows)
	return nil
}

// Next returns the next row of the batch, valid until the next call (its text may
// be kept), or nil after the last.
func (d *Decoder[T]) Next() *T {
	if d.next == d.rows {
		return nil
	}
	row := d.next
	for i := range d.numbers {
		n := &d.numbers[i]
		if n.valid != nil && !bit(n.valid, row) {
			*n.to = formats.Int{}
		} else {
			*n.to = formats.Some(n.values[row])
		}
	}
	for _, i := range d.others {
		d.vals[i].get(row)
	}
	d.next++
	return &d.row
}

// get stores the value of a row into its field.
func (v *values) get(row int) {
	null := v.valid != nil && !bit(v.valid, row)
	switch p := v.field.(type) {
	case *int64:
		*p = v.i64[row]
	case *formats.Int:
		switch {
		case null:
			*p = formats.Int{}
		case bit(v.bits, row):
			*p = formats.Some(1)
		default:
			*p = formats.Some(0)
		}
	case *string:
		if null {
			*p = ""
		} else if s := v.text[v.off[row]:v.off[row+1]]; string(s) != *p {
			*p = string(s)
		}
	case *[]int64:
		if *p = nil; !null {
			v.ints = append(v.ints[:0], v.i64[v.off[row]:v.off[row+1]]...)
			*p = v.ints[:len(v.ints):len(v.ints)]
		}
	case *[]formats.Int:
		if *p = nil; !null {
			v.list(int(v.off[row]), int(v.off[row+1]))
			*p = v.nulls[:len(v.nulls):len(v.nulls)]
		}
	case *float64:
		*p = v.f64[row]
	default:
		internal("no column holds a %T", v.field)
	}
}

// list fills nulls with items of the lists.
func (v *values) list(from, to int) {
	v.nulls = slices.Grow(v.nulls[:0], to-from)[:to-from]
	for i := range v.nulls {
		switch {
		case v.items != nil && !bit(v.items, from+i):
			v.nulls[i] = formats.Int{}
		case v.i32 != nil:
			v.nulls[i] = formats.Some(int64(v.i32[from+i]))
		default:
			v.nulls[i] = formats.Some(v.i64[from+i])
		}
	}
}
