package codec

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// write compresses b in writes of the given size, cutting a frame after each
// frame bytes.
func write(t *testing.T, b []byte, size, frame, concurrency int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := newZstdWriter(&buf, concurrency)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		f := b[:min(frame, len(b))]
		b = b[len(f):]
		for len(f) > 0 {
			n := min(size, len(f))
			if _, err := w.Write(f[:n]); err != nil {
				t.Fatal(err)
			}
			f = f[n:]
		}
		if err := w.EndFrame(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestBytesAreTheSame(t *testing.T) {
	in := text(3 << 20)
	want := write(t, in, 1<<16, 1<<20, 1)
	for _, c := range []int{1, 2, 8} {
		for _, size := range []int{999, 1 << 16, 1 << 22} {
			if got := write(t, in, size, 1<<20, c); !bytes.Equal(got, want) {
				t.Errorf("concurrency %d, writes of %d: other bytes (%d and %d)", c, size, len(got), len(want))
			}
		}
	}
	if got, _, err := decode(want); err != nil || !bytes.Equal(got, in) {
		t.Errorf("decodes to %d bytes, %v; want %d", len(got), err, len(in))
	}
}

// Each frame stands alone: an independent decoder that stops after a frame reads
// exactly the part that was cut there.
func TestEndFrameCuts(t *testing.T) {
	parts := [][]byte{text(5000), text(70_000), []byte("last")}
	b, ends := frames(t, parts...)
	from := 0
	for i, end := range ends {
		d, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.DecodeAll(b[from:end], nil)
		if err != nil || !bytes.Equal(got, parts[i]) {
			t.Errorf("frame %d: %d bytes, %v; want %d", i, len(got), err, len(parts[i]))
		}
		d.Close()
		from = end
	}
	if from != len(b) {
		t.Errorf("%d bytes after the last frame", len(b)-from)
	}
}

func TestEmptyFramesAreNotWritten(t *testing.T) {
	var buf bytes.Buffer
	w, _ := NewZstdWriter(&buf)
	for range 3 {
		w.Write(nil)
		if err := errors.Join(w.EndFrame(), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil || buf.Len() != 0 {
		t.Errorf("Close = %v with %d bytes; want none", err, buf.Len())
	}
}

func TestFlushMakesReadable(t *testing.T) {
	var buf bytes.Buffer
	w, _ := NewZstdWriter(&buf)
	w.Write([]byte("first line\n"))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r, _, err := NewReader(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len("first line\n"))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "first line\n" {
		t.Errorf("read %q, %v before the frame ended", got, err)
	}
}

// failAfter accepts n bytes and then fails.
type failAfter struct{ n int }

var errFull = errors.New("no space left")

func (f *failAfter) Write(p []byte) (int, error) {
	if len(p) > f.n {
		n := f.n
		f.n = 0
		return n, errFull
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriteErrorsStay(t *testing.T) {
	w, _ := NewZstdWriter(&failAfter{10})
	var err error
	for range 100 {
		if _, err = w.Write(text(100_000)); err != nil {
			break
		}
	}
	err = errors.Join(err, w.EndFrame())
	if !errors.Is(err, errFull) {
		t.Fatalf("Write and EndFrame = %v; want %v", err, errFull)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("Write after an error = %v", err)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close after an error = %v", err)
	}
}

func TestCloseTwice(t *testing.T) {
	var buf bytes.Buffer
	w, _ := NewZstdWriter(&buf)
	w.Write([]byte("x"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := buf.Len()
	if err := w.Close(); err != nil || buf.Len() != n {
		t.Errorf("second Close = %v, %d bytes more", err, buf.Len()-n)
	}
	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Close succeeds")
	}
}

func TestZstd(t *testing.T) {
	for _, in := range [][]byte{{}, []byte("x"), text(100_000)} {
		z := Zstd(in)
		if !bytes.Equal(z, Zstd(in)) {
			t.Errorf("Zstd of %d bytes differs between two calls", len(in))
		}
		got, err := Unzstd(z, int64(len(in)))
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("Unzstd(Zstd(%d bytes)) = %d bytes, %v", len(in), len(got), err)
		}
		if len(in) > 0 {
			if got, err := Unzstd(z, int64(len(in))-1); err == nil {
				t.Errorf("Unzstd with too low a limit = %d bytes", len(got))
			}
		}
		for cut := 0; cut < len(z); cut += max(1, len(z)/500) {
			if got, err := Unzstd(z[:cut], 1<<20); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Unzstd of %d of %d bytes = %d bytes, %v; want unexpected EOF", cut, len(z), len(got), err)
			}
		}
	}
	if _, err := Unzstd([]byte("plain text"), 1<<20); err == nil {
		t.Error("Unzstd of plain text succeeds")
	}
}

// 64 MiB of zeros fit into a few KB; the limit holds all the same.
func TestUnzstdBomb(t *testing.T) {
	bomb := Zstd(make([]byte, 64<<20))
	if n := testing.AllocsPerRun(1, func() {
		if _, err := Unzstd(bomb, 1<<20); err == nil {
			t.Error("a bomb is accepted")
		}
	}); n > 1000 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzNewReader(f *testing.F) {
	f.Add(Zstd(text(300)))
	f.Add([]byte("plain"))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, kind, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		defer r.Close()
		got, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if kind == KindPlain && (err != nil || !bytes.Equal(got, b)) {
			t.Errorf("plain input changed: %v", err)
		}
	})
}
