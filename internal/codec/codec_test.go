package codec

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

// text returns n bytes that compress about as well as JSON lines do.
func text(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, `{"id":%d,"at_ns":%d,"input_tokens":%d}`+"\n", b.Len(), r.Int64N(1e12), r.IntN(8000))
	}
	return b.Bytes()[:n]
}

// frames compresses the parts to one frame each and returns where they end.
func frames(t *testing.T, parts ...[]byte) (b []byte, ends []int) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewZstdWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.EndFrame(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, buf.Len())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), ends
}

// members is frames for gzip, written by the standard library.
func members(t *testing.T, parts ...[]byte) (b []byte, ends []int) {
	t.Helper()
	var buf bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&buf)
		w.Write(p)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, buf.Len())
	}
	return buf.Bytes(), ends
}

func decode(b []byte) ([]byte, string, error) {
	r, kind, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, kind, err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	return got, kind, err
}

func TestKinds(t *testing.T) {
	parts := [][]byte{text(3000), []byte("x"), text(200_000)}
	all := bytes.Join(parts, nil)
	zs, _ := frames(t, parts...)
	gz, _ := members(t, parts...)
	skippable := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}, zs...)
	for _, tt := range []struct {
		name string
		in   []byte
		kind string
		want []byte
	}{
		{"zstd", zs, KindZstd, all},
		{"zstd after a skippable frame", skippable, KindZstd, all},
		{"zstd of nothing", Zstd(nil), KindZstd, []byte{}},
		{"gzip", gz, KindGzip, all},
		{"plain", all, KindPlain, all},
		{"short plain", []byte("{"), KindPlain, []byte("{")},
		{"nothing", nil, KindPlain, []byte{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": bytes.NewReader(tt.in), "byte by byte": iotest.OneByteReader(bytes.NewReader(tt.in))} {
				z, kind, err := NewReader(r)
				if err != nil || kind != tt.kind {
					t.Fatalf("%s: NewReader = kind %q, %v; want %q", name, kind, err, tt.kind)
				}
				if err := iotest.TestReader(z, tt.want); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if err := z.Close(); err != nil {
					t.Errorf("%s: Close = %v", name, err)
				}
			}
		})
	}
}

// A container that is cut anywhere but between two frames is an error that wraps
// io.ErrUnexpectedEOF, and never more than the content before the cut.
func TestCutAtEveryByte(t *testing.T) {
	parts := [][]byte{text(700), []byte("one"), text(400)}
	all := bytes.Join(parts, nil)
	zs, zEnds := frames(t, parts...)
	gz, gEnds := members(t, parts...)
	for _, tt := range []struct {
		kind string
		in   []byte
		ends []int
	}{{KindZstd, zs, zEnds}, {KindGzip, gz, gEnds}} {
		border := map[int]int{} // position → content before it
		n := 0
		for i, e := range tt.ends {
			n += len(parts[i])
			border[e] = n
		}
		for cut := 1; cut <= len(tt.in); cut++ {
			got, _, err := decode(tt.in[:cut])
			if want, ok := border[cut]; ok {
				if err != nil || len(got) != want {
					t.Errorf("%s cut at the border %d: %d bytes, %v; want %d", tt.kind, cut, len(got), err, want)
				}
				continue
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut at %d of %d: %d bytes, error %v; want unexpected EOF", tt.kind, cut, len(tt.in), len(got), err)
			}
			if !bytes.HasPrefix(all, got) {
				t.Errorf("%s cut at %d: content is no prefix", tt.kind, cut)
			}
		}
	}
}

func TestJunkAfterAFrame(t *testing.T) {
	zs, _ := frames(t, text(500))
	gz, _ := members(t, text(500))
	for name, in := range map[string][]byte{"zstd": zs, "gzip": gz} {
		for _, junk := range []string{"x", "junk", "\n", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", `{"end":{}}` + "\n", "\x28\xb5", "\x1f\x8b", "junk that is longer than any header could be"} {
			got, _, err := decode(append(bytes.Clone(in), junk...))
			if err == nil {
				t.Errorf("%s followed by %q: %d bytes and no error", name, junk, len(got))
			}
		}
	}
}

func TestDamageIsAnError(t *testing.T) {
	in, _ := frames(t, text(5000))
	for i := range in {
		b := bytes.Clone(in)
		b[i] ^= 0x10
		if got, kind, err := decode(b); err == nil && kind == KindZstd && !bytes.Equal(got, text(5000)) {
			t.Errorf("byte %d flipped: other content and no error", i)
		}
	}
}

func TestErrorsBelowPass(t *testing.T) {
	broken := errors.New("disk on fire")
	zs, _ := frames(t, text(100_000))
	for name, r := range map[string]io.Reader{
		"at once": iotest.ErrReader(broken),
		"later":   io.MultiReader(bytes.NewReader(zs[:len(zs)/2]), iotest.ErrReader(broken)),
		"plain":   io.MultiReader(strings.NewReader("plain text"), iotest.ErrReader(broken)),
	} {
		z, _, err := NewReader(r)
		if err == nil {
			_, err = io.ReadAll(z)
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v; want it to wrap %v", name, err, broken)
		}
	}
}

// A frame may claim any window; the decoder must not believe it.
func TestWindowCap(t *testing.T) {
	// Magic, descriptor without a content size, window of 2^41 bytes, one empty last block.
	in := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 31 << 3, 0x01, 0x00, 0x00}
	if _, _, err := decode(in); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("error %v; want one on the window", err)
	}
	// The largest that is accepted decodes.
	var buf bytes.Buffer
	e, err := zstd.NewWriter(&buf, zstd.WithWindowSize(maxWindow), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(e, bytes.NewReader(text(3<<20)))
	e.Close()
	if got, _, err := decode(buf.Bytes()); err != nil || !bytes.Equal(got, text(3<<20)) {
		t.Errorf("window of %d: %d bytes, %v", maxWindow, len(got), err)
	}
}

func TestReadAfterClose(t *testing.T) {
	zs, _ := frames(t, text(100))
	z, _, err := NewReader(bytes.NewReader(zs))
	if err != nil {
		t.Fatal(err)
	}
	z.Close()
	z.Close()
	if _, err := z.Read(make([]byte, 1)); err == nil {
		t.Error("Read after Close succeeds")
	}
}
