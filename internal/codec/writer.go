package codec

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// ZstdWriter writes zstd frames. The bytes depend on what is written and on where
// frames end or are flushed, and on nothing else: not on the sizes of the writes
// and not on the number of processors. They are the bytes of one build, since
// encoders differ between versions of the library.
//
// One goroutine owns it. An error stays: every later call returns it.
type ZstdWriter struct {
	w    io.Writer
	e    *zstd.Encoder
	open bool // the current frame has content
	err  error
	shut bool
}

// NewZstdWriter returns a writer of frames to w. Close ends the last frame and
// does not close w.
func NewZstdWriter(w io.Writer) (*ZstdWriter, error) { return newZstdWriter(w, 1) }

// window is how far back a frame may refer, and what a reader has to keep of it. Frames of
// schedules are seldom longer, and those that are lose nothing with it.
const window = 2 << 20

func newZstdWriter(w io.Writer, concurrency int) (*ZstdWriter, error) {
	e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(concurrency), zstd.WithEncoderCRC(true), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	return &ZstdWriter{w: w, e: e}, nil
}

// Write adds p to the current frame, opening one if there is none.
func (z *ZstdWriter) Write(p []byte) (int, error) {
	if z.err != nil || len(p) == 0 {
		return 0, z.err
	}
	z.open = true
	n, err := z.e.Write(p)
	z.err = err
	return n, err
}

// Flush makes everything written so far readable. It changes the bytes, so
// streams that must repeat do not call it.
func (z *ZstdWriter) Flush() error {
	if z.err == nil && z.open {
		z.err = z.e.Flush()
	}
	return z.err
}

// EndFrame ends the current frame; the next Write opens another. Without content
// there is nothing to end.
func (z *ZstdWriter) EndFrame() error {
	if z.err != nil || !z.open {
		return z.err
	}
	z.open = false
	if z.err = z.e.Close(); z.err == nil {
		z.e.Reset(z.w)
	}
	return z.err
}

// Close ends the last frame. Nothing written gives no bytes at all. Calls after
// the first do nothing.
func (z *ZstdWriter) Close() error {
	if z.shut {
		return nil
	}
	err := z.EndFrame()
	z.shut, z.err, z.e = true, os.ErrClosed, nil
	return err
}

// Zstd returns b as one zstd frame.
func Zstd(b []byte) []byte {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e.EncodeAll(b, nil)
}

// Unzstd returns the content of the frames in b. More than limit bytes of it is
// an error, and no more than about limit is ever held, whatever b claims.
func Unzstd(b []byte, limit int64) ([]byte, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("zstd: %w", io.ErrUnexpectedEOF)
	}
	d, err := newDecoder(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	out, err := io.ReadAll(io.LimitReader(d, limit+1))
	if err != nil {
		return nil, wrap(KindZstd, err)
	}
	if int64(len(out)) > limit {
		return nil, fmt.Errorf("zstd: got more than %d bytes of content", limit)
	}
	return out, nil
}
