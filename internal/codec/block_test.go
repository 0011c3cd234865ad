package codec

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
)

// blocks returns b compressed in every way.
func blocks(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	var z, l bytes.Buffer
	zw, lw := gzip.NewWriter(&z), lz4.NewWriter(&l)
	zw.Write(b)
	lw.Write(b)
	zw.Close()
	lw.Close()
	raw := make([]byte, lz4.CompressBlockBound(len(b)))
	n, err := lz4.CompressBlock(b, raw, nil)
	if err != nil || n == 0 {
		t.Fatalf("lz4: %d, %v", n, err)
	}
	return map[string][]byte{KindPlain: b, KindSnappy: snappy.Encode(nil, b), KindZstd: Zstd(b), KindGzip: z.Bytes(), KindLZ4: l.Bytes(), KindLZ4Block: raw[:n]}
}

func TestBlock(t *testing.T) {
	text := bytes.Repeat([]byte("a prompt is long and says the same again. "), 500)
	for kind, b := range blocks(t, text) {
		got, err := Block(kind, b, len(text))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v; want %d", kind, len(got), err, len(text))
		}
		for _, size := range []int{0, len(text) - 1, len(text) + 1, 1 << 30} {
			if _, err := Block(kind, b, size); err == nil {
				t.Errorf("%s: content of %d bytes taken for %d", kind, len(text), size)
			}
		}
		if _, err := Block(kind, b[:len(b)/2], len(text)); err == nil {
			t.Errorf("%s: half of it was accepted", kind)
		}
		if _, err := Block(kind, nil, 10); err == nil {
			t.Errorf("%s: nothing was accepted", kind)
		}
	}
	if _, err := Block("brotli", text, 1); err == nil {
		t.Error("an unknown kind was accepted")
	}
}

// Content of changed bytes has the size it should have, or is an error.
func TestBlockDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	text := bytes.Repeat([]byte("0123456789abcdef-"), 300)
	for kind, b := range blocks(t, text) {
		for range 300 {
			bad := bytes.Clone(b)
			bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			if got, err := Block(kind, bad, len(text)); err == nil && len(got) != len(text) {
				t.Fatalf("%s: %d bytes; want %d", kind, len(got), len(text))
			}
		}
	}
}
