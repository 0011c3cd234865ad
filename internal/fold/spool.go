package fold

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

func (s *spool) add(row int32, q *run.Request) error {
	s.values += len(q.ChunkGapUS) + 1
	b := binary.AppendUvarint(s.b[:0], uint64(row))
	b = binary.AppendUvarint(b, uint64(len(q.ChunkGapUS)))
	for _, g := range q.ChunkGapUS {
		b = binary.AppendVarint(b, g)
	}
	b = appendInts(b, q.ChunkDelayUS)
	b = appendInts(b, q.ChunkTokens)
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

// appendInts writes a list whose values may be null; a list of nothing but nulls is
// as good as none.
func appendInts(b []byte, v []formats.Int) []byte {
	known := false
	for _, x := range v {
		known = known || x.Valid
	}
	if !known {
		return append(b, 0)
	}
	b = append(b, 1)
	for _, x := range v {
		if !x.Valid {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.AppendVarint(b, x.V)
	}
	return b
}

func (s *spool) spill() error {
	file, err := os.CreateTemp("", "hydrant-fold-*")
	if err != nil {
		return fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file cannot be removed, close does
	s.file, s.w = file, bufio.NewWriterSize(file, 1<<16)
	_, err = s.w.Write(s.memory.Bytes())
	s.memory = bytes.Buffer{}
	return err
}

// each hands out the lists in the order in which they were added. They are valid
// until the function returns.
func (s *spool) each(do func(c *chunks) error) error {
	var in *bufio.Reader
	if s.file == nil {
		in = bufio.NewReader(bytes.NewReader(s.memory.Bytes()))
	} else {
		if err := s.w.Flush(); err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		in = bufio.NewReaderSize(s.file, 1<<16)
	}
	var c chunks
	for {
		row, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		c.row = int32(row)
		if err := c.read(in); err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		if err := do(&c); err != nil {
			return err
		}
	}
}

func (c *chunks) read(in *bufio.Reader) error {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	c.gaps = c.gaps[:0]
	for range n {
		g, err := binary.ReadVarint(in)
		if err != nil {
			return err
		}
		c.gaps = append(c.gaps, g)
	}
	if c.delays, err = readInts(c.delays[:0], in, int(n)+1); err != nil {
		return err
	}
	c.tokens, err = readInts(c.tokens[:0], in, int(n)+1)
	return err
}

func readInts(v []int64, in *bufio.Reader, n int) ([]int64, error) {
	known, err := in.ReadByte()
	if err != nil || known == 0 {
		return v, err
	}
	for range n {
		valid, err := in.ReadByte()
		if err != nil {
			return v, err
		}
		x := int64(null)
		if valid == 1 {
			if x, err = binary.ReadVarint(in); err != nil {
				return v, err
			}
		}
		v = append(v, x)
	}
	return v, nil
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
