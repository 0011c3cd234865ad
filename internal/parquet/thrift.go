package parquet

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBytes  = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// thriftDepth bounds the nesting of what is skipped.
const thriftDepth = 32

// thrift walks a struct of Thrift's compact protocol and allocates nothing. What leaves
// the bytes or breaks the protocol sets bad, and all later calls return zeros.
type thrift struct {
	b   []byte
	i   int
	bad bool
}

func (t *thrift) byte() byte {
	if t.bad || t.i >= len(t.b) {
		t.bad = true
		return 0
	}
	t.i++
	return t.b[t.i-1]
}

func (t *thrift) uvarint() uint64 {
	if t.bad {
		return 0
	}
	v, n := binary.Uvarint(t.b[t.i:])
	if n <= 0 {
		t.bad = true
		return 0
	}
	t.i += n
	return v
}

// int reads an i16, i32 or i64.
func (t *thrift) int() int64 {
	u := t.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (t *thrift) bytes() []byte {
	n := t.uvarint()
	if t.bad || n > uint64(len(t.b)-t.i) {
		t.bad = true
		return nil
	}
	t.i += int(n)
	return t.b[t.i-int(n) : t.i]
}

// fields calls f with every field of a struct; f reads the value or skips it. A bool
// has no value beside its type.
func (t *thrift) fields(f func(id int64, typ byte)) {
	id := int64(0)
	for !t.bad {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else {
			id = t.int()
		}
		f(id, head&15)
	}
}

// list reads the head of a list whose elements take a byte at least.
func (t *thrift) list() (n int, typ byte) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.uvarint()
	}
	if t.bad || size > uint64(len(t.b)-t.i) {
		t.bad = true
		return 0, 0
	}
	return int(size), head & 15
}

// structs calls f for every element of a list of structs; f reads its fields.
func (t *thrift) structs(typ byte, f func()) {
	if typ != thriftList {
		t.bad = true
	}
	n, elem := t.list()
	if n > 0 && elem != thriftStruct {
		t.bad = true
	}
	for range n {
		if t.bad {
			return
		}
		f()
	}
}

// whole reads a whole number of any width.
func (t *thrift) whole(typ byte) int64 {
	switch typ {
	case thriftByte:
		return int64(int8(t.byte()))
	case thriftI16, thriftI32, thriftI64:
		return t.int()
	}
	t.bad = true
	return 0
}

// text reads a string.
func (t *thrift) text(typ byte) string {
	if typ != thriftBytes {
		t.bad = true
		return ""
	}
	return string(t.bytes())
}

// skip passes over a value.
func (t *thrift) skip(typ byte) { t.pass(typ, 0) }

func (t *thrift) pass(typ byte, depth int) {
	if depth > thriftDepth {
		t.bad = true
	}
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		t.jump(8)
	case thriftUUID:
		t.jump(16)
	case thriftBytes:
		t.bytes()
	case thriftStruct:
		t.fields(func(_ int64, typ byte) { t.pass(typ, depth+1) })
	case thriftList, thriftSet:
		n, elem := t.list()
		t.elements(n, elem, depth)
	case thriftMap:
		n := t.uvarint()
		if n == 0 {
			return
		}
		kinds := t.byte()
		for ; n > 0 && !t.bad; n-- {
			t.elements(1, kinds>>4, depth)
			t.elements(1, kinds&15, depth)
		}
	default:
		t.bad = true
	}
}

// elements passes over values in a list or map, where a bool takes a byte.
func (t *thrift) elements(n int, typ byte, depth int) {
	for ; n > 0 && !t.bad; n-- {
		if typ == thriftTrue || typ == thriftFalse {
			t.byte()
			continue
		}
		t.pass(typ, depth+1)
	}
}

func (t *thrift) jump(n int) {
	if t.bad || n > len(t.b)-t.i {
		t.bad = true
		return
	}
	t.i += n
}
