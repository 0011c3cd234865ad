package gpu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// typed reports whether err is one of the three errors that a reader may return.
func typed(err error) bool {
	var s *formats.SyntaxError
	var v *formats.VersionError
	var c *formats.TruncatedError
	return errors.As(err, &s) || errors.As(err, &v) || errors.As(err, &c)
}

// skim reads to the end without decoding a row.
func skim(b []byte, seekable bool) error {
	r, err := NewReader(input(b, seekable), "f")
	for err == nil {
		var p *Part
		if p, err = r.NextPart(); err == nil {
			_, err = p.End()
		}
	}
	return err
}

// batches returns where the batches of table gpu end, and where the end stream
// starts.
func batches(t testing.TB, b []byte) (ends []int, tail int) {
	t.Helper()
	w := ipc.NewWalker(bytes.NewReader(b))
	for table := 0; table < 3; {
		fr, err := w.Next("golden")
		check(t, err)
		switch {
		case fr.Type == ipc.EOS:
			table++
		case fr.Type == ipc.RecordBatch && table == 0:
			ends = append(ends, int(w.Offset()))
		}
	}
	return ends, int(w.Offset())
}

// TestCut cuts the golden file at every byte: no cut is a success, and every
// batch that is whole before it was handed out.
func TestCut(t *testing.T) {
	b := goldenBytes(t)
	ends, _ := batches(t, b)
	if len(ends) != 3 {
		t.Fatalf("golden has %d batches of table gpu; want 3", len(ends))
	}
	for n := 0; n < len(b); n += stride {
		var cut *formats.TruncatedError
		seekable := n%3 == 0
		if err := skim(b[:n], seekable); !errors.As(err, &cut) {
			t.Fatalf("cut at %d, seekable %v: %v; want a TruncatedError", n, seekable, err)
		}
		want, near := 0, n%41 == 0
		for _, e := range ends {
			if e <= n {
				want += 2
			}
			near = near || n > e-4 && n < e+10
		}
		if !near {
			continue
		}
		parts, err := read(b[:n], seekable)
		if !errors.As(err, &cut) || len(parts) > 0 && len(parts[0].Samples) != want || len(parts) == 0 && want > 0 {
			t.Fatalf("cut at %d: %v; want a TruncatedError and %d rows before it", n, err, want)
		}
	}
}

// TestMutated changes one byte at a time. Before the end stream that is always an
// error; inside it a success must bring what the whole file brings.
func TestMutated(t *testing.T) {
	b := goldenBytes(t)
	whole, err := read(b, true)
	if err != io.EOF {
		t.Fatal(err)
	}
	_, tail := batches(t, b)
	for n := 0; n < len(b); n += stride {
		seekable := n%4 != 0
		if n < tail && n%3 != 0 {
			continue
		}
		m := append([]byte{}, b...)
		m[n] ^= 1 << (n % 8)
		err := skim(m, seekable)
		if typed(err) {
			continue
		}
		parts, again := read(m, seekable)
		if n < tail || err != io.EOF || again != io.EOF || cmp.Diff(whole, parts) != "" {
			t.Fatalf("byte %d of %d changed, seekable %v: %v; want an error of the format", n, len(b), seekable, err)
		}
	}
}

// TestForged writes sizes of 4 GB and 1 TiB over the words of the first batch, read
// from a pipe, where nothing is proven before it is decoded.
func TestForged(t *testing.T) {
	b := goldenBytes(t)
	ends, _ := batches(t, b)
	for at := 0; at < ends[0]; at += 4 * stride {
		for _, v := range []uint64{4 << 30, 1 << 40} {
			m := append([]byte{}, b...)
			if binary.LittleEndian.PutUint64(m[at:], v); bytes.Equal(m, b) {
				continue
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(m, false)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; !typed(err) || got > 32<<20 {
				t.Fatalf("%d written at %d: %v, %d bytes allocated; want an error of the format and few", v, at, err, got)
			}
		}
	}
}

// FuzzReader: no panic, no error but the three, and what is accepted is written
// and read again to the same rows.
func FuzzReader(f *testing.F) {
	b := goldenBytes(f)
	ends, tail := batches(f, b)
	f.Add(b, true)
	f.Add(b, false)
	f.Add(append(append([]byte{}, b...), b...), true)
	f.Add(b[:tail], false)
	f.Add(b[:ends[1]-1], true)
	f.Add(write(f, nil, nil, nil, End{Status: Failed}), false)
	f.Fuzz(func(t *testing.T, b []byte, seekable bool) {
		parts, err := read(b, seekable)
		if err != io.EOF && !typed(err) {
			t.Fatalf("%T %v; want an error of the format", err, err)
		}
		if err != io.EOF {
			return
		}
		for _, p := range parts {
			got, err := read(write(t, [][]Sample{p.Samples}, p.Server, p.Host, *p.End), true)
			if err != io.EOF {
				t.Fatal(err)
			}
			if d := cmp.Diff(p.Samples, got[0].Samples); d != "" {
				t.Fatalf("samples (-want +got):\n%s", d)
			}
			if len(p.Server) != len(got[0].Server) || len(p.Host) != len(got[0].Host) {
				t.Fatalf("%d server and %d host rows; want %d and %d", len(got[0].Server), len(got[0].Host), len(p.Server), len(p.Host))
			}
		}
	})
}
