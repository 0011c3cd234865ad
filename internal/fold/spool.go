package fold

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"

	"hydrant/formats"
	"hydrant/formats/run"
)

// spoolMemory is how much of the chunk lists stays in memory before they move to a
// temporary file, bytes.
const spoolMemory = 32 << 20

// spool holds the chunk lists of all rows, written once and then read from front
// to back as often as needed. The file has no name, so nothing is left behind
// whatever becomes of the process.
type spool struct {
	memory bytes.Buffer
	file   *os.File
	w      *bufio.Writer
	b      []byte
	list   []int64 // scratch
	limit  int
	values int // in all lists
}

// chunks are the lists of one row. gaps has one value less than there are token
// events; delays and tokens have one each, or none at all.
type chunks struct {
	row    int32
	gaps   []int64 // µs
	delays []int64 // µs, null where there is none
	tokens []int64 // null where unknown

	at, n []int64 // instants, and the tokens that came: filled by arrive
}

// add writes a record: its length, the row, the number of gaps, and the three lists.
func (s *spool) add(row int32, q *run.Request) error {
	s.values += len(q.ChunkGapUS) + 1
	const head = 4
	b := append(s.b[:0], make([]byte, head)...)
	b = binary.AppendUvarint(b, uint64(row))
	b = binary.AppendUvarint(b, uint64(len(q.ChunkGapUS)))
	b = appendList(b, q.ChunkGapUS)
	for _, list := range [...][]formats.Int{q.ChunkDelayUS, q.ChunkTokens} {
		s.list = s.list[:0]
		for _, v := range list {
			s.list = append(s.list, pack(v))
		}
		b = appendList(b, s.list)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-head))
	s.b = b
	if s.file == nil && s.memory.Len()+len(b) <= s.limit {
		s.memory.Write(b)
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
	low, high, nulls := int64(math.MaxInt64), int64(math.MinInt64), false
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
	reach, base := uint64(high)-uint64(low), low
	if nulls {
		reach, base = reach+1, base-1
	}
	width := (bits.Len64(reach) + 7) / 8
	mark := byte(width)
	if nulls {
		mark |= withNulls
	}
	b = binary.AppendVarint(append(b, mark), base)
	from := len(b)
	b = append(b, make([]byte, len(list)*width+8)...)
	for i, v := range list {
		code := uint64(0)
		if v != null {
			code = uint64(v) - uint64(base)
		}
		binary.LittleEndian.PutUint64(b[from+i*width:], code)
	}
	return b[:from+len(list)*width]
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
	_, err = s.w.Write(s.memory.Bytes())
	s.memory = bytes.Buffer{}
	return err
}

// each hands out the lists in the order in which they were added. They are valid
// until the function returns.
func (s *spool) each(do func(c *chunks) error) error {
	var in io.Reader = bytes.NewReader(s.memory.Bytes())
	if s.file != nil {
		if err := s.w.Flush(); err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		in = bufio.NewReaderSize(s.file, 1<<18)
	}
	var c chunks
	var head [4]byte
	for {
		_, err := io.ReadFull(in, head[:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		var b []byte
		if err == nil {
			n := int(binary.LittleEndian.Uint32(head[:]))
			if cap(s.b) < n+8 {
				s.b = make([]byte, n+8)
			}
			b = s.b[:n+8] // a code is read with what follows it
			_, err = io.ReadFull(in, b[:n])
		}
		if err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		c.read(b)
		if err := do(&c); err != nil {
			return err
		}
	}
}

// read takes a record that add wrote, with 8 bytes behind it.
func (c *chunks) read(b []byte) {
	row, k := binary.Uvarint(b)
	b = b[k:]
	n, k := binary.Uvarint(b)
	b = b[k:]
	c.row = int32(row)
	c.gaps, b = readList(c.gaps[:0], b, int(n))
	c.delays, b = readList(c.delays[:0], b, int(n)+1)
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
	mask := uint64(math.MaxUint64)
	if width < 8 {
		mask = 1<<(8*width) - 1
	}
	if cap(v) < n {
		v = make([]int64, n)
	}
	v = v[:n]
	for i := range v {
		code := binary.LittleEndian.Uint64(b[i*width:]) & mask
		if v[i] = base + int64(code); nulls && code == 0 {
			v[i] = null
		}
	}
	return v, b[n*width:]
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
