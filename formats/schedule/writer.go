package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"hydrant/formats/jsonl"
)

// FrameLines is how many lines go into one zstd frame. It never changes within a
// version: bytes must repeat.
const FrameLines = 4096

// flushSize is how many bytes the Writer gathers before it writes them.
const flushSize = 64 << 10

// FrameEnder is a compressor that can end a frame between two lines.
type FrameEnder interface{ EndFrame() error }

// Writer writes one schedule as uncompressed lines. One goroutine owns it. Every
// FrameLines lines it ends a frame when the writer below is a FrameEnder.
type Writer struct {
	w     io.Writer
	frame FrameEnder
	every int64
	sum   hash.Hash
	buf   []byte
	lines int64
	tally *tally
	cache Cache
	err   error
}

// NewWriter writes the header. Format and Version are set by the Writer.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Format, h.Version = Format, Version
	if h.Args == nil {
		h.Args = []string{}
	}
	if h.Sources == nil {
		h.Sources = []Source{}
	}
	if h.Transforms == nil {
		h.Transforms = []Transform{}
	}
	if b := h.Block; b != nil && (b.Tokens < 1 || b.Last != Partial && b.Last != Absent) {
		return nil, fmt.Errorf("schedule block: got %d tokens, last %q, want at least 1 and %q or %q", b.Tokens, b.Last, Partial, Absent)
	}
	sw := &Writer{w: w, every: FrameLines, sum: sha256.New(), tally: newTally(h.Block)}
	sw.frame, _ = w.(FrameEnder)
	line, err := wrap("schedule", h)
	if err != nil {
		return nil, err
	}
	sw.sum.Write(line)
	return sw, sw.line(line)
}

// Fault is the rule that a request breaks.
type Fault = jsonl.Fault

// Write appends one request. A request that breaks a rule of the format, or stands
// in the wrong order, is refused with a *Fault and leaves the schedule as it was.
func (w *Writer) Write(r *Request) error {
	if w.err != nil {
		return w.err
	}
	if f := form(r); f != nil {
		return f
	}
	if f := w.tally.add(r); f != nil {
		return f
	}
	w.cache.Add(r, w.tally.block)
	at := len(w.buf)
	w.buf = append(AppendRequest(w.buf, r), '\n')
	w.sum.Write(w.buf[at:])
	return w.line(nil)
}

// form checks what the parser would find in the line of r.
func form(r *Request) *jsonl.Fault {
	for _, q := range [...]struct {
		what, got string
		required  bool
	}{{"session", r.Session, true}, {"stream", r.Stream, true}, {"context", r.Context, true}, {"model", r.Model, false}, {"class", r.Class, false}} {
		if q.required && q.got == "" || !utf8.ValidString(q.got) {
			return &jsonl.Fault{What: q.what, Got: q.got, Want: "a name in UTF-8"}
		}
	}
	if r.Context != Whole && r.Context != Delta {
		return &jsonl.Fault{What: "context", Got: r.Context, Want: "whole or delta"}
	}
	if b := r.Blocks; b != nil {
		if b.Scope == "" || !utf8.ValidString(b.Scope) {
			return &jsonl.Fault{What: "blocks.scope", Got: b.Scope, Want: "a name in UTF-8"}
		}
		if b.Keep < 0 {
			return natFault("blocks.keep", b.Keep)
		}
		if b.System < 0 {
			return natFault("blocks.system", b.System)
		}
		for _, run := range b.Add {
			if !fits(run) {
				return &jsonl.Fault{What: "blocks.add", Got: printRun(run), Want: wantRun}
			}
		}
	}
	for _, q := range [...]struct {
		what string
		raw  json.RawMessage
	}{{"body", r.Body}, {"extra", r.Extra}} {
		if q.raw == nil {
			continue
		}
		var s jsonl.Scanner
		s.Reset(q.raw)
		s.Field = q.what
		if object(&s); s.Err == nil {
			s.End()
		}
		if s.Err == nil && !utf8.Valid(q.raw) {
			s.Fail(q.what, "bytes that are not UTF-8", "UTF-8 text")
		}
		if s.Err != nil {
			return s.Err
		}
	}
	return nil
}

// line appends a line that is not yet in the buffer, and counts it.
func (w *Writer) line(line []byte) error {
	w.buf = append(w.buf, line...)
	w.lines++
	full := w.lines%w.every == 0
	if full || len(w.buf) >= flushSize {
		w.flush()
	}
	if full && w.frame != nil && w.err == nil {
		w.err = w.frame.EndFrame()
	}
	return w.err
}

func (w *Writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.w.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

// Close writes the trailer. The caller gives Status (complete when empty), Counts
// and Sources; everything else follows from the lines. After an error of Write the
// caller gives Failed or Interrupted, or does not call Close. It does not close the
// writer below.
func (w *Writer) Close(t Trailer) (Trailer, error) {
	if w.err != nil {
		return t, w.err
	}
	if t.Status == "" {
		t.Status = Complete
	}
	w.tally.fill(&t, &w.cache, hex.EncodeToString(w.sum.Sum(nil)))
	line, err := wrap("end", t)
	if err != nil {
		return t, err
	}
	w.buf = append(w.buf, line...)
	w.flush()
	if w.err != nil {
		return t, w.err
	}
	w.err = errClosed
	return t, nil
}

var errClosed = errors.New("schedule: already closed")
