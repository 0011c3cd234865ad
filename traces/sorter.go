package traces

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// sorterMemory is how many bytes of records wait in memory. It is small so that the
// memory of a day's trace is that of a minute's.
const sorterMemory = 4 << 20

// sorter sorts records by a key, in the order of add on ties, in bounded memory: full
// buffers are sorted and written to one unlinked temporary file as runs, which are
// merged at the end. Input that is in order makes one run however long it is.
type sorter struct {
	limit   int
	records []record
	arena   []byte
	file    *os.File
	size    int64 // of file
	runs    []run
	lastKey int64 // greatest key of the last run
}

type record struct {
	key      int64
	off, len int
}

// run is a sorted stretch of the file.
type run struct{ off, end int64 }

func newSorter() *sorter { return &sorter{limit: sorterMemory, lastKey: math.MinInt64} }

// add copies a record.
func (s *sorter) add(key int64, b []byte) error {
	s.records = append(s.records, record{key, len(s.arena), len(b)})
	s.arena = append(s.arena, b...)
	if len(s.arena)+32*len(s.records) < s.limit {
		return nil
	}
	return s.spill()
}

func (s *sorter) sortBuffer() {
	byKey := func(a, b record) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(s.records, byKey) {
		slices.SortStableFunc(s.records, byKey)
	}
}

// spill writes the buffer as a run, or behind the last run when it continues it.
func (s *sorter) spill() error {
	if len(s.records) == 0 {
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "tracegen-*")
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.file = f
		os.Remove(f.Name()) // the open descriptor keeps it; where that fails it stays until Close
	}
	s.sortBuffer()
	w := bufio.NewWriterSize(&appender{s.file, s.size}, 64<<10)
	start := s.size
	var head [16]byte
	for _, r := range s.records {
		binary.LittleEndian.PutUint64(head[:], uint64(r.key))
		binary.LittleEndian.PutUint64(head[8:], uint64(r.len))
		w.Write(head[:])
		w.Write(s.arena[r.off : r.off+r.len])
		s.size += int64(len(head) + r.len)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	if n := len(s.runs); n > 0 && s.records[0].key >= s.lastKey {
		s.runs[n-1].end = s.size
	} else {
		s.runs = append(s.runs, run{start, s.size})
	}
	s.lastKey = s.records[len(s.records)-1].key
	s.records, s.arena = s.records[:0], s.arena[:0]
	return nil
}

// appender writes at the end of the sorter's file.
type appender struct {
	f   *os.File
	off int64
}

func (a *appender) Write(p []byte) (int, error) {
	n, err := a.f.WriteAt(p, a.off)
	a.off += int64(n)
	return n, err
}

// close removes the temporary file.
func (s *sorter) close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	os.Remove(f.Name())
	return f.Close()
}

// sorted returns a function that yields the records in order, each valid until the
// next call; io.EOF at the end. No add may follow. It may be called again to start
// over.
func (s *sorter) sorted() (func() ([]byte, error), error) {
	if s.file == nil {
		s.sortBuffer()
		i := 0
		return func() ([]byte, error) {
			if i == len(s.records) {
				return nil, io.EOF
			}
			r := s.records[i]
			i++
			return s.arena[r.off : r.off+r.len], nil
		}, nil
	}
	if err := s.spill(); err != nil {
		return nil, err
	}
	s.records, s.arena = nil, nil
	m := &merge{}
	for i, r := range s.runs {
		c := &runCursor{order: i, r: bufio.NewReaderSize(io.NewSectionReader(s.file, r.off, r.end-r.off), 32<<10)}
		switch err := c.next(); {
		case err == io.EOF:
		case err != nil:
			return nil, err
		default:
			m.heap = append(m.heap, c)
		}
	}
	heap.Init(m)
	return m.next, nil
}

// merge yields the smallest record of several runs.
type merge struct {
	heap []*runCursor
	out  []byte
}

func (m *merge) next() ([]byte, error) {
	if len(m.heap) == 0 {
		return nil, io.EOF
	}
	c := m.heap[0]
	m.out = append(m.out[:0], c.b...)
	switch err := c.next(); {
	case err == io.EOF:
		heap.Pop(m)
	case err != nil:
		return nil, err
	default:
		heap.Fix(m, 0)
	}
	return m.out, nil
}

func (m *merge) Len() int      { return len(m.heap) }
func (m *merge) Swap(i, j int) { m.heap[i], m.heap[j] = m.heap[j], m.heap[i] }
func (m *merge) Less(i, j int) bool {
	a, b := m.heap[i], m.heap[j]
	return a.key < b.key || a.key == b.key && a.order < b.order
}
func (m *merge) Push(any) {}
func (m *merge) Pop() any {
	last := m.heap[len(m.heap)-1]
	m.heap = m.heap[:len(m.heap)-1]
	return last
}

// runCursor is the next record of one run.
type runCursor struct {
	order int
	r     *bufio.Reader
	key   int64
	b     []byte
}

func (c *runCursor) next() error {
	var head [16]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		if err == io.EOF {
			return err
		}
		return fmt.Errorf("temporary file: %w", err)
	}
	c.key = int64(binary.LittleEndian.Uint64(head[:]))
	n := int(binary.LittleEndian.Uint64(head[8:]))
	c.b = slices.Grow(c.b[:0], n)[:n]
	if _, err := io.ReadFull(c.r, c.b); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	return nil
}
