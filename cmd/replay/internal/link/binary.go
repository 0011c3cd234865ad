package link

import (
	"encoding/binary"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

func appendInt(b []byte, v formats.Int) []byte {
	if !v.Valid {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), v.V)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendBytes[T string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendInts writes a list as differences; ids of one message lie close together.
func appendInts(b []byte, list []int64) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	var last int64
	for _, v := range list {
		b = binary.AppendVarint(b, v-last)
		last = v
	}
	return b
}

// decoder reads the binary forms; after the first fault it yields zeros and end
// reports it.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return advance(d, v, n)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return advance(d, v, n)
}

func advance[T int64 | uint64](d *decoder, v T, n int) T {
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) flag() bool {
	if len(d.b) == 0 || d.b[0] > 1 {
		d.bad, d.b = true, nil
		return false
	}
	f := d.b[0] == 1
	d.b = d.b[1:]
	return f
}

func (d *decoder) null() formats.Int {
	if !d.flag() {
		return formats.Int{}
	}
	return formats.Some(d.varint())
}

// count reads the length of a list whose elements take at least size bytes each, so
// that no more is allocated than the message can hold.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) text() string { return string(d.raw()) }

// word is text that is mostly one of a few words, for which no memory is taken.
func (d *decoder) word() string {
	b := d.raw()
	for _, w := range [...]string{"0", schedule.Whole, schedule.Delta} {
		if string(b) == w {
			return w
		}
	}
	return string(b)
}

// bytes returns a copy, nil when empty.
func (d *decoder) bytes() []byte { return append([]byte(nil), d.raw()...) }

func (d *decoder) raw() []byte {
	n := d.count(1)
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) ints() []int64 {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	list := make([]int64, n)
	var last int64
	for i := range list {
		last += d.varint()
		list[i] = last
	}
	return list
}

func (d *decoder) end() error {
	if d.bad || len(d.b) != 0 {
		return errJob
	}
	return nil
}
