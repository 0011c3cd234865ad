package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine caps one line in bytes. A prompt of a million tokens as literal text is
// about 5 MB; a request with embedded images may take tens. A few KB of zstd can
// hold gigabytes of one letter, so the cap is what stands between a forged file
// and the memory of this host.
const MaxLine = 64 << 20

// ErrLineTooLong is returned for a line longer than MaxLine.
var ErrLineTooLong = fmt.Errorf("line longer than %d bytes", MaxLine)

// ErrNoNewline is returned, instead of the line, when input ends within a line.
var ErrNoNewline = errors.New("line without an end")

// Lines cuts a stream into lines. The zero value is not ready: use NewLines.
type Lines struct {
	r          io.Reader
	buf        []byte
	start, end int   // unread bytes of buf
	scanned    int   // bytes after start known to hold no newline
	n          int64 // lines handed out
	err        error // from r, once
}

// NewLines reads lines from r.
func NewLines(r io.Reader) *Lines { return &Lines{r: r, buf: make([]byte, 64<<10)} }

// Number returns the number of the latest line, counted from 1.
func (l *Lines) Number() int64 { return l.n }

// Next returns the next line with its newline, valid until the next call. Whatever
// was read before an error of the stream is handed out first. At the end it
// returns io.EOF, or ErrNoNewline when bytes are left over; Rest has them.
func (l *Lines) Next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.start+l.scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+l.scanned+i+1]
			l.start += len(line)
			l.scanned = 0
			l.n++
			return line, nil
		}
		l.scanned = l.end - l.start
		switch {
		case l.scanned >= MaxLine:
			return nil, ErrLineTooLong
		case l.err == io.EOF && l.scanned > 0:
			return nil, ErrNoNewline
		case l.err != nil:
			return nil, l.err
		}
		l.fill()
	}
}

// Rest returns the bytes after the last whole line, and counts them as a line, for
// formats that do not insist on the last newline.
func (l *Lines) Rest() []byte {
	rest := l.buf[l.start:l.end]
	l.start, l.scanned = l.end, 0
	l.n++
	return rest
}

// fill reads more bytes behind those that are left.
func (l *Lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, min(len(l.buf), MaxLine-len(l.buf)))...)
	}
	for tries := 0; ; tries++ {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return
		}
		if tries == 100 {
			l.err = io.ErrNoProgress
			return
		}
	}
}
