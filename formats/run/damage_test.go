package run

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

func goldenBytes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// typed reports whether err is one of the three errors that a reader may return.
func typed(err error) bool {
	var s *formats.SyntaxError
	var v *formats.VersionError
	var c *formats.TruncatedError
	return errors.As(err, &s) || errors.As(err, &v) || errors.As(err, &c)
}

// frame is where one frame of a part stands, and how many requests rows are
// whole once it has been read.
type frame struct{ start, end, rows int }

// frames lists those of a part and says how many of them stand before its end
// stream.
func frames(t testing.TB, b []byte) (all []frame, sealed int) {
	t.Helper()
	w := ipc.NewWalker(bytes.NewReader(b))
	table, rows := 0, 0
	for {
		start := int(w.Offset())
		fr, err := w.Next("golden")
		if err == io.EOF {
			return all, sealed
		}
		if err != nil {
			t.Fatal(err)
		}
		if fr.Type == ipc.RecordBatch && table == 0 {
			n, err := ipc.Rows(fr, "golden")
			if err != nil {
				t.Fatal(err)
			}
			rows += int(n)
		}
		all = append(all, frame{start, int(w.Offset()), rows})
		if fr.Type == ipc.EOS {
			if table++; table == 2 {
				sealed = len(all)
			}
		}
	}
}

// skim reads to the end without decoding a row.
func skim(b []byte, seekable bool) error {
	var in io.Reader = pipe{bytes.NewReader(b)}
	if seekable {
		in = bytes.NewReader(b)
	}
	r, err := NewReader(in, "f")
	for err == nil {
		var p *Part
		if p, err = r.NextPart(); err == nil {
			_, err = p.End()
		}
	}
	return err
}

// TestCut cuts the golden file at every byte: no cut is a success. What is handed
// out can change only where a frame ends, so rows are decoded for cuts near those
// places, and for one in 41 of the others. From a file every third cut is tried.
func TestCut(t *testing.T) {
	b := goldenBytes(t)
	whole, err := read(b, true)
	if err != io.EOF {
		t.Fatal(err)
	}
	fs, _ := frames(t, b)
	at := 0 // the last frame that is whole before the cut
	for n := 0; n < len(b); n += stride {
		for at+1 < len(fs) && fs[at+1].end <= n {
			at++
		}
		for _, seekable := range []bool{false, true} {
			if seekable && n%3 != 0 {
				continue
			}
			var cut *formats.TruncatedError
			if err := skim(b[:n], seekable); !errors.As(err, &cut) {
				t.Fatalf("cut at %d, seekable %v: %v; want a TruncatedError", n, seekable, err)
			}
			near := n-fs[at].end < 10 || at+1 < len(fs) && fs[at+1].end-n < 4
			if !near && n%41 != 0 {
				continue
			}
			want := whole[0].Requests[:fs[at].rows]
			parts, err := read(b[:n], seekable)
			if !errors.As(err, &cut) {
				t.Fatalf("cut at %d, seekable %v: %v; want a TruncatedError", n, seekable, err)
			}
			var got []Request
			if len(parts) > 0 {
				got = parts[0].Requests
			}
			if len(want) != len(got) {
				t.Fatalf("cut at %d, seekable %v: %d rows handed out; want %d", n, seekable, len(got), len(want))
			}
			if d := cmp.Diff(want, got); d != "" && len(want) > 0 {
				t.Fatalf("cut at %d (-want +got):\n%s", n, d)
			}
		}
	}
}

// TestMutated changes one byte at a time. Before the end stream that is always an
// error. In the end stream some bits mean nothing (padding, unused parts of a
// flatbuffer), and there a success must bring what the whole file brings.
func TestMutated(t *testing.T) {
	b := goldenBytes(t)
	whole, err := read(b, true)
	if err != io.EOF {
		t.Fatal(err)
	}
	fs, sealed := frames(t, b)
	tail := fs[sealed-1].end
	for n := 0; n < len(b); n += stride {
		seekable := n%4 != 0
		if n < tail && seekable && n%3 != 0 {
			continue
		}
		m := append([]byte{}, b...)
		m[n] ^= 1 << (n % 8)
		err := skim(m, seekable)
		if typed(err) {
			continue
		}
		if n < tail || err != io.EOF {
			t.Fatalf("byte %d of %d changed, seekable %v: %v; want an error of the format", n, len(b), seekable, err)
		}
		parts, err := read(m, seekable)
		if d := cmp.Diff(whole, parts); d != "" || err != io.EOF {
			t.Fatalf("byte %d changed and not noticed: %v (-want +got):\n%s", n, err, d)
		}
	}
}

// TestForged writes sizes of 4 GB and 1 TiB over every aligned word of the first
// batch and of the schema, and reads from a pipe, where nothing is proven before
// it is decoded.
func TestForged(t *testing.T) {
	b := goldenBytes(t)
	fs, _ := frames(t, b)
	for at := 0; at < fs[1].end; at += 4 * stride {
		if at%5 != 0 && at > fs[0].start+512 && at < fs[1].start {
			continue // most of the schema is the header's text
		}
		for _, v := range []uint64{4 << 30, 1 << 40} {
			m := append([]byte{}, b...)
			binary.LittleEndian.PutUint64(m[at:], v)
			if bytes.Equal(m, b) {
				continue // that is what stood there
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(m, false)
			runtime.ReadMemStats(&after)
			if !typed(err) {
				t.Fatalf("%d written at %d: %v; want an error of the format", v, at, err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
				t.Fatalf("%d written at %d: %d bytes allocated", v, at, got)
			}
		}
	}
}

// FuzzReader: no panic, no error but the three, and what is accepted is written
// and read again to the same rows.
func FuzzReader(f *testing.F) {
	b := goldenBytes(f)
	fs, sealed := frames(f, b)
	f.Add(b, true)
	f.Add(b, false)
	f.Add(append(append([]byte{}, b...), b...), true)
	f.Add(b[:fs[sealed-1].end], false)
	f.Add(b[:fs[2].end-1], true)
	f.Add(write(f, nil, nil, End{Status: Failed}), false)
	f.Fuzz(func(t *testing.T, b []byte, seekable bool) {
		parts, err := read(b, seekable)
		if err != io.EOF && !typed(err) {
			t.Fatalf("%T %v; want an error of the format", err, err)
		}
		if err != io.EOF {
			return
		}
		for _, p := range parts {
			e := *p.End
			again := write(t, batchesOf(p.Requests), p.Clients, e)
			got, err := read(again, true)
			if err != io.EOF {
				t.Fatal(err)
			}
			if d := cmp.Diff(p.Requests, got[0].Requests); d != "" {
				t.Fatalf("requests (-want +got):\n%s", d)
			}
			if d := cmp.Diff(p.Clients, got[0].Clients); d != "" {
				t.Fatalf("clients (-want +got):\n%s", d)
			}
		}
	})
}

func batchesOf(rows []Request) [][]Request {
	if len(rows) == 0 {
		return nil
	}
	return [][]Request{rows}
}
