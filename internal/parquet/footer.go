package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// maxFooter bounds the metadata of a file, bytes: some 100,000 column chunks.
const maxFooter = 64 << 20

const magic = "PAR1"

// cutHelp is the hint of a file that ends too early.
const cutHelp = "the file was cut off; copy it again"

// File is a Parquet file that was opened for reading.
type File struct {
	r      io.ReaderAt
	size   int64
	place  string
	cols   []columns.Column
	leaves []leaf // those of cols
	groups []group
	width  int // leaves of the schema, those of nested columns included
}

// leaf is where the values of a top-level column are.
type leaf struct {
	at       int   // index among the leaves of the schema, −1: none that is read
	physical int64 // Parquet's type
	unsigned bool
	bits     int   // of whole numbers
	present  uint8 // definition level from which the cell is not null
	element  uint8 // of lists: from which it has an element
	max      uint8 // from which there is a value
}

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk // by leaf of the schema
}

// chunk is the values of one leaf in a row group.
type chunk struct {
	physical, codec      int64
	values               int64
	data, dict, size     int64 // offsets in the file, and bytes
	elsewhere, scrambled bool
}

// Open reads the footer of a Parquet file of size bytes. place names it in errors, which
// are *formats.SyntaxError, *formats.TruncatedError, or those of r.
func Open(r io.ReaderAt, size int64, place string) (*File, error) {
	f := &File{r: r, size: size, place: place}
	footer, err := f.footer()
	if err != nil {
		return nil, err
	}
	t := &thrift{b: footer}
	var elements []element
	var rows int64
	encrypted := false
	t.fields(func(id int64, typ byte) {
		switch id {
		case 2:
			t.structs(typ, func() { elements = append(elements, t.element()) })
		case 3:
			rows = t.whole(typ)
		case 4:
			t.structs(typ, func() { f.groups = append(f.groups, t.group()) })
		case 8:
			encrypted = true
			t.skip(typ)
		default:
			t.skip(typ)
		}
	})
	switch {
	case t.bad:
		return nil, f.broken("footer", "damaged metadata", "that of a Parquet file")
	case encrypted:
		return nil, f.broken("footer", "encrypted columns", "a file that is not encrypted")
	}
	if err := f.schema(elements); err != nil {
		return nil, err
	}
	return f, f.check(rows)
}

// footer returns the metadata at the end of the file.
func (f *File) footer() ([]byte, error) {
	cut := &formats.TruncatedError{Place: f.place, Want: "the footer of a Parquet file, which ends in " + magic, Help: cutHelp}
	if f.size < int64(2*len(magic)+4) {
		return nil, cut
	}
	var head [4]byte
	var tail [8]byte
	if err := errors.Join(f.read(head[:], 0), f.read(tail[:], f.size-8)); err != nil {
		return nil, err
	}
	switch {
	case string(head[:]) != magic:
		return nil, f.broken("first bytes", string(head[:]), magic)
	case string(tail[4:]) == "PARE":
		return nil, f.broken("footer", "an encrypted one", "a file that is not encrypted")
	case string(tail[4:]) != magic:
		return nil, cut
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > f.size-12 || n > maxFooter {
		return nil, f.broken("footer", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d", min(f.size-12, maxFooter)))
	}
	b := make([]byte, n)
	return b, f.read(b, f.size-8-n)
}

func (f *File) read(b []byte, at int64) error {
	if n, err := f.r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("%s: %w", f.place, err)
	}
	return nil
}

func (f *File) broken(what, got, want string) error {
	return &formats.SyntaxError{Place: f.place, What: what, Got: formats.Clip(got), Want: want}
}

// element is one element of the schema, a column or a group of columns.
type element struct {
	name       string
	physical   int64 // −1: a group
	repetition int64
	children   int64
	converted  int64 // −1: none
	logical    int64 // the set member of the union, 0: none
	bits       int64 // of the logical type of whole numbers
	unsigned   bool
}

func (t *thrift) element() element {
	e := element{physical: -1, converted: -1}
	t.fields(func(id int64, typ byte) {
		switch id {
		case 1:
			e.physical = t.whole(typ)
		case 3:
			e.repetition = t.whole(typ)
		case 4:
			e.name = t.text(typ)
		case 5:
			e.children = t.whole(typ)
		case 6:
			e.converted = t.whole(typ)
		case 10:
			if typ != thriftStruct {
				t.bad = true
			}
			t.fields(func(id int64, typ byte) {
				e.logical = id
				if id != logicalInteger || typ != thriftStruct {
					t.skip(typ)
					return
				}
				t.fields(func(id int64, typ byte) {
					switch {
					case id == 1:
						e.bits = t.whole(typ)
					case id == 2:
						e.unsigned = typ == thriftFalse
					default:
						t.skip(typ)
					}
				})
			})
		default:
			t.skip(typ)
		}
	})
	return e
}

func (t *thrift) group() (g group) {
	t.fields(func(id int64, typ byte) {
		switch id {
		case 1:
			t.structs(typ, func() { g.chunks = append(g.chunks, t.chunk()) })
		case 3:
			g.rows = t.whole(typ)
		default:
			t.skip(typ)
		}
	})
	return g
}

func (t *thrift) chunk() (c chunk) {
	c.physical = -1
	t.fields(func(id int64, typ byte) {
		switch {
		case id == 1:
			c.elsewhere = true
			t.skip(typ)
		case id == 3 && typ == thriftStruct:
			t.fields(func(id int64, typ byte) {
				switch id {
				case 1:
					c.physical = t.whole(typ)
				case 4:
					c.codec = t.whole(typ)
				case 5:
					c.values = t.whole(typ)
				case 7:
					c.size = t.whole(typ)
				case 9:
					c.data = t.whole(typ)
				case 11:
					c.dict = t.whole(typ)
				default:
					t.skip(typ)
				}
			})
		case id == 8 || id == 9:
			c.scrambled = true
			t.skip(typ)
		default:
			t.skip(typ)
		}
	})
	return c
}

// check compares what the row groups say with the schema and with the size of the file.
func (f *File) check(rows int64) error {
	sum := int64(0)
	for i, g := range f.groups {
		at := fmt.Sprintf("row group %d", i+1)
		if g.rows < 0 || g.rows > rows-sum {
			return f.broken("rows", fmt.Sprintf("%d in %s", g.rows, at), fmt.Sprintf("%d in all", rows))
		}
		sum += g.rows
		if len(g.chunks) != f.width {
			return f.broken("columns", fmt.Sprintf("%d in %s", len(g.chunks), at), fmt.Sprint(f.width))
		}
		for j, l := range f.leaves {
			if l.at < 0 {
				continue
			}
			c := g.chunks[l.at]
			where := "column " + f.cols[j].Name + ", " + at
			switch {
			case c.scrambled || c.elsewhere:
				return f.broken(where, "values that are encrypted or in another file", "values in this file")
			case c.physical != l.physical:
				return f.broken(where, fmt.Sprintf("physical type %d", c.physical), fmt.Sprintf("%d as in the schema", l.physical))
			case c.values < 0 || f.cols[j].Kind != columns.IntList && c.values != g.rows || c.values < g.rows:
				return f.broken(where, fmt.Sprintf("%d values", c.values), fmt.Sprintf("those of %d rows", g.rows))
			case g.rows == 0:
			case c.size < 0 || c.start() < 4 || c.start() > f.size || c.size > f.size-c.start():
				return f.broken(where, fmt.Sprintf("%d bytes at %d", c.size, c.start()), fmt.Sprintf("bytes of the file, which has %d", f.size))
			}
		}
	}
	if sum != rows {
		return f.broken("rows", fmt.Sprintf("%d in the row groups", sum), fmt.Sprint(rows))
	}
	return nil
}

// start is the offset of the first page.
func (c chunk) start() int64 {
	if c.dict > 0 && c.dict < c.data {
		return c.dict
	}
	return c.data
}
