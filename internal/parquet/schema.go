package parquet

import (
	"fmt"
	"math/bits"

	"hydrant/internal/columns"
)

// Physical types.
const (
	typeBool      = 0
	typeInt32     = 1
	typeInt64     = 2
	typeFloat     = 4
	typeDouble    = 5
	typeByteArray = 6
)

// Repetitions.
const (
	required = 0
	optional = 1
	repeated = 2
)

// Members of the union of logical types, and the older converted types beside them.
const (
	logicalString  = 1
	logicalList    = 3
	logicalInteger = 10
	logicalUnknown = 11
	logicalJSON    = 12

	convertedUTF8 = 0
	convertedList = 3
	convertedJSON = 19
)

// maxSchema bounds the elements of a schema, and their nesting.
const (
	maxSchema = 1 << 16
	maxNested = 64
)

// schema finds the columns: those of one value and those of one list of whole numbers.
func (f *File) schema(all []element) error {
	bad := func(got, want string) error { return f.broken("schema", got, want) }
	if len(all) == 0 || len(all) > maxSchema || all[0].children < 0 || all[0].children >= int64(len(all)) {
		return bad(fmt.Sprintf("%d elements", len(all)), "a schema with columns")
	}
	seen := map[string]bool{}
	rest := all[1:]
	for range all[0].children {
		n, leaves, ok := size(rest, 0)
		if !ok {
			return bad("columns that end early", "all of them")
		}
		name := rest[0].name
		if seen[name] {
			return bad("column "+name+" twice", "each name once")
		}
		seen[name] = true
		c, l := column(rest[:n])
		if l.at = -1; c.Kind != columns.Other {
			l.at = f.width
		}
		f.cols, f.leaves = append(f.cols, c), append(f.leaves, l)
		f.width += leaves
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return bad(fmt.Sprintf("%d elements too many", len(rest)), "those of the columns")
	}
	return nil
}

// size returns how many elements a column has, and how many of them are leaves.
func size(all []element, depth int) (n, leaves int, ok bool) {
	if len(all) == 0 || depth > maxNested {
		return 0, 0, false
	}
	if all[0].physical >= 0 {
		return 1, 1, all[0].children == 0
	}
	n = 1
	for range all[0].children {
		m, l, ok := size(all[n:], depth+1)
		if !ok {
			return 0, 0, false
		}
		n, leaves = n+m, leaves+l
	}
	return n, leaves, true
}

// column says what a column, the first of its elements, holds.
func column(all []element) (columns.Column, leaf) {
	top := all[0]
	c := columns.Column{Name: top.name}
	var l leaf
	if top.repetition == optional {
		l.present = 1
	}
	l.element, l.max = l.present, l.present
	item := top
	list := top.physical < 0 && (top.logical == logicalList || top.converted == convertedList)
	switch {
	case top.physical >= 0 && top.repetition != repeated:
	case top.physical >= 0: // a repeated value without a list around it
		list = true
		l.element, l.max = 1, 1
	case list && len(all) == 2 && all[1].physical >= 0 && all[1].repetition == repeated: // the older, shorter form
		item = all[1]
		l.element = l.present + 1
		l.max = l.element
	case list && len(all) == 3 && all[1].repetition == repeated && all[1].physical < 0 && all[2].physical >= 0 && all[2].repetition != repeated:
		item = all[2]
		l.element = l.present + 1
		l.max = l.element
		if item.repetition == optional {
			l.max++
		}
	default:
		c.Type = "a group of columns"
		if list {
			c.Type = "a list of groups"
		}
		return c, l
	}
	l.physical = item.physical
	c.Kind, c.Type = item.kind(&l)
	if list {
		c.Type = "list of " + c.Type
		if c.Kind == columns.Int || c.Kind == columns.Nulls {
			c.Kind = columns.IntList
		} else {
			c.Kind = columns.Other
		}
	}
	return c, l
}

// kind says what the values of a leaf are.
func (e *element) kind(l *leaf) (columns.Kind, string) {
	switch {
	case e.logical == logicalUnknown:
		return columns.Nulls, "null"
	case e.physical == typeBool:
		return columns.Bool, "bool"
	case e.physical == typeFloat:
		return columns.Float, "float"
	case e.physical == typeDouble:
		return columns.Float, "double"
	case e.physical == typeByteArray && (e.logical == logicalString || e.logical == logicalJSON || e.logical == 0 && (e.converted == convertedUTF8 || e.converted == convertedJSON)):
		return columns.Text, "string"
	case e.physical == typeByteArray && e.logical == 0 && e.converted < 0:
		return columns.Other, "binary"
	case e.physical == typeInt32 || e.physical == typeInt64:
		l.bits = int(32 * e.physical)
		switch {
		case e.logical == logicalInteger:
			l.unsigned = e.unsigned
			return columns.Int, intName(e.unsigned, e.bits)
		case e.logical != 0:
		case e.converted >= 11 && e.converted <= 18: // UINT_8 … UINT_64, INT_8 … INT_64
			l.unsigned = e.converted < 15
			return columns.Int, intName(l.unsigned, 8<<((e.converted-11)&3))
		case e.converted < 0:
			return columns.Int, intName(false, int64(l.bits))
		}
	}
	return columns.Other, fmt.Sprintf("physical type %d, logical type %d", e.physical, e.logical)
}

func intName(unsigned bool, bits int64) string {
	if unsigned {
		return fmt.Sprint("uint", bits)
	}
	return fmt.Sprint("int", bits)
}

// levelBits is the width of levels up to max.
func levelBits(max uint8) uint { return uint(bits.Len8(max)) }
