package wire

import (
	"bytes"
	"fmt"
)

// A TooLongError says that a line, or the data of one event, passed the cap.
type TooLongError struct {
	What string // "line" or "event"
	Cap  int    // bytes
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%s of the event stream: longer than %d bytes", e.What, e.Cap)
}

// An sse reader splits a byte stream into server-sent events by the rules of the
// WHATWG HTML standard, section "parsing an event stream". It is fed as the bytes
// arrive and hands on an event in the feed that completes it: an event ends at the
// first byte of its blank line's end, so a CR is not held back for the LF that may
// follow. An event that the stream does not complete is discarded.
//
// What a feed completes is not copied: only the beginning of a line or event whose rest
// comes with a later feed is kept.
type sse struct {
	open    *unfinished // nil: nothing of it
	typed   bool        // the event so far has a type, which is the last one named
	hasData bool        // the event so far has data
	skipLF  bool        // the last byte was a CR: a LF belongs to it
	started bool        // the byte order mark is behind us
}

// unfinished is what a stream has that stands still within an event, or that names types.
type unfinished struct {
	line  []byte // the unfinished line, empty when the last feed ended with a line
	data  []byte // data of the event so far, a LF behind each line of it
	named string // the last type named, so that a repeated one is not allocated again
}

// init begins another stream.
func (s *sse) init() {
	*s = sse{open: s.open}
	if o := s.open; o != nil {
		*o = unfinished{line: o.line[:0], data: o.data[:0]}
	}
}

func (s *sse) unfinished() *unfinished {
	if s.open == nil {
		s.open = new(unfinished)
	}
	return s.open
}

// An eventReader takes what a feed completes. typ is "" where the stream names none;
// typ and data are valid during the call only.
type eventReader interface {
	takeEvent(typ string, data []byte) error
}

// feeding is one feed.
type feeding struct {
	*sse
	limit int // longest line, and longest data of one event
	to    eventReader
	one   []byte // the only data line of the event so far, while it lies in the bytes being fed
}

// feed takes the next bytes and gives away each event they complete. limit bounds a line and
// the data of one event, bytes. After an error, which
// is a *TooLongError or what the reader of events returned, it must not be used again.
func (s *sse) feed(p []byte, to eventReader, limit int) error {
	f := feeding{sse: s, limit: limit, to: to}
	for len(p) > 0 {
		if s.skipLF {
			s.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		end := bytes.IndexByte(p, '\n')
		// a CR ends a line too: look for it only in front of the LF found
		if cr := bytes.IndexByte(head(p, end), '\r'); cr >= 0 {
			end = cr
			s.skipLF = true
		}
		if end < 0 {
			o := s.unfinished()
			o.line = append(o.line, p...)
			if len(o.line) > limit {
				return &TooLongError{What: "line", Cap: limit}
			}
			break
		}
		line := p[:end]
		p = p[end+1:]
		kept := s.open != nil && len(s.open.line) > 0
		if kept {
			s.open.line = append(s.open.line, line...)
			line = s.open.line
		}
		if len(line) > limit {
			return &TooLongError{What: "line", Cap: limit}
		}
		if !s.started {
			s.started = true
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if err := f.take(line); err != nil {
			return err
		}
		if kept {
			f.keep()
			s.open.line = s.open.line[:0]
		}
	}
	f.keep()
	return nil
}

func head(p []byte, end int) []byte {
	if end < 0 {
		return p
	}
	return p[:end]
}

// keep copies the data line that lies in bytes about to go away.
func (f *feeding) keep() {
	if f.one != nil {
		f.add(f.one)
		f.one = nil
	}
}

// add puts a line behind the data kept of the event.
func (f *feeding) add(line []byte) {
	o := f.unfinished()
	o.data = append(append(o.data, line...), '\n')
}

// data returns what is kept of the event's data.
func (s *sse) data() []byte {
	if s.open == nil {
		return nil
	}
	return s.open.data
}

// take processes one whole line.
func (f *feeding) take(line []byte) error {
	if len(line) == 0 {
		return f.dispatch()
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) { // a comment has no name; id and retry do not concern us
	case "data":
		n := len(f.data()) + len(f.one)
		if f.one != nil {
			n++ // its LF, whether it has been copied or not
		}
		if n+len(value) > f.limit {
			return &TooLongError{What: "event", Cap: f.limit}
		}
		if !f.hasData && len(value) > 0 {
			f.one = value
		} else {
			f.keep()
			f.add(value)
		}
		f.hasData = true
	case "event":
		if o := f.unfinished(); string(value) != o.named {
			o.named = string(value)
		}
		f.typed = true
	}
	return nil
}

// dispatch ends the event at a blank line. Without data there is none.
func (f *feeding) dispatch() error {
	var err error
	if f.hasData {
		typ := ""
		if f.typed {
			typ = f.open.named
		}
		data := f.one
		if data == nil {
			data = f.open.data[:len(f.open.data)-1]
		}
		err = f.to.takeEvent(typ, data)
	}
	if f.open != nil {
		f.open.data = f.open.data[:0]
	}
	f.one, f.typed, f.hasData = nil, false, false
	return err
}
