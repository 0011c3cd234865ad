package ipc

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	aipc "github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"hydrant/formats"
)

// Decoder turns the record-batch messages of one stream back into rows. Columns
// are matched by name: one the stream lacks reads as null, one this build does
// not know is passed over.
type Decoder[T any] struct {
	cols  []Column[T]
	at    []int // index in the stream of each column, −1 when absent
	table *Table
	src   *source
	rdr   *aipc.Reader
	vals  []values
	rows  int
	next  int
	row   T

	numbers []number // of the loaded batch
	others  []int    // columns that are no whole numbers that may be null
}

// number is a column of whole numbers that may be null, and the field that it fills.
type number struct {
	to     *formats.Int
	values []int64 // nil: all are null
	valid  []byte  // a bit per row; nil: none is null
}

// NewDecoder returns a decoder for a stream that declares table t.
func NewDecoder[T any](cols []Column[T], t *Table, place string) (*Decoder[T], error) {
	d := &Decoder[T]{cols: cols, table: t, src: &source{}, vals: make([]values, len(cols))}
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
		d.vals[i].field = c.Field(&d.row)
	}
	return d, nil
}

// open starts Arrow's reader with a schema made from what ParseSchema found.
func (d *Decoder[T]) open(place string) error {
	msg, err := SchemaMessage(d.table.Fields, nil, nil)
	if err != nil {
		return err
	}
	if d.src.frame, err = ParseFrame(msg, place); err != nil {
		return err
	}
	if d.rdr, err = aipc.NewReaderFromMessageReader(d.src); err != nil {
		return fmt.Errorf("internal error: arrow refuses its own schema: %w", err)
	}
	return nil
}

// source hands one frame at a time to Arrow's reader.
type source struct {
	frame Frame
	msg   *aipc.Message
}

func (s *source) Retain()  {}
func (s *source) Release() {}
func (s *source) Message() (*aipc.Message, error) {
	if s.frame.Bytes == nil {
		return nil, io.EOF
	}
	s.msg = aipc.NewMessage(memory.NewBufferBytes(s.frame.Meta()), memory.NewBufferBytes(s.frame.Body()))
	s.frame = Frame{}
	return s.msg, nil
}

// Load takes the next record batch. Nothing of the frame is kept.
func (d *Decoder[T]) Load(fr Frame, place string) (err error) {
	d.rows, d.next = 0, 0
	rows, err := CheckBatch(fr, d.table, place)
	if err != nil {
		return err
	}
	if d.rdr == nil {
		if err := d.open(place); err != nil {
			return err
		}
	}
	defer func() { // a damaged message may still panic inside Arrow
		if p := recover(); p != nil {
			err = &formats.SyntaxError{Place: place, What: "record batch", Err: fmt.Errorf("arrow: %v", p)}
		}
	}()
	d.src.frame = fr
	if !d.rdr.Next() {
		return &formats.SyntaxError{Place: place, What: "record batch", Err: d.rdr.Err()}
	}
	rec := d.rdr.Record()
	d.numbers, d.others = d.numbers[:0], d.others[:0]
	for i, c := range d.cols {
		if d.at[i] < 0 {
			continue
		}
		a := rec.Column(d.at[i])
		if a.NullN() > 0 && c.Null == "" {
			return &formats.SyntaxError{Place: place, What: "column " + c.Name, Got: "null", Want: "a value in every row"}
		}
		if err := d.vals[i].load(a); err != nil {
			return &formats.SyntaxError{Place: place, What: "column " + c.Name, Err: err}
		}
		d.sort(i, a)
	}
	d.rows = int(rows)
	return nil
}

// sort says how column i of the batch is stored into a row. Most columns are numbers that may
// be null, of which Next then asks nothing row by row.
func (d *Decoder[T]) sort(i int, a arrow.Array) {
	to, ok := d.vals[i].field.(*formats.Int)
	if _, whole := a.(*array.Int64); !ok || !whole {
		d.others = append(d.others, i)
		return
	}
	n := number{to: to}
	if a.NullN() < a.Len() {
		n.values = d.vals[i].i64
	}
	if a.NullN() > 0 {
		n.valid = a.NullBitmapBytes()
	}
	d.numbers = append(d.numbers, n)
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
		if n.values == nil || n.valid != nil && n.valid[row>>3]>>(row&7)&1 == 0 {
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

// values gives access to one column of the loaded batch.
type values struct {
	field any // pointer to the row's field
	a     arrow.Array
	i64   []int64
	i32   []int32
	f64   []float64
	bits  *array.Boolean
	text  *array.String
	off   []int32     // of lists
	items arrow.Array // of lists
	ints  []int64     // reused for a row's list
	nulls []formats.Int
}

// load checks what the values point at: offsets that fall or leave their data
// would panic later, one row at a time.
func (v *values) load(a arrow.Array) error {
	v.a = a
	switch a := a.(type) {
	case *array.Int64:
		v.i64 = a.Int64Values()
	case *array.Float64:
		v.f64 = a.Float64Values()
	case *array.Boolean:
		v.bits = a
	case *array.String:
		v.text = a
		if a.Len() == 0 {
			return nil
		}
		return rising(a.ValueOffsets(), len(a.Data().Buffers()[2].Bytes()))
	case *array.List:
		v.items = a.ListValues()
		switch items := v.items.(type) {
		case *array.Int64:
			v.i64 = items.Int64Values()
		case *array.Int32:
			v.i32 = items.Int32Values()
		}
		if a.Len() == 0 {
			return nil
		}
		v.off = a.Offsets()
		return rising(v.off, v.items.Len())
	default:
		internal("no column is a %T", a)
	}
	return nil
}

func rising(off []int32, limit int) error {
	last := int32(0)
	for _, o := range off {
		if o < last {
			return fmt.Errorf("offset %d after %d", o, last)
		}
		last = o
	}
	if int(last) > limit {
		return fmt.Errorf("offset %d into %d values", last, limit)
	}
	return nil
}

// get stores the value of a row into its field.
func (v *values) get(row int) {
	null := v.a.IsNull(row)
	switch p := v.field.(type) {
	case *int64:
		*p = v.i64[row]
	case *formats.Int:
		switch {
		case null:
			*p = formats.Int{}
		case v.bits == nil:
			*p = formats.Some(v.i64[row])
		case v.bits.Value(row):
			*p = formats.Some(1)
		default:
			*p = formats.Some(0)
		}
	case *string:
		if null {
			*p = ""
		} else if s := v.text.Value(row); s != *p {
			*p = strings.Clone(s) // the batch's text must not live as long as a row's
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
	some := v.items.NullN() > 0
	for i := range v.nulls {
		switch {
		case some && v.items.IsNull(from+i):
			v.nulls[i] = formats.Int{}
		case v.i32 != nil:
			v.nulls[i] = formats.Some(int64(v.i32[from+i]))
		default:
			v.nulls[i] = formats.Some(v.i64[from+i])
		}
	}
}
