// Package ipc is the door to Arrow for the formats that are Arrow streams: it
// walks the message framing of a stream with capped lengths, checks a message
// before Arrow's reader sees a byte of it, and builds the sealed multi-table
// parts that runs and gpu streams are made of.
//
// Use [PartWriter] to write a part and [Reader] to read parts back; [Encoder]
// and [Decoder] turn rows of Go structs into record-batch messages and back.
//
// Note: Arrow's reader trusts lengths. A forged body length is allocated before
// one byte of the body is read, and a large one ends the process in a way that
// recover cannot catch. Hence the walk.
package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
)

// Type is the kind of a message. The values are Arrow's and never change.
type Type uint8

// Message types, and the end mark of a stream, which is not a message.
const (
	EOS             Type = 0
	Schema          Type = 1
	DictionaryBatch Type = 2
	RecordBatch     Type = 3
)

func (t Type) String() string {
	switch t {
	case EOS:
		return "end mark"
	case Schema:
		return "schema"
	case DictionaryBatch:
		return "dictionary batch"
	case RecordBatch:
		return "record batch"
	}
	return fmt.Sprintf("message type %d", uint8(t))
}

// Caps on what one message may claim of itself. They are compared before a
// length becomes a size.
const (
	// MaxMeta bounds the metadata of one message, bytes. A schema carries the
	// header as JSON, in it at most the text of one server configuration.
	MaxMeta = 16 << 20
	// MaxBody bounds the body of one message as stored, bytes. The largest honest
	// one is the index in table end: 24 bytes per message before it.
	MaxBody = 256 << 20
	// MaxPlain bounds the body of one message after decompression, bytes.
	MaxPlain = 512 << 20
	// MaxRows bounds the rows of one record batch.
	MaxRows = 1 << 22
)

// continuation precedes every message, and the end mark is it and a zero length.
const continuation = 0xFFFFFFFF

// eos is the end mark of a stream.
var eos = [8]byte{0xFF, 0xFF, 0xFF, 0xFF}

// errCut says that the input ended inside a message or before a required one.
var errCut = errors.New("cut")

// Frame is one message as it stands in the stream: prefix, metadata, padding and body.
type Frame struct {
	Type  Type
	Bytes []byte // all of it; the end mark is 8 bytes
	meta  int    // length of the metadata with its padding
}

// Meta returns the flatbuffer of the message.
func (f Frame) Meta() []byte { return f.Bytes[8 : 8+f.meta] }

// Body returns the bytes after the metadata.
func (f Frame) Body() []byte { return f.Bytes[8+f.meta:] }

// Walker splits an Arrow stream, or several in a row, into frames. It reads no
// byte beyond the frame it returns and never sizes anything by a length that it
// has not compared with its cap; memory grows with the bytes that did arrive.
type Walker struct {
	r   io.Reader
	off int64
	buf []byte
}

// NewWalker returns a walker over r.
func NewWalker(r io.Reader) *Walker { return &Walker{r: r} }

// Offset returns the number of bytes of whole frames returned so far.
func (w *Walker) Offset() int64 { return w.off }

// Next returns the next frame, valid until the next call. At a clean end of
// input, before the first byte of a frame, the error is io.EOF; place says in
// errors where the frame stands.
func (w *Walker) Next(place string) (Frame, error) {
	w.buf = w.buf[:0]
	if err := w.fill(1); err != nil {
		if err == errCut {
			return Frame{}, io.EOF
		}
		return Frame{}, err
	}
	if err := w.fill(7); err != nil {
		return Frame{}, err
	}
	bad := func(what, got, want string) (Frame, error) {
		return Frame{}, &formats.SyntaxError{Place: fmt.Sprintf("%s: byte %d", place, w.off), What: what, Got: got, Want: want}
	}
	if c := binary.LittleEndian.Uint32(w.buf); c != continuation {
		return bad("message prefix", fmt.Sprintf("%#08x", c), fmt.Sprintf("%#08x", uint32(continuation)))
	}
	n := binary.LittleEndian.Uint32(w.buf[4:])
	if n == 0 {
		w.off += 8
		return Frame{Type: EOS, Bytes: w.buf}, nil
	}
	if n > MaxMeta || n%8 != 0 {
		return bad("metadata length", fmt.Sprint(n), fmt.Sprintf("a multiple of 8 up to %d", MaxMeta))
	}
	if err := w.fill(int(n)); err != nil {
		return Frame{}, err
	}
	t, body, ok := header(w.buf[8:])
	if !ok {
		return bad("message header", "a damaged flatbuffer", "an Arrow message of metadata version 4 or 5")
	}
	if body < 0 || body > MaxBody || body%8 != 0 {
		return bad("body length", fmt.Sprint(body), fmt.Sprintf("a multiple of 8 up to %d", MaxBody))
	}
	if err := w.fill(int(body)); err != nil {
		return Frame{}, err
	}
	w.off += int64(len(w.buf))
	return Frame{Type: t, Bytes: w.buf, meta: int(n)}, nil
}

// fill appends n bytes of input to the buffer. It grows by no more than doubles
// what has arrived, so a forged length on a short input costs little.
func (w *Walker) fill(n int) error {
	for n > 0 {
		step := min(n, max(64<<10, len(w.buf)))
		at := len(w.buf)
		if cap(w.buf)-at < step {
			w.buf = append(make([]byte, 0, at+step), w.buf...)
		}
		w.buf = w.buf[:at+step]
		if got, err := io.ReadFull(w.r, w.buf[at:]); err != nil {
			w.buf = w.buf[:at+got]
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return errCut
			}
			return err
		}
		n -= step
	}
	return nil
}

// header reads what the framing needs of a message: its type and body length.
func header(meta []byte) (Type, int64, bool) {
	f := &flat{b: meta}
	m := f.ref(0)
	var version uint16
	var t uint8
	var body int64
	if p := f.slot(m, 0); p != 0 {
		version = f.u16(p)
	}
	if p := f.slot(m, 1); p != 0 {
		t = f.u8(p)
	}
	if p := f.slot(m, 3); p != 0 {
		body = f.i64(p)
	}
	known := t == uint8(Schema) || t == uint8(RecordBatch) || t == uint8(DictionaryBatch)
	return Type(t), body, !f.bad && known && (version == 3 || version == 4)
}

// ParseFrame takes b as exactly one frame, as a worker hands it over.
func ParseFrame(b []byte, place string) (Frame, error) {
	if len(b) < 8 {
		return Frame{}, &formats.SyntaxError{Place: place, What: "message", Got: fmt.Sprintf("%d bytes", len(b)), Want: "at least 8"}
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if binary.LittleEndian.Uint32(b) != continuation || n > MaxMeta || n%8 != 0 || int(n) > len(b)-8 {
		return Frame{}, &formats.SyntaxError{Place: place, What: "message prefix", Got: fmt.Sprintf("% x", b[:8]), Want: "the prefix of one whole Arrow message"}
	}
	if n == 0 {
		return Frame{Type: EOS, Bytes: b[:8]}, nil
	}
	t, body, ok := header(b[8 : 8+n])
	if !ok || body != int64(len(b))-8-int64(n) {
		return Frame{}, &formats.SyntaxError{Place: place, What: "message", Got: fmt.Sprintf("%d bytes", len(b)), Want: "one whole Arrow message"}
	}
	return Frame{Type: t, Bytes: b, meta: int(n)}, nil
}
