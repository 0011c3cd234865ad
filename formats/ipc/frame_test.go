package ipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"hydrant/formats"
)

type row struct {
	ID   int64
	Name string
	N    formats.Int
	OK   formats.Int
	X    float64
	List []int64
	Toks []formats.Int
}

func rowColumns() []Column[row] {
	return []Column[row]{
		{Name: "id", Type: Int64, Field: func(r *row) any { return &r.ID }},
		{Name: "name", Type: UTF8, Null: "none", Field: func(r *row) any { return &r.Name }},
		{Name: "n", Type: Int64, Null: "none", Field: func(r *row) any { return &r.N }},
		{Name: "ok", Type: Bool, Null: "none", Field: func(r *row) any { return &r.OK }},
		{Name: "x", Type: Float64, Field: func(r *row) any { return &r.X }},
		{Name: "list", Type: ListInt64, Null: "none", Field: func(r *row) any { return &r.List }},
		{Name: "toks", Type: ListInt32, Null: "none", Field: func(r *row) any { return &r.Toks }},
	}
}

func message(t testing.TB, plain bool, rows ...row) []byte {
	t.Helper()
	e := NewEncoder(rowColumns())
	for i := range rows {
		e.Append(&rows[i])
	}
	m, err := e.Encode(plain)
	if err != nil {
		t.Fatal(err)
	}
	return m.Bytes
}

func someRows() []row {
	return []row{
		{ID: 1, Name: "one", N: formats.Some(0), OK: formats.Some(1), X: 1.5, List: []int64{1, 2, 3}, Toks: []formats.Int{formats.Some(4), {}}},
		{ID: 2, OK: formats.Some(0), List: []int64{}, Toks: []formats.Int{}},
		{ID: 3, Name: "bad \xff utf8", N: formats.Some(-1), List: nil, Toks: []formats.Int{formats.Some(1 << 40)}},
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	f()
	runtime.ReadMemStats(&b)
	return b.TotalAlloc - a.TotalAlloc
}

func TestWalkerSplits(t *testing.T) {
	schema, err := SchemaMessage(Fields(rowColumns()), []string{"k"}, []string{"v"})
	if err != nil {
		t.Fatal(err)
	}
	batch := message(t, false, someRows()...)
	in := append(append(append([]byte{}, schema...), batch...), eos[:]...)
	w := NewWalker(bytes.NewReader(append(in, in...)))
	for range 2 {
		for i, want := range []Type{Schema, RecordBatch, EOS} {
			fr, err := w.Next("f")
			if err != nil || fr.Type != want {
				t.Fatalf("frame %d = %v, %v; want %v", i, fr.Type, err, want)
			}
		}
	}
	if _, err := w.Next("f"); err != io.EOF {
		t.Fatalf("after the last frame: %v; want io.EOF", err)
	}
	if w.Offset() != int64(2*len(in)) {
		t.Errorf("Offset() = %d; want %d", w.Offset(), 2*len(in))
	}
}

// TestWalkerForged gives the walker lengths that no input could hold.
func TestWalkerForged(t *testing.T) {
	batch := message(t, true, someRows()...)
	var body int // where the body length stands in the metadata
	fr, err := ParseFrame(batch, "f")
	if err != nil {
		t.Fatal(err)
	}
	f := &flat{b: fr.Meta()}
	body = 8 + f.slot(f.ref(0), 3)
	for _, n := range []uint64{4 << 30, 1 << 40, 1 << 63, MaxBody + 8, MaxBody, 12} {
		b := append([]byte{}, batch...)
		binary.LittleEndian.PutUint64(b[body:], n)
		var err error
		got := allocated(func() { _, err = NewWalker(bytes.NewReader(b)).Next("f") })
		var se *formats.SyntaxError
		if n == MaxBody {
			if err != errCut {
				t.Errorf("body length %d: %v; want a cut", n, err)
			}
		} else if !errors.As(err, &se) || !strings.Contains(se.Error(), "body length") {
			t.Errorf("body length %d: %v; want a SyntaxError", n, err)
		}
		if got > 1<<20 {
			t.Errorf("body length %d: %d bytes allocated for an input of %d", n, got, len(b))
		}
	}
	for _, n := range []uint32{1 << 31, MaxMeta + 8, 13, 0xFFFFFFFF} {
		b := append([]byte{}, batch...)
		binary.LittleEndian.PutUint32(b[4:], n)
		var se *formats.SyntaxError
		if _, err := NewWalker(bytes.NewReader(b)).Next("f"); !errors.As(err, &se) {
			t.Errorf("metadata length %d: %v; want a SyntaxError", n, err)
		}
	}
}

// TestForgedEverywhere overwrites every aligned word of the metadata, and every
// stated size of a compressed buffer, with sizes beyond any honest one, and reads
// on: nothing large is allocated and nothing panics.
func TestForgedEverywhere(t *testing.T) {
	schema, err := SchemaMessage(Fields(rowColumns()), []string{"k"}, []string{"v"})
	if err != nil {
		t.Fatal(err)
	}
	for name, batch := range map[string][]byte{"zstd": message(t, false, someRows()...), "plain": message(t, true, someRows()...)} {
		for at := 8; at+4 <= len(schema); at += 4 {
			for _, v := range []uint32{0x7FFFFFFF, 0xFFFFFFFF, 1 << 24} {
				b := append([]byte{}, schema...)
				binary.LittleEndian.PutUint32(b[at:], v)
				limit(t, name+" schema", at, func() { decode(b, batch) })
			}
		}
		for at := 8; at+8 <= len(batch); at += 4 {
			for _, v := range []uint64{4 << 30, 1 << 40, 1<<63 - 1, 1 << 28, 0xFFFFFFFFFFFFFFFE} {
				b := append([]byte{}, batch...)
				binary.LittleEndian.PutUint64(b[at:], v)
				limit(t, name+" batch", at, func() { decode(schema, b) })
			}
		}
	}
}

func limit(t *testing.T, name string, at int, f func()) {
	t.Helper()
	if got := allocated(f); got > 8<<20 {
		t.Fatalf("%s: word at %d: %d bytes allocated", name, at, got)
	}
}

// decode reads one batch under a schema, as a reader would.
func decode(schema, batch []byte) (rows []row, err error) {
	w := NewWalker(bytes.NewReader(append(append([]byte{}, schema...), batch...)))
	fr, err := w.Next("f")
	if err != nil {
		return nil, err
	}
	t, err := ParseSchema(fr, "f")
	if err != nil {
		return nil, err
	}
	d, err := NewDecoder(rowColumns(), t, "f")
	if err != nil {
		return nil, err
	}
	if fr, err = w.Next("f"); err != nil {
		return nil, err
	}
	if err := d.Load(fr, "f"); err != nil {
		return nil, err
	}
	for r := d.Next(); r != nil; r = d.Next() {
		c := *r
		c.List, c.Toks = clone(r.List), clone(r.Toks)
		rows = append(rows, c)
	}
	return rows, nil
}

func clone[T any](v []T) []T {
	if v == nil {
		return nil
	}
	return append([]T{}, v...)
}
