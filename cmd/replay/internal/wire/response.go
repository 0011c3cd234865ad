package wire

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of what is not body. They are those of the transport of net/http, so that both
// engines refuse alike.
const (
	maxHeader    = 1 << 20  // status lines and headers of an answer, 1xx included
	maxChunkLine = 4 << 10  // one size line of a chunked body, or its whole trailer
	maxChunkFat  = 16 << 10 // what chunk lines may cost beyond what chunks of a sane size need
)

// A response parses one HTTP/1 answer to a POST. It is fed bytes as they arrive, cut
// anywhere: step takes some and returns what they hold of the body. It copies nothing
// but a header or chunk line that is cut.
//
// What it accepts and refuses is what net/http does, by the rules of RFC 9112: names without
// invalid bytes, one length, chunked the only coding, a bare LF ends a header line but
// not a chunk's.
type response struct {
	state    responseState
	framed   framing
	greeted  bool // the status line of the block has come and is good
	persists bool // the connection may serve another request
	status   int16
	seen     int32  // bytes of headers so far
	fat      int32  // excess of chunk lines
	left     int64  // bytes left of the body or the chunk
	aside    *aside // nil: nothing of it
}

// An aside is what most answers have not, kept apart so that a stream stays small.
type aside struct {
	part     []byte // the beginning of a header block, chunk line or trailer
	reason   string // status code and phrase, of an answer that is not 2xx
	encoding string // content coding that is not identity
}

func (r *response) beside() *aside {
	if r.aside == nil {
		r.aside = new(aside)
	}
	return r.aside
}

// part returns what is kept of a block or line that has not ended.
func (r *response) part() []byte {
	if r.aside == nil {
		return nil
	}
	return r.aside.part
}

// join adds p to that and returns all of it.
func (r *response) join(p ...byte) []byte {
	a := r.beside()
	a.part = append(a.part, p...)
	return a.part
}

// complete forgets it.
func (r *response) complete() {
	if r.aside != nil {
		r.aside.part = r.aside.part[:0]
	}
}

// reason returns status code and phrase of an answer that is not 2xx.
func (r *response) reason() string {
	if r.aside == nil {
		return ""
	}
	return r.aside.reason
}

// encoding returns the content coding, "" for identity.
func (r *response) encoding() string {
	if r.aside == nil {
		return ""
	}
	return r.aside.encoding
}

// reset begins another answer; memory for parts of up to keptBuffer bytes is kept.
func (r *response) reset() {
	a := r.aside
	if a != nil {
		*a = aside{part: small(a.part)}
	}
	*r = response{aside: a}
}

type responseState uint8

const (
	inHeader responseState = iota
	inBody
	inChunkLine
	inChunk
	inChunkEnd
	inTrailer
	responseDone
)

type framing uint8

const (
	noBody framing = iota
	byLength
	byChunks
	byClose
)

// headed reports whether the final header is complete.
func (r *response) headed() bool { return r.state != inHeader }

// done reports whether the answer is complete.
func (r *response) done() bool { return r.state == responseDone }

// step takes n > 0 bytes from the front of p, which is not empty, and returns what of them
// is body, possibly nothing. After an error, or once done, it must not be called.
func (r *response) step(p []byte) (body []byte, n int, err error) {
	switch r.state {
	case inHeader:
		n, err = r.header(p)
	case inBody:
		if r.framed == byClose {
			return p, len(p), nil
		}
		body, n = r.some(p, responseDone)
	case inChunkLine:
		n, err = r.chunkLine(p)
	case inChunk:
		body, n = r.some(p, inChunkEnd)
	case inChunkEnd:
		n, err = r.chunkEnd(p)
	case inTrailer:
		n, err = r.trailer(p)
	}
	return body, n, err
}

// eof ends the answer with its connection: nil when it was complete, else
// io.ErrUnexpectedEOF.
func (r *response) eof() error {
	if r.state == inBody && r.framed == byClose {
		r.state = responseDone
	}
	if r.done() {
		return nil
	}
	return io.ErrUnexpectedEOF
}

// some takes what p has of the bytes left, after which next comes.
func (r *response) some(p []byte, next responseState) ([]byte, int) {
	n := int(min(r.left, int64(len(p))))
	if r.left -= int64(n); r.left == 0 {
		r.state = next
	}
	return p[:n], n
}

var errLongHeader = fmt.Errorf("response header: longer than %d bytes", maxHeader)

// frame decides how the body is delimited, RFC 9112 section 6.3.
func (r *response) frame(h *fields) error {
	chunked := false
	if h.version >= 11 && h.transfer > 0 {
		if h.transfer > 1 || !h.chunked {
			return errors.New("unsupported transfer encoding: want chunked alone")
		}
		chunked = true
	}
	var n int64
	if h.lengths > 0 { // checked whether it counts or not
		if h.differ {
			return errors.New("several Content-Length headers that differ")
		}
		var err error
		if n, err = length(h.length); err != nil {
			return err
		}
	}
	r.persists = !h.close && (h.version >= 11 || h.version == 10 && h.keepAlive) && r.status != 101
	r.framed = byClose
	switch {
	case r.status == 101 || r.status == 204 || r.status == 304:
		r.framed = noBody
	case chunked:
		r.framed = byChunks
	case h.lengths > 0:
		r.framed, r.left = byLength, n
		if n == 0 {
			r.framed = noBody
		}
	}
	switch r.framed {
	case noBody:
		r.state = responseDone
	case byChunks:
		r.state = inChunkLine
	default:
		r.state = inBody
		r.persists = r.persists && r.framed != byClose
	}
	return nil
}

func length(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("bad Content-Length %q", clipBytes([]byte(s)))
	}
	return int64(n), nil
}
