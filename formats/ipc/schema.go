package ipc

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"

	"hydrant/formats"
)

// Column types. These are all that a stream of Hydrant may hold: no dictionary,
// struct, map, view, duration or half float, each of which breaks or loses
// digits in a reader that people use.
const (
	Int64     = "int64"
	Int32     = "int32"
	Float64   = "float64"
	Bool      = "bool"
	UTF8      = "utf8"
	ListInt64 = "list<int64>"
	ListInt32 = "list<int32>"
)

// maxFields bounds the columns of a table, so that a schema cannot ask for more
// work than it has bytes.
const maxFields = 4096

// Field is one column as a stream declares it.
type Field struct {
	Name     string
	Type     string
	Nullable bool
}

// Table describes the stream of one table as read from its schema message.
type Table struct {
	Fields []Field
	Meta   map[string]string
}

// arrowTypes maps the names above to Arrow's types.
var arrowTypes = map[string]arrow.DataType{
	Int64:     arrow.PrimitiveTypes.Int64,
	Int32:     arrow.PrimitiveTypes.Int32,
	Float64:   arrow.PrimitiveTypes.Float64,
	Bool:      arrow.FixedWidthTypes.Boolean,
	UTF8:      arrow.BinaryTypes.String,
	ListInt64: arrow.ListOf(arrow.PrimitiveTypes.Int64),
	ListInt32: arrow.ListOf(arrow.PrimitiveTypes.Int32),
}

// arrowSchema builds the schema that Arrow is given, with the metadata in the
// order of keys and values.
func arrowSchema(fields []Field, keys, values []string) *arrow.Schema {
	fs := make([]arrow.Field, len(fields))
	for i, f := range fields {
		fs[i] = arrow.Field{Name: f.Name, Type: arrowTypes[f.Type], Nullable: f.Nullable}
	}
	md := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fs, &md)
}

// ParseSchema reads a schema message. Arrow never sees these bytes: its reader is
// given a schema built from the result.
func ParseSchema(fr Frame, place string) (*Table, error) {
	bad := func(what, got, want string) (*Table, error) {
		return nil, &formats.SyntaxError{Place: place, What: what, Got: got, Want: want}
	}
	if fr.Type != Schema {
		return bad("message", fr.Type.String(), "a schema")
	}
	f := &flat{b: fr.Meta()}
	s := f.child(f.ref(0), 2)
	t := &Table{Meta: map[string]string{}}
	if p := f.slot(s, 0); p != 0 && f.u16(p) != 0 {
		return bad("byte order", "big endian", "little endian")
	}
	at, n := f.vector(s, 2, 4)
	for i := 0; i < n && !f.bad; i++ {
		kv := f.ref(at + 4*i)
		t.Meta[f.text(kv, 0)] = f.text(kv, 1)
		if len(t.Meta) > maxFields {
			return bad("schema metadata", fmt.Sprintf("%d pairs", n), fmt.Sprintf("at most %d", maxFields))
		}
	}
	at, n = f.vector(s, 1, 4)
	if n > maxFields {
		return bad("columns", fmt.Sprint(n), fmt.Sprintf("at most %d", maxFields))
	}
	seen := make(map[string]bool, n)
	for i := 0; i < n && !f.bad; i++ {
		p := f.ref(at + 4*i)
		name := f.text(p, 0)
		if len(name) > 256 {
			return bad("column name", fmt.Sprintf("%d bytes", len(name)), "at most 256")
		}
		if seen[name] {
			return bad("column", name, "each name once")
		}
		seen[name] = true
		typ, ok := fieldType(f, p)
		if !ok && !f.bad {
			return bad("type of column "+name, typ, "int64, int32, float64, bool, utf8 or a list of int64 or int32")
		}
		t.Fields = append(t.Fields, Field{Name: name, Type: typ, Nullable: f.flag(p, 1)})
	}
	if f.bad || s == 0 {
		return bad("schema", "a damaged flatbuffer", "an Arrow schema")
	}
	return t, nil
}

func (f *flat) flag(t, i int) bool {
	p := f.slot(t, i)
	return p != 0 && f.u8(p) != 0
}

// fieldType names the type of the field table at p, or says what else it is.
func fieldType(f *flat, p int) (string, bool) {
	if f.slot(p, 4) != 0 {
		return "dictionary", false
	}
	typ, ok := scalarType(f, p)
	if typ != "list" {
		return typ, ok
	}
	at, n := f.vector(p, 5, 4)
	if n != 1 {
		return fmt.Sprintf("list of %d", n), false
	}
	c := f.ref(at)
	item, _ := scalarType(f, c)
	typ = "list<" + item + ">"
	return typ, f.slot(c, 4) == 0 && (typ == ListInt64 || typ == ListInt32)
}

func scalarType(f *flat, p int) (string, bool) {
	var id uint8
	if q := f.slot(p, 2); q != 0 {
		id = f.u8(q)
	}
	t := f.child(p, 3)
	switch id {
	case 2:
		var bits uint32
		if q := f.slot(t, 0); q != 0 {
			bits = f.u32(q)
		}
		if !f.flag(t, 1) {
			return fmt.Sprintf("uint%d", bits), false
		}
		return fmt.Sprintf("int%d", bits), bits == 64 || bits == 32
	case 3:
		var precision uint16
		if q := f.slot(t, 0); q != 0 {
			precision = f.u16(q)
		}
		return [...]string{"float16", "float32", "float64"}[min(precision, 2)], precision == 2
	case 5:
		return UTF8, true
	case 6:
		return Bool, true
	case 12:
		return "list", false
	}
	return fmt.Sprintf("Arrow type %d", id), false
}
