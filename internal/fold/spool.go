package fold

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
)

// spoolMemory is how much of the chunk lists stays in memory before they move to a
// temporary file, bytes.
const spoolMemory = 4 << 20

// spool holds the chunk lists of all rows, written once and then read from front
// to back as often as needed. The file has no name, so nothing is left behind
// whatever becomes of the process.
type spool struct {
	memory []byte
	file   *os.File
	w      *bufio.Writer
	b      []byte
	limit  int
	values int // in all lists
}

// chunks are the lists of one row, and what of the row is needed to count its tokens. gaps
// has one value less than there are token events; delays and tokens have one each, or none
// at all.
type chunks struct {
	listed
	gaps   []int64 // µs
	delays []int64 // µs, null where there is none
	tokens []int64 // null where unknown

	n    []int64 // tokens that came with each event: filled by arrive
	even bool    // one with each but the first, which alone has a count

	sum, low int64 // µs, of the gaps, and the lowest of 0, gaps and delays: filled by look
}

// listed is what a record says of its row beside the lists.
type listed struct {
	row, part               int64
	ok                      int64 // 1: the row belongs to O
	u, first, wrote, leave  int64 // leave: the arrival of the last token
	in, out, events, opener int64 // opener: tokens of the first event
	reach                   int64 // µs, how far from the first event another lies at most
}

// listedBytes is their length in a record.
const listedBytes = 8 * 12

func (l *listed) numbers() [12]*int64 {
	return [...]*int64{&l.row, &l.part, &l.ok, &l.u, &l.first, &l.wrote, &l.leave, &l.in, &l.out, &l.events, &l.opener, &l.reach}
}

// add writes a record: its length, what is said of the row, the number of gaps, and the
// three lists.
func (s *spool) add(c *chunks) error {
	s.values += len(c.gaps) + 1
	const head = 4
	b := append(s.b[:0], make([]byte, head)...)
	for _, v := range c.numbers() {
		b = binary.LittleEndian.AppendUint64(b, uint64(*v))
	}
	b = binary.AppendUvarint(b, uint64(len(c.gaps)))
	b = appendList(b, c.gaps)
	b = appendList(b, c.delays)
	b = appendList(b, c.tokens)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-head))
	s.b = b
	if s.file == nil && len(s.memory)+len(b) <= s.limit {
		s.memory = append(s.memory, b...)
		return nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return err
		}
	}
	_, err := s.w.Write(b)
	return err
}

// appendList writes a list of values that may be null: the width of a code in bytes, whether
// code 0 is null, what a code is added to, and the codes. A list of nothing but nulls is as
// good as none.
func appendList(b []byte, list []int64) []byte {
	reach, base, nulls := bitsOf(list), int64(0), false
	if len(list) == 0 || int64(reach) < 0 { // one is negative, or null
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for _, v := range list {
			if v == null {
				nulls = true
				continue
			}
			low, high = min(low, v), max(high, v)
		}
		if low > high {
			return append(b, noList)
		}
		if reach, base = uint64(high)-uint64(low), low; nulls {
			reach, base = reach+1, base-1
		}
	}
	width := (bits.Len64(reach) + 7) / 8
	mark := byte(width)
	if nulls {
		mark |= withNulls
	}
	b = binary.AppendVarint(append(b, mark), base)
	from := len(b)
	b = append(b, make([]byte, len(list)*width+8)...)
	out, to := b[from:], from+len(list)*width
	switch {
	case nulls || width > 2:
		for i, v := range list {
			code := uint64(0)
			if v != null {
				code = uint64(v) - uint64(base)
			}
			binary.LittleEndian.PutUint64(out[i*width:], code)
		}
	case width == 2:
		for ; len(list) >= 4; list, out = list[4:], out[8:] {
			a, b, c, d := uint64(list[0]-base), uint64(list[1]-base), uint64(list[2]-base), uint64(list[3]-base)
			binary.LittleEndian.PutUint64(out, a|b<<16|c<<32|d<<48)
		}
		for i, v := range list {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(v-base))
		}
	case width == 1:
		out = out[:len(list)]
		for i, v := range list {
			out[i] = byte(v - base)
		}
	}
	return b[:to]
}

// bitsOf returns the bits that are set in any value.
func bitsOf(list []int64) uint64 {
	var a, b, c, d int64
	for ; len(list) >= 4; list = list[4:] {
		a, b, c, d = a|list[0], b|list[1], c|list[2], d|list[3]
	}
	for _, v := range list {
		a |= v
	}
	return uint64(a | b | c | d)
}

// What the first byte of a list says beside the width.
const (
	noList    = 0xff
	withNulls = 0x10
)

func (s *spool) spill() error {
	file, err := os.CreateTemp("", "hydrant-fold-*")
	if err != nil {
		return fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file cannot be removed, close does
	s.file, s.w = file, bufio.NewWriterSize(file, 1<<18)
	_, err = s.w.Write(s.memory)
	s.memory = nil
	return err
}

// reader returns what was written so far, to be read from any place.
func (s *spool) reader() (io.ReaderAt, error) {
	if s.file == nil {
		return bytesAt(s.memory), nil
	}
	if err := s.w.Flush(); err != nil {
		return nil, fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	return s.file, nil
}

// bytesAt reads from memory.
type bytesAt []byte

func (b bytesAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// each hands out the lists in the order in which they were added, the delays where they are
// asked for, and where their record begins. They are valid until the function returns.
func (s *spool) each(delays bool, do func(c *chunks, at int64) error) error {
	r, err := s.reader()
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, math.MaxInt64), 1<<18)
	var c chunks
	for at := int64(0); ; {
		n, err := s.record(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		c.read(s.b, delays)
		if err := do(&c, at); err != nil {
			return err
		}
		at += int64(n)
	}
}

// at takes the lists of the record that begins at a place that each named.
func (s *spool) at(place int64, c *chunks) error {
	r, err := s.reader()
	if err == nil {
		_, err = s.record(io.NewSectionReader(r, place, math.MaxInt64-place))
	}
	if err != nil {
		return fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	c.read(s.b, true)
	return nil
}

// record reads the next record into b, with 8 bytes behind it, and returns its length.
func (s *spool) record(in io.Reader) (int, error) {
	const head = 4
	s.b = sized(s.b, head)
	if _, err := io.ReadFull(in, s.b); err != nil {
		return 0, err
	}
	n := int(binary.LittleEndian.Uint32(s.b))
	s.b = sized(s.b, n+8) // a code is read with what follows it
	if _, err := io.ReadFull(in, s.b[:n]); errors.Is(err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	} else if err != nil {
		return 0, err
	}
	return head + n, nil
}

// sized returns a slice of n elements of any value, s where it is long enough.
func sized(s []byte, n int) []byte {
	if cap(s) < n {
		return make([]byte, n, n+n/4)
	}
	return s[:n]
}

// read takes a record that add wrote, with 8 bytes behind it, and its delays where they are
// asked for.
func (c *chunks) read(b []byte, delays bool) {
	for i, v := range c.numbers() {
		*v = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	b = b[listedBytes:]
	n, k := binary.Uvarint(b)
	b = b[k:]
	c.gaps, b = readList(c.gaps[:0], b, int(n))
	if c.delays = c.delays[:0]; delays {
		c.delays, b = readList(c.delays, b, int(n)+1)
	} else {
		b = skipList(b, int(n)+1)
	}
	c.tokens, _ = readList(c.tokens[:0], b, int(n)+1)
}

func readList(v []int64, b []byte, n int) ([]int64, []byte) {
	mark := b[0]
	b = b[1:]
	if mark == noList {
		return v, b
	}
	width, nulls := int(mark&0xf), mark&withNulls != 0
	base, k := binary.Varint(b)
	b = b[k:]
	v = resized(v, n)
	switch {
	case nulls || width > 2:
		mask := masks[width]
		for i := range v {
			code := binary.LittleEndian.Uint64(b[i*width:]) & mask
			if v[i] = base + int64(code); nulls && code == 0 {
				v[i] = null
			}
		}
	case width == 2:
		rest, codes := v, b
		for ; len(rest) >= 4; rest, codes = rest[4:], codes[8:] {
			four := binary.LittleEndian.Uint64(codes)
			rest[0], rest[1] = base+int64(four&0xffff), base+int64(four>>16&0xffff)
			rest[2], rest[3] = base+int64(four>>32&0xffff), base+int64(four>>48)
		}
		for i := range rest {
			rest[i] = base + int64(binary.LittleEndian.Uint16(codes[2*i:]))
		}
	case width == 1:
		codes := b[:n]
		for i, code := range codes {
			v[i] = base + int64(code)
		}
	default:
		for i := range v {
			v[i] = base
		}
	}
	return v, b[n*width:]
}

// skipList passes over a list of n values.
func skipList(b []byte, n int) []byte {
	mark := b[0]
	if b = b[1:]; mark == noList {
		return b
	}
	_, k := binary.Varint(b)
	return b[k+int(mark&0xf)*n:]
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
