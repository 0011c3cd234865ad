package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// fileMagic begins and ends a file in Arrow's file format.
const fileMagic = "ARROW1"

// maxBuffer bounds a buffer of a file, bytes, as stored and as it unfolds.
const maxBuffer = 256 << 20

// batchHelp is the hint of a buffer that is larger.
const batchHelp = "write the file in smaller batches: in pyarrow write_table has max_chunksize"

// File is a file in Arrow's file format, as others write it, opened for reading. It is
// read by code of our own: see the note of the package.
type File struct {
	r       io.ReaderAt
	size    int64
	place   string
	cols    []columns.Column
	fields  []field
	dicts   []block
	batches []block
}

// block is where a message stands in the file.
type block struct{ at, meta, body int64 }

// OpenFile reads the footer of an Arrow file of size bytes. place names it in errors,
// which are *formats.SyntaxError, *formats.TruncatedError, or those of r.
func OpenFile(r io.ReaderAt, size int64, place string) (*File, error) {
	f := &File{r: r, size: size, place: place}
	meta, err := f.footer()
	if err != nil {
		return nil, err
	}
	x := &flat{b: meta}
	root := x.ref(0)
	schema := x.child(root, 1)
	if p := x.slot(schema, 0); p != 0 && x.u16(p) != 0 {
		return nil, f.broken("byte order", "big endian", "little endian")
	}
	if err := f.schema(x, schema); err != nil {
		return nil, err
	}
	if f.dicts, err = f.blocks(x, root, 2); err != nil {
		return nil, err
	}
	if f.batches, err = f.blocks(x, root, 3); err != nil {
		return nil, err
	}
	if x.bad || schema == 0 {
		return nil, f.broken("footer", "a damaged flatbuffer", "that of an Arrow file")
	}
	return f, nil
}

// footer returns the flatbuffer at the end of the file.
func (f *File) footer() ([]byte, error) {
	cut := &formats.TruncatedError{Place: f.place, Want: "the footer of an Arrow file, which ends in " + fileMagic, Help: "the file was cut off; copy it again"}
	const tailSize = 4 + len(fileMagic)
	if f.size < int64(8+tailSize) {
		return nil, cut
	}
	var head [8]byte
	var tail [tailSize]byte
	if err := errors.Join(f.read(head[:], 0), f.read(tail[:], f.size-int64(tailSize))); err != nil {
		return nil, err
	}
	switch {
	case string(head[:len(fileMagic)]) != fileMagic:
		return nil, f.broken("first bytes", string(head[:len(fileMagic)]), fileMagic)
	case string(tail[4:]) != fileMagic:
		return nil, cut
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if limit := min(f.size-8-int64(tailSize), MaxMeta); n > limit {
		return nil, f.broken("footer", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d", limit))
	}
	b := make([]byte, n)
	return b, f.read(b, f.size-int64(tailSize)-n)
}

func (f *File) read(b []byte, at int64) error {
	if n, err := f.r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("%s: %w", f.place, err)
	}
	return nil
}

func (f *File) broken(what, got, want string) error {
	return &formats.SyntaxError{Place: f.place, What: what, Got: formats.Clip(got), Want: want}
}

// blocks reads where messages stand, field i of the footer.
func (f *File) blocks(x *flat, root, i int) ([]block, error) {
	at, n := x.vector(root, i, 24)
	var list []block
	for ; n > 0; n-- {
		b := block{x.i64(at), int64(int32(x.u32(at + 8))), x.i64(at + 16)}
		at += 24
		if b.at < 8 || b.meta < 8 || b.meta > MaxMeta || b.body < 0 || b.at > f.size || b.meta > f.size-b.at || b.body > f.size-b.at-b.meta {
			return nil, f.broken("footer", fmt.Sprintf("a message of %d and %d bytes at %d", b.meta, b.body, b.at), fmt.Sprintf("messages within the %d bytes of the file", f.size))
		}
		list = append(list, b)
	}
	return list, nil
}

// message reads the metadata of a block and returns the table of its header.
func (f *File) message(b block, want Type, name string) (*flat, int, error) {
	meta := make([]byte, b.meta)
	if err := f.read(meta, b.at); err != nil {
		return nil, 0, err
	}
	if binary.LittleEndian.Uint32(meta) == continuation {
		meta = meta[4:] // which writers before 2019 left out
	}
	meta = meta[4:] // behind the length
	t, body, ok := header(meta)
	x := &flat{b: meta}
	head := x.child(x.ref(0), 2)
	if !ok || x.bad || t != want || body > b.body {
		return nil, 0, f.broken(name, "a damaged message", "an Arrow "+want.String()+" as the footer says")
	}
	return x, head, nil
}

// Columns returns the columns of the table.
func (f *File) Columns() []columns.Column { return f.cols }

// Rows returns the rows of the table with the columns want, of which none may be of
// kind Other. A batch of these is in memory at a time, and their dictionaries.
func (f *File) Rows(want []int) (columns.Rows, error) {
	r := &fileRows{f: f, want: want, cells: make([]columns.Cell, len(want)), arrays: make([]*series, len(want)), dicts: map[int64]*dictionary{}}
	for _, i := range want {
		if f.cols[i].Kind == columns.Other {
			return nil, f.broken("type of column "+f.cols[i].Name, f.cols[i].Type, "whole numbers, numbers, text, bool or a list of whole numbers")
		}
		if f.fields[i].coded {
			r.dicts[f.fields[i].dict] = &dictionary{}
		}
	}
	for i, b := range f.dicts {
		if err := r.dictionary(b, fmt.Sprintf("dictionary batch %d", i+1)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fileRows reads the batches one after the other.
type fileRows struct {
	f      *File
	want   []int
	cells  []columns.Cell
	arrays []*series
	dicts  map[int64]*dictionary
	batch  int // number of the latest, from 1
	row    int
	left   int
}

// Next is columns.Rows.
func (r *fileRows) Next() ([]columns.Cell, error) {
	for r.left == 0 {
		if r.batch == len(r.f.batches) {
			return nil, io.EOF
		}
		r.batch++
		if err := r.load(); err != nil {
			return nil, err
		}
	}
	for i, w := range r.want {
		c := &r.cells[i]
		*c = columns.Cell{Ints: c.Ints[:0]}
		if err := r.arrays[i].cell(r.row, c); err != nil {
			return nil, r.fault(w, err)
		}
	}
	r.row++
	r.left--
	return r.cells, nil
}

func (r *fileRows) fault(col int, err error) error {
	return &formats.SyntaxError{Place: fmt.Sprintf("%s: record batch %d", r.f.place, r.batch), What: "column " + r.f.cols[col].Name, Err: err}
}

// load reads the wanted arrays of the next batch.
func (r *fileRows) load() error {
	name := fmt.Sprintf("record batch %d", r.batch)
	b := r.f.batches[r.batch-1]
	x, rb, err := r.f.message(b, RecordBatch, name)
	if err != nil {
		return err
	}
	s, rows, err := r.f.shelf(x, rb, b, name)
	if err != nil {
		return err
	}
	for i, w := range r.want {
		fd := &r.f.fields[w]
		s.seek(fd.start)
		var d *dictionary
		if fd.coded {
			d = r.dicts[fd.dict]
		}
		a, err := s.array(fd, d)
		if err == nil && a.n != rows {
			err = fmt.Errorf("got %d values, want %d, one per row", a.n, rows)
		}
		if err != nil {
			return r.fault(w, err)
		}
		r.arrays[i] = a
	}
	r.row, r.left = 0, rows
	return nil
}

// dictionary reads a batch of a dictionary that a wanted column points at.
func (r *fileRows) dictionary(b block, name string) error {
	x, db, err := r.f.message(b, DictionaryBatch, name)
	if err != nil {
		return err
	}
	id := int64(0)
	if p := x.slot(db, 0); p != 0 {
		id = x.i64(p)
	}
	d := r.dicts[id]
	if d == nil {
		return nil
	}
	if len(d.parts) > 0 && !x.flag(db, 2) {
		return r.f.broken(name, "a dictionary a second time", "one, or what it grew by")
	}
	s, n, err := r.f.shelf(x, x.child(db, 1), b, name)
	if err != nil {
		return err
	}
	for i := range r.f.fields {
		if fd := r.f.fields[i]; fd.coded && fd.dict == id {
			fd.coded = false
			a, err := s.array(&fd, nil)
			if err == nil && a.n != n {
				err = fmt.Errorf("got %d values, want %d", a.n, n)
			}
			if err != nil {
				return &formats.SyntaxError{Place: r.f.place + ": " + name, What: "column " + r.f.cols[i].Name, Err: err}
			}
			d.add(a)
			break
		}
	}
	return nil
}
