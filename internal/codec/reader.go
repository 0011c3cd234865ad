// Package codec is the one door to the compressed containers: zstd and gzip,
// with klauspost/compress behind it. NewReader opens whatever comes, NewZstdWriter
// writes frames that can be cut where the caller says, and Zstd and Unzstd work on
// whole byte strings.
package codec

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Kinds of container that NewReader tells apart.
const (
	KindZstd  = "zstd"
	KindGzip  = "gzip"
	KindPlain = "plain"
)

// maxWindow is the largest zstd window that is accepted: a decoder holds about
// one window, and 128 MiB is what the zstd tool itself accepts without being told.
const maxWindow = 128 << 20

// bufferSize is the read size below the containers.
const bufferSize = 128 << 10

// The first bytes of each container. They never change.
var (
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	magicGzip = []byte{0x1f, 0x8b}
)

// NewReader sniffs the first bytes of r and returns a reader of the content and
// the kind of container. Several frames or members in a row are read as one
// stream. A container that is cut returns an error that wraps
// io.ErrUnexpectedEOF, junk after a frame is an error; a cut exactly between two
// frames cannot be seen here, so formats carry their own end.
//
// Close gives the decoder's memory back and does not close r.
func NewReader(r io.Reader) (io.ReadCloser, string, error) {
	br := bufio.NewReaderSize(r, bufferSize)
	head, err := br.Peek(len(magicZstd))
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	switch {
	case bytes.HasPrefix(head, magicZstd) || isSkippable(head):
		d, err := newDecoder(br)
		if err != nil {
			return nil, "", err
		}
		return &zstdReader{d: d}, KindZstd, nil
	case bytes.HasPrefix(head, magicGzip):
		return &gzipReader{src: br}, KindGzip, nil
	case isPrefix(head, magicZstd) || isPrefix(head, magicGzip):
		return nil, "", fmt.Errorf("container cut in its first bytes: %w", io.ErrUnexpectedEOF)
	}
	return plainReader{br}, KindPlain, nil
}

// isPrefix reports whether the whole input is a beginning of magic.
func isPrefix(head, magic []byte) bool {
	return len(head) > 0 && len(head) < len(magic) && bytes.HasPrefix(magic, head)
}

// isSkippable reports whether head starts a zstd frame that carries no content
// (0x184D2A50 to 0x184D2A5F, little endian).
func isSkippable(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

func newDecoder(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
}

type plainReader struct{ *bufio.Reader }

func (plainReader) Close() error { return nil }

type zstdReader struct {
	d      *zstd.Decoder
	closed bool
}

func (z *zstdReader) Read(p []byte) (int, error) {
	if z.closed {
		return 0, os.ErrClosed
	}
	n, err := z.d.Read(p)
	return n, wrap(KindZstd, err)
}

// WriteTo lets io.Copy skip a buffer.
func (z *zstdReader) WriteTo(w io.Writer) (int64, error) {
	if z.closed {
		return 0, os.ErrClosed
	}
	n, err := z.d.WriteTo(w)
	return n, wrap(KindZstd, err)
}

func (z *zstdReader) Close() error {
	if !z.closed {
		z.closed = true
		z.d.Close()
	}
	return nil
}

// gzipReader opens the stream at the first Read, so that a cut header is reported
// there like any other cut.
type gzipReader struct {
	src *bufio.Reader
	z   *gzip.Reader
}

func (g *gzipReader) Read(p []byte) (int, error) {
	if g.z == nil {
		z, err := gzip.NewReader(g.src)
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, wrap(KindGzip, err)
		}
		g.z = z
	}
	n, err := g.z.Read(p)
	return n, wrap(KindGzip, err)
}

func (g *gzipReader) Close() error {
	if g.z == nil {
		return nil
	}
	return g.z.Close()
}

// wrap names the container; a clean end and the errors of whatever lies below
// pass as they are wrapped.
func wrap(kind string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fmt.Errorf("zstd: the frame wants a window of more than %d MiB", maxWindow>>20)
	}
	if errors.Is(err, zstd.ErrMagicMismatch) {
		return errors.New("zstd: got bytes after a frame that start no other")
	}
	return fmt.Errorf("%s: %w", kind, err)
}
