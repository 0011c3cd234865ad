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
	limit int // longest line, and longest data of one event

	line    []byte // the unfinished line, empty when the last feed ended with a line
	data    []byte // data of the event so far, a LF behind each line of it
	one     []byte // the only data line so far, while it lies in the bytes being fed
	named   string // the last type named, so that a repeated one is not allocated again
	typed   bool   // it is the type of the event so far
	hasData bool   // in one when that is not nil, else in data
	skipLF  bool   // the last byte was a CR: a LF belongs to it
	started bool   // the byte order mark is behind us
}

func newSSE(limit int) *sse {
	s := new(sse)
	s.init(limit)
	return s
}

func (s *sse) init(limit int) {
	if limit <= 0 {
		limit = DefaultLineCap
	}
	*s = sse{limit: limit, line: s.line[:0], data: s.data[:0]}
}

// feed takes the next bytes and calls event for each event they complete. typ is
// "" where the stream names none; typ and data are valid during the call only. After
// an error, which is a *TooLongError or what event returned, the reader must not be
// used again.
func (s *sse) feed(p []byte, event func(typ string, data []byte) error) error {
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
			s.line = append(s.line, p...)
			if len(s.line) > s.limit {
				return &TooLongError{What: "line", Cap: s.limit}
			}
			break
		}
		line := p[:end]
		p = p[end+1:]
		kept := len(s.line) > 0
		if kept {
			s.line = append(s.line, line...)
			line = s.line
		}
		if len(line) > s.limit {
			return &TooLongError{What: "line", Cap: s.limit}
		}
		if !s.started {
			s.started = true
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if err := s.take(line, event); err != nil {
			return err
		}
		if kept {
			s.keep()
			s.line = s.line[:0]
		}
	}
	s.keep()
	return nil
}

func head(p []byte, end int) []byte {
	if end < 0 {
		return p
	}
	return p[:end]
}

// keep copies the data line that lies in bytes about to go away.
func (s *sse) keep() {
	if s.one != nil {
		s.data = append(append(s.data, s.one...), '\n')
		s.one = nil
	}
}

// take processes one whole line.
func (s *sse) take(line []byte, event func(string, []byte) error) error {
	if len(line) == 0 {
		return s.dispatch(event)
	}
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) { // a comment has no name; id and retry do not concern us
	case "data":
		n := len(s.data) + len(s.one)
		if s.one != nil {
			n++ // its LF, whether it has been copied or not
		}
		if n+len(value) > s.limit {
			return &TooLongError{What: "event", Cap: s.limit}
		}
		if !s.hasData && len(value) > 0 {
			s.one = value
		} else {
			s.keep()
			s.data = append(append(s.data, value...), '\n')
		}
		s.hasData = true
	case "event":
		if string(value) != s.named {
			s.named = string(value)
		}
		s.typed = true
	}
	return nil
}

// dispatch ends the event at a blank line. Without data there is none.
func (s *sse) dispatch(event func(string, []byte) error) error {
	var err error
	if s.hasData {
		typ := ""
		if s.typed {
			typ = s.named
		}
		data := s.one
		if data == nil {
			data = s.data[:len(s.data)-1]
		}
		err = event(typ, data)
	}
	s.data, s.one, s.typed, s.hasData = s.data[:0], nil, false, false
	return err
}
