package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"

	"hydrant/formats"
	"hydrant/internal/codec"
	"hydrant/internal/columns"
)

// shelf is where the arrays of one batch are taken from.
type shelf struct {
	f     *File
	x     *flat
	body  int64 // offset of the body in the file
	size  int64 // of the body
	codec string
	at    position

	nodes, buffers, variadic    int // positions in x of the vectors
	nNodes, nBuffers, nVariadic int
}

// shelf opens the record batch table rb and returns its number of rows.
func (f *File) shelf(x *flat, rb int, b block, name string) (*shelf, int, error) {
	s := &shelf{f: f, x: x, body: b.at + b.meta, size: b.body, codec: codec.KindPlain}
	rows := batchRows(x, rb)
	s.nodes, s.nNodes = x.vector(rb, 1, 16)
	s.buffers, s.nBuffers = x.vector(rb, 2, 16)
	s.variadic, s.nVariadic = x.vector(rb, 4, 8)
	if z := x.child(rb, 3); z != 0 {
		s.codec = codec.KindLZ4
		if p := x.slot(z, 0); p != 0 && x.u8(p) == 1 {
			s.codec = codec.KindZstd
		} else if p != 0 && x.u8(p) != 0 {
			return nil, 0, f.broken(name, fmt.Sprintf("compression %d", x.u8(p)), "none, lz4 or zstd")
		}
	}
	if x.bad || rb == 0 || rows < 0 || rows > math.MaxInt32 {
		return nil, 0, f.broken(name, "a damaged flatbuffer", "an Arrow record batch")
	}
	return s, int(rows), nil
}

// seek goes to the arrays of a column. The views before it have buffers whose number is
// the batch's.
func (s *shelf) seek(p position) {
	s.at = p
	for i := range min(p.variadic, s.nVariadic) {
		s.at.buffers += int(min(max(s.x.i64(s.variadic+8*i), 0), int64(s.nBuffers)))
	}
}

// node takes the next array's length and whether it has nulls.
func (s *shelf) node() (n int, nulls bool, err error) {
	if s.at.nodes >= s.nNodes {
		return 0, false, errors.New("got a batch without its array, want one")
	}
	p := s.nodes + 16*s.at.nodes
	s.at.nodes++
	length, count := s.x.i64(p), s.x.i64(p+8)
	if length < 0 || length > math.MaxInt32 || count < 0 || count > length {
		return 0, false, fmt.Errorf("got %d values with %d nulls, want 0 ≤ nulls ≤ values", length, count)
	}
	return int(length), count > 0, nil
}

// buffer takes the next buffer, which must have least bytes.
func (s *shelf) buffer(least int64) ([]byte, error) {
	if s.at.buffers >= s.nBuffers {
		return nil, errors.New("got a batch without a buffer of it, want one")
	}
	p := s.buffers + 16*s.at.buffers
	s.at.buffers++
	off, n := s.x.i64(p), s.x.i64(p+8)
	if off < 0 || n < 0 || off > s.size || n > s.size-off {
		return nil, fmt.Errorf("got a buffer of %d bytes at %d, want one within the body of %d", n, off, s.size)
	}
	if n > maxBuffer {
		return nil, tooLarge(n)
	}
	b := make([]byte, n)
	if err := s.f.read(b, s.body+off); err != nil {
		return nil, err
	}
	if s.codec != codec.KindPlain && n > 0 {
		if n < 8 {
			return nil, fmt.Errorf("got a compressed buffer of %d bytes, want 8 at least", n)
		}
		plain := int64(binary.LittleEndian.Uint64(b))
		if b = b[8:]; plain != -1 { // −1: left as it was
			if plain < 0 || plain > maxBuffer {
				return nil, tooLarge(plain)
			}
			var err error
			if b, err = codec.Block(s.codec, b, int(plain)); err != nil {
				return nil, err
			}
		}
	}
	if int64(len(b)) < least {
		return nil, fmt.Errorf("got a buffer of %d bytes, want %d", len(b), least)
	}
	return b, nil
}

func tooLarge(n int64) error {
	return &formats.SyntaxError{Place: "buffer", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", maxBuffer), Help: batchHelp}
}

// series is the values of a column in one batch, or of a dictionary.
type series struct {
	fd    *field
	n     int
	valid []byte // a bit for each value that is not null; nil: none is
	data  []byte
	off   []byte   // offsets of texts and lists
	wide  bool     // they have 8 bytes
	more  [][]byte // of views: where long texts are
	items *series  // of lists
	dict  *dictionary
}

// array takes the array of a field, with the dictionary it points at, if it does.
func (s *shelf) array(fd *field, d *dictionary) (*series, error) {
	a := &series{fd: fd, dict: d}
	n, nulls, err := s.node()
	if err != nil {
		return nil, err
	}
	a.n = n
	if fd.typ == arrowNull && !fd.coded {
		return a, nil
	}
	if a.valid, err = s.buffer(0); err != nil {
		return nil, err
	}
	if !nulls {
		a.valid = nil
	} else if len(a.valid) < (n+7)/8 {
		return nil, fmt.Errorf("got nulls in %d bytes, want a bit for each of %d values", len(a.valid), n)
	}
	bits := fd.bits
	switch {
	case fd.coded:
		bits = fd.index
	case fd.typ == arrowBool:
		bits = 1
	case fd.typ == arrowUTF8V:
		bits = 128
	case fd.typ != arrowInt && fd.typ != arrowFloat:
		return a, s.offsets(a)
	}
	if a.data, err = s.buffer((int64(n)*int64(bits) + 7) / 8); err != nil {
		return nil, err
	}
	if fd.typ == arrowUTF8V && !fd.coded {
		return a, s.views(a)
	}
	return a, nil
}

// offsets takes what follows the nulls of texts and lists.
func (s *shelf) offsets(a *series) (err error) {
	a.wide = a.fd.typ == arrowUTF8L || a.fd.typ == arrowListL
	width := int64(4)
	if a.wide {
		width = 8
	}
	least := (int64(a.n) + 1) * width
	if a.n == 0 {
		least = 0
	}
	if a.off, err = s.buffer(least); err != nil {
		return err
	}
	if a.fd.typ == arrowList || a.fd.typ == arrowListL {
		a.items, err = s.array(&a.fd.children[0], nil)
		return err
	}
	a.data, err = s.buffer(0)
	return err
}

// views takes the buffers of long texts.
func (s *shelf) views(a *series) error {
	if s.at.variadic >= s.nVariadic {
		return errors.New("got a batch without the number of its buffers, want one")
	}
	n := s.x.i64(s.variadic + 8*s.at.variadic)
	s.at.variadic++
	if n < 0 || n > int64(s.nBuffers-s.at.buffers) {
		return fmt.Errorf("got %d buffers, want at most %d", n, s.nBuffers-s.at.buffers)
	}
	for range n {
		b, err := s.buffer(0)
		if err != nil {
			return err
		}
		a.more = append(a.more, b)
	}
	return nil
}

// maxList bounds the numbers in one cell.
const maxList = 1 << 22

// null reports whether value i is null.
func (a *series) null(i int) bool { return a.valid != nil && a.valid[i/8]>>(i%8)&1 == 0 }

// cell stores value i, which must be below n.
func (a *series) cell(i int, c *columns.Cell) error {
	if c.Null = a.null(i) || a.fd.typ == arrowNull; c.Null {
		return nil
	}
	if a.fd.coded {
		at, _ := whole(a.data, i, a.fd.index, !a.fd.unsigned)
		return a.dict.cell(at, c)
	}
	switch a.fd.typ {
	case arrowInt:
		c.Int, c.Bad = whole(a.data, i, a.fd.bits, a.fd.signed)
	case arrowFloat:
		if a.fd.bits == 32 {
			c.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(a.data[4*i:])))
		} else {
			c.Float = math.Float64frombits(binary.LittleEndian.Uint64(a.data[8*i:]))
		}
	case arrowBool:
		c.Int = int64(a.data[i/8] >> (i % 8) & 1)
	case arrowUTF8V:
		return a.view(i, c)
	case arrowUTF8, arrowUTF8L:
		from, to, err := a.span(i, len(a.data))
		if err == nil {
			c.Text = a.data[from:to]
		}
		return err
	default:
		return a.list(i, c)
	}
	return nil
}

// whole reads number i of some width; what int64 cannot hold comes back as text.
func whole(b []byte, i, bits int, signed bool) (int64, string) {
	switch b = b[i*bits/8:]; bits {
	case 8:
		if signed {
			return int64(int8(b[0])), ""
		}
		return int64(b[0]), ""
	case 16:
		if u := binary.LittleEndian.Uint16(b); signed {
			return int64(int16(u)), ""
		} else {
			return int64(u), ""
		}
	case 32:
		if u := binary.LittleEndian.Uint32(b); signed {
			return int64(int32(u)), ""
		} else {
			return int64(u), ""
		}
	}
	u := binary.LittleEndian.Uint64(b)
	if !signed && u > math.MaxInt64 {
		return int64(u), strconv.FormatUint(u, 10)
	}
	return int64(u), ""
}

// span returns the offsets of value i, into limit.
func (a *series) span(i, limit int) (from, to int, err error) {
	var x, y int64
	if a.wide {
		x, y = int64(binary.LittleEndian.Uint64(a.off[8*i:])), int64(binary.LittleEndian.Uint64(a.off[8*i+8:]))
	} else {
		x, y = int64(int32(binary.LittleEndian.Uint32(a.off[4*i:]))), int64(int32(binary.LittleEndian.Uint32(a.off[4*i+4:])))
	}
	if x < 0 || y < x || y > int64(limit) {
		return 0, 0, fmt.Errorf("got offsets %d and %d, want rising ones up to %d", x, y, limit)
	}
	return int(x), int(y), nil
}

// view reads a text of up to 12 bytes in place, or a longer one from its buffer.
func (a *series) view(i int, c *columns.Cell) error {
	v := a.data[16*i : 16*i+16]
	n := int64(int32(binary.LittleEndian.Uint32(v)))
	if n >= 0 && n <= 12 {
		c.Text = v[4 : 4+n]
		return nil
	}
	k, at := int64(int32(binary.LittleEndian.Uint32(v[8:]))), int64(int32(binary.LittleEndian.Uint32(v[12:])))
	if n < 0 || k < 0 || k >= int64(len(a.more)) || at < 0 || n > int64(len(a.more[k]))-at {
		return fmt.Errorf("got a text of %d bytes at %d of buffer %d, want one that is there", n, at, k)
	}
	c.Text = a.more[k][at : at+n]
	return nil
}

func (a *series) list(i int, c *columns.Cell) error {
	from, to, err := a.span(i, a.items.n)
	if err != nil {
		return err
	}
	if to-from > maxList {
		return fmt.Errorf("got a list of %d numbers, want at most %d", to-from, maxList)
	}
	var item columns.Cell
	for k := from; k < to; k++ {
		if err := a.items.cell(k, &item); err != nil {
			return err
		}
		if c.Bad = item.Bad; item.Null {
			c.Bad = "null"
		}
		if c.Bad != "" {
			return nil
		}
		c.Ints = append(c.Ints, item.Int)
	}
	return nil
}

// dictionary is the values that a column points at: the first batch of them, and what
// it grew by later.
type dictionary struct {
	parts []*series
	ends  []int64
}

func (d *dictionary) add(a *series) {
	n := int64(a.n)
	if len(d.ends) > 0 {
		n += d.ends[len(d.ends)-1]
	}
	d.parts, d.ends = append(d.parts, a), append(d.ends, n)
}

func (d *dictionary) cell(i int64, c *columns.Cell) error {
	k := sort.Search(len(d.ends), func(k int) bool { return d.ends[k] > i })
	if i < 0 || k == len(d.ends) {
		return fmt.Errorf("got value %d of a dictionary, want one that is there", i)
	}
	return d.parts[k].cell(int(i-d.ends[k]+int64(d.parts[k].n)), c)
}
