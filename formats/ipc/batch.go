package ipc

import (
	"encoding/binary"
	"fmt"

	"hydrant/formats"
)

// Rows returns the row count that a record-batch frame states. It checks no more
// than that; see checkBatch.
func Rows(fr Frame, place string) (int64, error) {
	f := &flat{b: fr.Meta()}
	rows := batchRows(f, f.child(f.ref(0), 2))
	if f.bad || fr.Type != RecordBatch || rows < 0 || rows > MaxRows {
		return 0, &formats.SyntaxError{Place: place, What: "rows", Got: fmt.Sprint(rows), Want: fmt.Sprintf("a record batch of at most %d rows", MaxRows)}
	}
	return rows, nil
}

func batchRows(f *flat, rb int) int64 {
	if p := f.slot(rb, 0); p != 0 {
		return f.i64(p)
	}
	return 0
}

// checkBatch compares every length that a record-batch message states with the
// schema, with the bytes that are there and with the caps, so that Arrow's reader
// allocates no more than MaxPlain for it and finds every value it looks for.
func checkBatch(fr Frame, t *Table, place string) (batch, error) {
	rows, err := Rows(fr, place)
	if err != nil {
		return batch{}, err
	}
	c := checker{f: &flat{b: fr.Meta()}, body: fr.Body()}
	rb := c.f.child(c.f.ref(0), 2)
	if z := c.f.child(rb, 3); z != 0 {
		c.zstd = true
		if p := c.f.slot(z, 0); p == 0 || c.f.u8(p) != 1 {
			c.fail("compression", "lz4 or another", "zstd or none")
		}
		if p := c.f.slot(z, 1); p != 0 && c.f.u8(p) != 0 {
			c.fail("compression method", fmt.Sprint(c.f.u8(p)), "0, by buffer")
		}
	}
	c.nodes, c.nodesLeft = c.f.vector(rb, 1, 16)
	c.buffers, c.buffersLeft = c.f.vector(rb, 2, 16)
	for _, fd := range t.Fields {
		c.column(fd, rows)
	}
	switch {
	case c.f.bad:
		c.fail("record batch", "a damaged flatbuffer", "an Arrow record batch")
	case c.nodesLeft != 0 || c.buffersLeft != 0:
		c.fail("record batch", fmt.Sprintf("%d arrays and %d buffers too many", c.nodesLeft, c.buffersLeft), "those of the schema")
	case c.plain > MaxPlain:
		c.fail("size of the batch", fmt.Sprintf("%d bytes", c.plain), fmt.Sprintf("at most %d", MaxPlain))
	}
	if c.err != nil {
		c.err.Place = place
		return batch{}, c.err
	}
	c.found.rows = rows
	return c.found, nil
}

// checker walks the arrays of one batch in the order of the schema.
type checker struct {
	f           *flat
	body        []byte
	zstd        bool
	nodes       int // position of the next array's length and null count
	nodesLeft   int
	buffers     int // position of the next buffer's offset and length
	buffersLeft int
	plain       int64 // bytes after decompression, so far
	found       batch
	err         *formats.SyntaxError
}

func (c *checker) fail(what, got, want string) {
	if c.err == nil {
		c.err = &formats.SyntaxError{What: what, Got: got, Want: want}
	}
}

func (c *checker) column(fd Field, rows int64) {
	n, nulls := c.node(fd.Name)
	if n != rows {
		c.fail("column "+fd.Name, fmt.Sprintf("%d values", n), fmt.Sprintf("%d, one per row", rows))
	}
	c.validity(fd.Name, n, nulls)
	switch fd.Type {
	case UTF8:
		c.offsets(fd.Name, n)
		c.buffer(fd.Name, 0)
	case ListInt64, ListInt32:
		c.offsets(fd.Name, n)
		m, nulls := c.node(fd.Name)
		c.validity(fd.Name, m, nulls)
		c.buffer(fd.Name, m*width(fd.Type))
	case Bool:
		c.buffer(fd.Name, (n+7)/8)
	default:
		c.buffer(fd.Name, n*width(fd.Type))
	}
}

func width(typ string) int64 {
	if typ == Int32 || typ == ListInt32 {
		return 4
	}
	return 8
}

func (c *checker) node(name string) (n, nulls int64) {
	if c.nodesLeft == 0 {
		c.fail("column "+name, "no array", "one")
		return 0, 0
	}
	n, nulls = c.f.i64(c.nodes), c.f.i64(c.nodes+8)
	c.nodes, c.nodesLeft = c.nodes+16, c.nodesLeft-1
	if n < 0 || n > MaxPlain || nulls < 0 || nulls > n {
		c.fail("column "+name, fmt.Sprintf("%d values, %d nulls", n, nulls), "0 ≤ nulls ≤ values")
		return 0, 0
	}
	c.found.arrays = append(c.found.arrays, extent{n, nulls})
	return n, nulls
}

func (c *checker) validity(name string, n, nulls int64) {
	if nulls == 0 {
		c.buffer(name, 0)
		return
	}
	c.buffer(name, (n+7)/8)
}

func (c *checker) offsets(name string, n int64) {
	if n == 0 {
		c.buffer(name, 0)
		return
	}
	c.buffer(name, 4*(n+1))
}

// buffer checks the next buffer, which must hold at least least bytes.
func (c *checker) buffer(name string, least int64) {
	if c.buffersLeft == 0 {
		c.fail("column "+name, "a buffer missing", "those of the schema")
		return
	}
	off, n := c.f.i64(c.buffers), c.f.i64(c.buffers+8)
	c.buffers, c.buffersLeft = c.buffers+16, c.buffersLeft-1
	if off < 0 || n < 0 || off > int64(len(c.body)) || n > int64(len(c.body))-off {
		c.fail("column "+name, fmt.Sprintf("a buffer at %d of %d bytes", off, n), fmt.Sprintf("one inside the body of %d bytes", len(c.body)))
		return
	}
	plain := n
	at := stored{bytes: c.body[off : off+n]}
	if c.zstd && n > 0 {
		if n < 8 {
			c.fail("column "+name, fmt.Sprintf("a compressed buffer of %d bytes", n), "at least 8")
			return
		}
		b := at.bytes
		at.bytes = b[8:]
		if plain = plainLength(b); plain == -1 {
			plain = n - 8
		} else if at.zstd = true; plain < 0 || plain > MaxPlain || plain > n/4*zstdBlock {
			c.fail("column "+name, fmt.Sprintf("%d bytes compressed to %d", plain, n), fmt.Sprintf("what zstd can do, at most %d", MaxPlain))
			return
		} else if w := window(b[8:]); w > maxWindow {
			c.fail("column "+name, fmt.Sprintf("a zstd window of %d bytes", w), fmt.Sprintf("at most %d", maxWindow))
			return
		}
	}
	if plain < least {
		c.fail("column "+name, fmt.Sprintf("a buffer of %d bytes", plain), fmt.Sprintf("at least %d", least))
		return
	}
	c.plain += plain
	at.plain = plain
	c.found.buffers = append(c.found.buffers, at)
}

// zstdBlock is what one block of a zstd frame can hold, bytes. A block takes at
// least 4 bytes of the frame, RFC 8878 section 3.1.1.2.
const zstdBlock = 128 << 10

// maxWindow bounds the history that a zstd frame may ask its decoder to keep,
// bytes: what the zstd tool itself accepts without being told otherwise.
const maxWindow = 128 << 20

// window returns the window size that a zstd frame asks for, RFC 8878 section
// 3.1.1.1; 0 when there is no frame, which the decoder then says itself.
func window(b []byte) int64 {
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != 0xFD2FB528 {
		return 0
	}
	desc := b[4]
	if desc&0x20 == 0 { // a window descriptor follows
		base := int64(1) << (10 + b[5]>>3)
		return base + base/8*int64(b[5]&7)
	}
	p, id := b[5:], [...]int{0, 1, 2, 4}[desc&3] // the dictionary id comes first
	if len(p) < id {
		return 0
	}
	p = p[id:]
	switch size := 1 << (desc >> 6); {
	case len(p) < size:
		return 0
	case size == 1:
		return int64(p[0])
	case size == 2:
		return int64(binary.LittleEndian.Uint16(p)) + 256
	case size == 4:
		return int64(binary.LittleEndian.Uint32(p))
	default:
		return int64(min(binary.LittleEndian.Uint64(p), 1<<62))
	}
}
