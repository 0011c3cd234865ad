// Package link is what the parent of a replay and its worker processes say to each
// other over two pipes.
//
// Everything travels in frames (Writer, Reader): length, kind, checksum, payload. Jobs,
// row envelopes and stamps have a binary form because there is one per request; the few
// other messages are JSON. Both ends are the same build, so the form has no version.
package link

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// Kind says what a frame holds.
type Kind uint8

// Frames from the parent to a worker.
const (
	KindSetup  Kind = 1 + iota // Setup, once, first
	KindJob                    // Job
	KindPrime                  // no payload: answer KindReady when the jobs so far are prepared
	KindStart                  // Start
	KindStop                   // Stop
	KindFinish                 // no payload: no more jobs
	KindSlots                  // no payload: a slot may be free
)

// Frames from a worker to the parent.
const (
	KindHello   Kind = 64 + iota // Hello, once, first
	KindReady                    // no payload
	KindSent                     // Stamps
	KindRows                     // Rows
	KindClient                   // []run.Client
	KindFault                    // Fault: the load cannot go on as planned
	KindDropped                  // Dropped
	KindWake                     // no payload: a slot is free for which another worker waits
	KindBye                      // Bye, once, last
)

// MaxFrame caps the payload. The largest is a batch of rows with chunk lists; a worker
// cuts batches long before this.
const MaxFrame = 256 << 20

const headLen = 4 + 1 + 4 // length of the payload, kind, CRC32C over kind and payload

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum takes the byte of the kind as a slice of the header, which costs no memory.
func sum(kind, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(kind, castagnoli), castagnoli, payload)
}

// Writer writes frames, each with one Write call. Any goroutine may use it.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame; the payload may be in several parts.
func (w *Writer) Write(kind Kind, payload ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(w.buf[:0], make([]byte, headLen)...)
	for _, p := range payload {
		b = append(b, p...)
	}
	if w.buf = b; cap(b) > 1<<20 {
		w.buf = nil // one large frame must not hold its memory for the whole run
	}
	if len(b)-headLen > MaxFrame {
		return fmt.Errorf("frame of kind %d: got %d bytes, want at most %d", kind, len(b)-headLen, MaxFrame)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headLen))
	b[4] = byte(kind)
	binary.LittleEndian.PutUint32(b[5:], sum(b[4:5], b[headLen:]))
	_, err := w.w.Write(b)
	return err
}

// WriteJSON writes one frame with v as JSON.
func (w *Writer) WriteJSON(kind Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("frame of kind %d: %w", kind, err)
	}
	return w.Write(kind, b)
}

// Reader reads frames. One goroutine owns it.
type Reader struct {
	Reuse bool // a payload is valid until the next call only; else it is the caller's

	r    *bufio.Reader
	head [headLen]byte
	buf  []byte
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next frame. A clean end is io.EOF, one
// inside a frame io.ErrUnexpectedEOF.
func (r *Reader) Next() (Kind, []byte, error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(r.head[:])
	kind := Kind(r.head[4])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("frame of kind %d: length: got %d, want at most %d", kind, n, MaxFrame)
	}
	payload := r.room(int(n))
	if _, err := io.ReadFull(r.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if got, want := sum(r.head[4:5], payload), binary.LittleEndian.Uint32(r.head[5:]); got != want {
		return 0, nil, fmt.Errorf("frame of kind %d: checksum: got %08x, want %08x", kind, got, want)
	}
	return kind, payload, nil
}

// keptPayload bounds the buffer that is used again.
const keptPayload = 1 << 20

func (r *Reader) room(n int) []byte {
	if !r.Reuse || n > keptPayload {
		return make([]byte, n)
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	return r.buf[:n]
}
