package codec

import (
	"bytes"

	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
)

// Kinds of block, beside KindZstd, KindGzip and KindPlain.
const (
	KindSnappy   = "snappy"    // the raw format, without framing
	KindLZ4      = "lz4"       // LZ4 frames
	KindLZ4Block = "lz4 block" // one LZ4 block without framing
)

// Block returns the content of a compressed block in a columnar file, whose size in
// bytes is known beforehand. Content of any other size is an error. Memory grows with
// the content that is there, whatever size says.
func Block(kind string, b []byte, size int) ([]byte, error) {
	switch kind {
	case KindPlain:
		if len(b) != size {
			return nil, fmt.Errorf("got %d bytes, want %d", len(b), size)
		}
		return b, nil
	case KindSnappy:
		n, err := snappy.DecodedLen(b)
		if err != nil || n != size || size > 32*len(b) { // a copy of 64 bytes takes 2
			return nil, blockError(kind, n, size, err)
		}
		out, err := snappy.Decode(nil, b)
		if err != nil {
			return nil, blockError(kind, len(out), size, err)
		}
		return out, nil
	case KindLZ4Block:
		if size > 255*len(b)+64 { // a byte of length stands for at most 255
			return nil, blockError(kind, len(b), size, nil)
		}
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(b, out)
		if err != nil || n != size {
			return nil, blockError(kind, n, size, err)
		}
		return out, nil
	case KindLZ4:
		return exactly(kind, lz4.NewReader(bytes.NewReader(b)), size)
	case KindZstd:
		d, err := newDecoder(bytes.NewReader(b))
		if err != nil {
			return nil, blockError(kind, 0, size, err)
		}
		defer d.Close()
		return exactly(kind, d, size)
	case KindGzip:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, blockError(kind, 0, size, err)
		}
		return exactly(kind, z, size)
	}
	return nil, fmt.Errorf("got compression %q, want none, snappy, zstd, gzip or lz4", kind)
}

func exactly(kind string, r io.Reader, size int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err != nil || len(out) != size {
		return nil, blockError(kind, len(out), size, err)
	}
	return out, nil
}

func blockError(kind string, n, size int, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return fmt.Errorf("%s: got content of %d bytes, want %d", kind, n, size)
}
