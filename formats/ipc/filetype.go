package ipc

import (
	"fmt"

	"hydrant/internal/columns"
)

// Arrow's type numbers.
const (
	arrowNull     = 1
	arrowInt      = 2
	arrowFloat    = 3
	arrowUTF8     = 5
	arrowBool     = 6
	arrowList     = 12
	arrowStruct   = 13
	arrowUnion    = 14
	arrowFixed    = 16
	arrowMap      = 17
	arrowUTF8L    = 20
	arrowListL    = 21
	arrowRunEnd   = 22
	arrowBinaryV  = 23
	arrowUTF8V    = 24
	arrowListV    = 25
	arrowListLV   = 26
	maxArrowType  = arrowListLV
	maxArrowDepth = 32
)

// arrowNames names the types for errors.
var arrowNames = [maxArrowType + 1]string{"none", "null", "int", "float", "binary", "string", "bool", "decimal", "date", "time", "timestamp", "interval", "list", "struct", "union",
	"fixed_size_binary", "fixed_size_list", "map", "duration", "large_binary", "large_string", "large_list", "run_end_encoded", "binary_view", "string_view", "list_view", "large_list_view"}

// field is a column of a file, or a part of one.
type field struct {
	typ      uint8
	bits     int // of numbers
	signed   bool
	mode     uint16 // of a union
	children []field

	coded    bool // its values stand in a dictionary
	dict     int64
	index    int // bits of the indices
	unsigned bool

	start position // of a column, in every batch
}

// position counts what stands before a column in a batch.
type position struct{ nodes, buffers, variadic int }

// schema reads the columns.
func (f *File) schema(x *flat, schema int) error {
	at, n := x.vector(schema, 1, 4)
	if n > maxFields {
		return f.broken("columns", fmt.Sprint(n), fmt.Sprintf("at most %d", maxFields))
	}
	seen := map[string]bool{}
	left := maxFields
	var p position
	for i := 0; i < n && !x.bad; i++ {
		t := x.ref(at + 4*i)
		name := x.text(t, 0)
		if seen[name] {
			return f.broken("column", name, "each name once")
		}
		seen[name] = true
		fd, ok := readField(x, t, 0, &left)
		if !ok {
			return f.broken("type of column "+name, "one that is unknown, or nested too deep", "a type of Arrow")
		}
		fd.start = p
		p.pass(&fd)
		f.fields = append(f.fields, fd)
		kind, typ := fd.kind()
		f.cols = append(f.cols, columns.Column{Name: name, Kind: kind, Type: typ})
	}
	return nil
}

// readField reads the field table at t.
func readField(x *flat, t, depth int, left *int) (fd field, ok bool) {
	if *left--; *left < 0 || depth > maxArrowDepth || x.bad {
		return fd, false
	}
	if p := x.slot(t, 2); p != 0 {
		fd.typ = x.u8(p)
	}
	typ := x.child(t, 3)
	switch fd.typ {
	case arrowInt:
		fd.bits, fd.signed = intType(x, typ)
	case arrowFloat:
		if p := x.slot(typ, 0); p != 0 {
			fd.bits = 16 << min(x.u16(p), 2)
		} else {
			fd.bits = 16
		}
	case arrowUnion:
		if p := x.slot(typ, 0); p != 0 {
			fd.mode = x.u16(p)
		}
	}
	if d := x.child(t, 4); d != 0 {
		fd.coded = true
		if p := x.slot(d, 0); p != 0 {
			fd.dict = x.i64(p)
		}
		fd.index = 32
		if it := x.child(d, 1); it != 0 {
			bits, signed := intType(x, it)
			fd.index, fd.unsigned = bits, !signed
		}
		if !wholeBytes(fd.index) {
			return fd, false
		}
	}
	at, n := x.vector(t, 5, 4)
	for i := 0; i < n; i++ {
		c, ok := readField(x, x.ref(at+4*i), depth+1, left)
		if !ok {
			return fd, false
		}
		fd.children = append(fd.children, c)
	}
	return fd, fd.typ > 0 && fd.typ <= maxArrowType && (fd.typ != arrowInt || wholeBytes(fd.bits))
}

func wholeBytes(bits int) bool { return bits == 8 || bits == 16 || bits == 32 || bits == 64 }

func intType(x *flat, t int) (bits int, signed bool) {
	if p := x.slot(t, 0); p != 0 {
		bits = int(x.u32(p))
	}
	return bits, x.flag(t, 1)
}

// pass counts the arrays and buffers of a field, that of its children included.
func (p *position) pass(fd *field) {
	p.nodes++
	if fd.coded {
		p.buffers += 2
		return
	}
	switch fd.typ {
	case arrowNull, arrowRunEnd:
	case arrowStruct, arrowFixed:
		p.buffers++
	case arrowUnion:
		p.buffers += 1 + int(fd.mode)
	case 4, arrowUTF8, 19, arrowUTF8L, arrowListV, arrowListLV: // 4, 19: binary
		p.buffers += 3
	case arrowBinaryV, arrowUTF8V:
		p.buffers += 2
		p.variadic++
	default:
		p.buffers += 2
	}
	for i := range fd.children {
		p.pass(&fd.children[i])
	}
}

// kind says what the cells of a column hold.
func (fd *field) kind() (columns.Kind, string) {
	kind, name := columns.Other, arrowNames[fd.typ]
	switch fd.typ {
	case arrowNull:
		kind = columns.Nulls
	case arrowInt:
		kind = columns.Int
		if name = fmt.Sprint("int", fd.bits); !fd.signed {
			name = "u" + name
		}
	case arrowFloat:
		name = fmt.Sprint("float", fd.bits)
		if fd.bits > 16 {
			kind = columns.Float
		}
	case arrowBool:
		kind = columns.Bool
	case arrowUTF8, arrowUTF8L, arrowUTF8V:
		kind = columns.Text
	case arrowList, arrowListL:
		if len(fd.children) == 1 {
			item, of := fd.children[0].kind()
			if name += " of " + of; (item == columns.Int || item == columns.Nulls) && !fd.children[0].coded {
				kind = columns.IntList
			}
		}
	}
	if fd.coded {
		name = "dictionary of " + name
		if kind == columns.IntList || kind == columns.Nulls {
			kind = columns.Other
		}
	}
	return kind, name
}
