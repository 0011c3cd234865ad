package spill

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// PageEntries is how many numbers a page of a table has.
const PageEntries = 256

// pages is how many pages lie in memory: 128 KiB.
const pages = 64

// Table is a list of numbers of any length, all 0 at first. What was used last lies in
// memory, the rest in a temporary file. The zero value is ready.
type Table struct {
	cache [pages]*page // by the page's number modulo pages
	file  *os.File
	raw   [8 * PageEntries]byte
}

type page struct {
	number int64
	dirty  bool
	v      [PageEntries]int64
}

// Set sets number i, counted from 0.
func (t *Table) Set(i, v int64) error {
	p, err := t.page(i / PageEntries)
	if err != nil {
		return err
	}
	p.v[i%PageEntries] = v
	p.dirty = true
	return nil
}

// Get returns number i.
func (t *Table) Get(i int64) (int64, error) {
	p, err := t.page(i / PageEntries)
	if err != nil {
		return 0, err
	}
	return p.v[i%PageEntries], nil
}

// Page returns the numbers of page n, which are numbers n × PageEntries and on, valid until
// the next call. It is for reading.
func (t *Table) Page(n int64) ([]int64, error) {
	p, err := t.page(n)
	if err != nil {
		return nil, err
	}
	return p.v[:], nil
}

// page brings a page into memory, in place of another.
func (t *Table) page(number int64) (*page, error) {
	slot := &t.cache[number%pages]
	p := *slot
	if p == nil {
		p = &page{number: number}
		*slot = p
		return p, nil // its slot held no page before, so the file does not hold this one
	}
	if p.number == number {
		return p, nil
	}
	if err := t.write(p); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	if err := t.read(p, number); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return p, nil
}

func (t *Table) write(p *page) (err error) {
	if !p.dirty {
		return nil
	}
	if t.file == nil {
		if t.file, err = os.CreateTemp("", "hydrant-*"); err != nil {
			return err
		}
		os.Remove(t.file.Name()) // the open descriptor keeps it; where that fails it stays until Close
	}
	for i, v := range p.v {
		binary.LittleEndian.PutUint64(t.raw[8*i:], uint64(v))
	}
	_, err = t.file.WriteAt(t.raw[:], p.number*int64(len(t.raw)))
	p.dirty = false
	return err
}

// read fills p with the numbers of another page: those of the file, 0 where it is
// shorter.
func (t *Table) read(p *page, number int64) error {
	*p = page{number: number}
	if t.file == nil {
		return nil
	}
	n, err := t.file.ReadAt(t.raw[:], number*int64(len(t.raw)))
	if err != nil && err != io.EOF {
		return err
	}
	for i := range n / 8 {
		p.v[i] = int64(binary.LittleEndian.Uint64(t.raw[8*i:]))
	}
	return nil
}

// Close removes the temporary file. The table is empty afterwards.
func (t *Table) Close() error {
	f := t.file
	*t = Table{}
	if f == nil {
		return nil
	}
	os.Remove(f.Name())
	return f.Close()
}
