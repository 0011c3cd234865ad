// Package spill keeps what does not fit into memory: records to be sorted or read
// several times, and long lists of numbers. Both lie in temporary files that are
// unlinked as soon as they are open.
package spill

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

// memory is how many bytes of records wait in memory. It is small so that the
// memory of a day's trace is that of a minute's.
const memory = 1 << 19

// Sorter sorts records by a key, in the order of Add on ties, in bounded memory. When
// its buffer is full it writes the smaller half to one unlinked temporary file; a
// record that comes too late for the run being written waits for the next run. So a
// trace that steps backward by less than the buffer makes one run however long it is,
// and runs are merged at the end.
type Sorter struct {
	limit   int
	records []record // those of the run being written first, once sorted
	arena   []byte
	spare   []byte // the arena before
	file    *os.File
	size    int64 // of file
	runs    []run
	lastKey int64 // greatest key written to the last run
}

type record struct {
	key      int64
	off, len int
}

// run is a sorted stretch of the file.
type run struct{ off, end int64 }

const recordSize = 24 // of a record beside its bytes

// NewSorter returns an empty sorter. It holds no file before it needs one.
func NewSorter() *Sorter { return &Sorter{limit: memory, lastKey: math.MinInt64} }

// Add copies a record.
func (s *Sorter) Add(key int64, b []byte) error {
	s.records = append(s.records, record{key, len(s.arena), len(b)})
	s.arena = append(s.arena, b...)
	if len(s.arena)+recordSize*len(s.records) < s.limit {
		return nil
	}
	return s.spill(s.limit / 2)
}

func sortRecords(records []record) {
	byKey := func(a, b record) int { return cmp.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(records, byKey) {
		slices.SortStableFunc(records, byKey)
	}
}

// spill writes the smallest records until at most keep bytes are left, or all that the
// run can still take.
func (s *Sorter) spill(keep int) error {
	if len(s.records) == 0 {
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "hydrant-*")
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.file = f
		os.Remove(f.Name()) // the open descriptor keeps it; where that fails it stays until Close
	}
	late := slices.DeleteFunc(slices.Clone(s.records), func(r record) bool { return r.key >= s.lastKey })
	now := slices.DeleteFunc(s.records, func(r record) bool { return r.key < s.lastKey })
	if len(s.runs) == 0 || len(now) == 0 {
		s.runs = append(s.runs, run{s.size, s.size})
		now, late = append(now, late...), nil
	}
	sortRecords(now)
	w := bufio.NewWriterSize(&appender{s.file, s.size}, 64<<10)
	left := len(s.arena) + recordSize*(len(now)+len(late))
	n := 0
	for ; n < len(now) && left > keep; n++ {
		r := now[n]
		var head [16]byte
		binary.LittleEndian.PutUint64(head[:], uint64(r.key))
		binary.LittleEndian.PutUint64(head[8:], uint64(r.len))
		w.Write(head[:])
		w.Write(s.arena[r.off : r.off+r.len])
		s.size += int64(len(head) + r.len)
		s.lastKey = r.key
		left -= recordSize + r.len
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	s.runs[len(s.runs)-1].end = s.size
	s.compact(append(now[n:], late...))
	return nil
}

// compact keeps only these records.
func (s *Sorter) compact(left []record) {
	s.spare = s.spare[:0]
	s.records = append(s.records[:0], left...)
	for i, r := range s.records {
		s.records[i].off = len(s.spare)
		s.spare = append(s.spare, s.arena[r.off:r.off+r.len]...)
	}
	s.arena, s.spare = s.spare, s.arena
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

// Close removes the temporary file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	os.Remove(f.Name())
	return f.Close()
}

// Sorted returns a function that yields the records in order, each valid until the
// next call; io.EOF at the end. No Add may follow. It may be called again to start
// over.
func (s *Sorter) Sorted() (func() ([]byte, error), error) {
	if s.file == nil {
		sortRecords(s.records)
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
	for len(s.records) > 0 {
		if err := s.spill(0); err != nil {
			return nil, err
		}
	}
	s.records, s.arena, s.spare = nil, nil, nil
	m := &merge{}
	size := max(mergeMemory/len(s.runs), 4<<10)
	for i, r := range s.runs {
		c := &runCursor{order: i, r: bufio.NewReaderSize(io.NewSectionReader(s.file, r.off, r.end-r.off), min(size, 64<<10))}
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

// mergeMemory is shared by the buffers of all runs.
const mergeMemory = 1 << 19

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
