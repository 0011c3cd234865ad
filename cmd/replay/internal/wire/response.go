package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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
	state   responseState
	framed  framing
	left    int64  // bytes left of the body or the chunk
	part    []byte // the beginning of a header block, chunk line or trailer
	seen    int    // bytes of headers so far
	greeted bool   // the status line of the block has come and is good
	fat     int64  // excess of chunk lines

	status   int
	reason   string // status code and phrase, of an answer that is not 2xx
	encoding string // content coding that is not identity
	persists bool   // the connection may serve another request
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

// header takes bytes up to the end of the header block, and parses that.
func (r *response) header(p []byte) (int, error) {
	end := r.blockEnd(p)
	n := end
	if end < 0 {
		n = len(p)
	}
	if r.seen+len(r.part)+n > maxHeader {
		return n, errLongHeader
	}
	block := p[:n]
	if end < 0 || len(r.part) > 0 {
		r.part = append(r.part, block...)
		block = r.part
	}
	if end < 0 {
		// a line that is no status line will not become one
		if i := bytes.IndexByte(block, '\n'); i >= 0 && !r.greeted {
			r.greeted = true
			line, _ := cutLine(block)
			_, _, err := statusLine(line)
			return n, err
		}
		return n, nil
	}
	r.seen += len(block)
	r.greeted = false
	err := r.parse(block)
	r.part = r.part[:0]
	return n, err
}

// blockEnd returns how many bytes of p belong to the header block, −1 when it does not end
// in p. It ends behind its first empty line; the first line may not be empty, which
// parse sees.
func (r *response) blockEnd(p []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], '\n')
		if i < 0 {
			return -1
		}
		i += at
		at = i + 1
		// what stands between this line feed and the one before it
		switch line := p[:i]; {
		case i >= 2 && line[i-1] == '\r':
			if line[i-2] == '\n' {
				return at
			}
		case i >= 1 && line[i-1] == '\n':
			return at
		case i >= 2 || i == 1 && line[0] != '\r':
		default: // the line began in part
			k := len(r.part)
			if i == 0 && k > 0 && r.part[k-1] == '\r' {
				k--
			}
			if k == 0 || r.part[k-1] == '\n' {
				return at
			}
		}
	}
}

// parse reads a whole header block, and says what the body will be.
func (r *response) parse(block []byte) error {
	line, rest := cutLine(block)
	version, status, err := statusLine(line)
	if err != nil {
		return err
	}
	h := fields{version: version}
	if err := h.read(rest); err != nil {
		return err
	}
	r.status, _ = strconv.Atoi(string(status[:3]))
	if r.status >= 100 && r.status < 200 && r.status != 101 {
		return nil // an interim answer: the final one follows
	}
	if r.status < 200 || r.status > 299 {
		r.reason = string(status)
	}
	r.encoding = h.encoding
	return r.frame(&h)
}

// statusLine reads the first line of an answer; status begins with the three digits of
// the code. Version 11 is HTTP/1.1.
func statusLine(line []byte) (version int, status []byte, err error) {
	proto, status, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return 0, nil, fmt.Errorf("malformed HTTP response %q", clipBytes(line))
	}
	status = bytes.TrimLeft(status, " ")
	code, _, _ := bytes.Cut(status, []byte{' '})
	if len(code) != 3 || !allDigits(code) {
		return 0, nil, fmt.Errorf("malformed HTTP status code %q", clipBytes(code))
	}
	if len(proto) != 8 || string(proto[:5]) != "HTTP/" || proto[6] != '.' || !allDigits(proto[5:6]) || !allDigits(proto[7:8]) {
		return 0, nil, fmt.Errorf("malformed HTTP version %q", clipBytes(proto))
	}
	return int(proto[5]-'0')*10 + int(proto[7]-'0'), status, nil
}

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

// fields are what the header says about the connection and the body.
type fields struct {
	version   int // 11 is HTTP/1.1
	transfer  int // Transfer-Encoding headers
	chunked   bool
	lengths   int // Content-Length headers
	length    string
	differ    bool // not all of them are equal
	close     bool
	keepAlive bool
	encoding  string
	encoded   bool
}

// read reads the lines behind the status line, up to the empty one.
func (h *fields) read(block []byte) error {
	if len(block) > 0 && (block[0] == ' ' || block[0] == '\t') {
		line, _ := cutLine(block)
		return badLine(line)
	}
	for {
		line, rest := cutLine(block)
		if len(line) == 0 {
			return nil
		}
		if bytes.IndexByte(line, ':') <= 0 {
			return badLine(line)
		}
		// a line that begins with a blank continues the one before
		for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			more, after := cutLine(rest)
			line = append(append(bytes.TrimRight(bytes.Clone(line), " \t"), ' '), bytes.TrimSpace(more)...)
			rest = after
		}
		if err := h.field(bytes.TrimRight(line, " \t")); err != nil {
			return err
		}
		block = rest
	}
}

func badLine(line []byte) error {
	return fmt.Errorf("malformed MIME header line: %s", clipBytes(line))
}

func (h *fields) field(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return badLine(line)
	}
	name, value := line[:i], bytes.Trim(line[i+1:], " \t")
	for _, c := range name {
		if !tokenByte(c) && c != ' ' {
			return badLine(line)
		}
	}
	for _, c := range line[i+1:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			return badLine(line)
		}
	}
	switch len(name) { // most headers are of no concern
	case len("Connection"):
		if is(name, "Connection") {
			for _, t := range strings.Split(string(value), ",") {
				t = strings.Trim(t, " \t")
				h.close = h.close || strings.EqualFold(t, "close")
				h.keepAlive = h.keepAlive || strings.EqualFold(t, "keep-alive")
			}
		}
	case len("Content-Length"):
		if is(name, "Content-Length") {
			h.differ = h.differ || h.lengths > 0 && h.length != string(value)
			h.length = string(value)
			h.lengths++
		}
	case len("Content-Encoding"):
		if is(name, "Content-Encoding") && !h.encoded {
			h.encoded = true // the first counts
			if string(value) != "identity" {
				h.encoding = string(value)
			}
		}
	case len("Transfer-Encoding"):
		if is(name, "Transfer-Encoding") {
			h.transfer++
			h.chunked = is(value, "chunked")
		}
	}
	return nil
}

func is(b []byte, s string) bool { return len(b) == len(s) && strings.EqualFold(string(b), s) }

// tokenByte reports whether c may stand in a header's name, RFC 9110 section 5.6.2.
func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// cutLine cuts off the first line, and its end CR LF or LF.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

func clipBytes(b []byte) []byte { return b[:min(len(b), 200)] }

// chunkLine takes bytes up to the end of a chunk's size line.
func (r *response) chunkLine(p []byte) (int, error) {
	i := bytes.IndexByte(p, '\n')
	n := i + 1
	if i < 0 {
		n = len(p)
	}
	line := p[:n]
	if len(r.part)+n > maxChunkLine {
		return n, errors.New("chunk size line too long")
	}
	if i < 0 || len(r.part) > 0 {
		r.part = append(r.part, line...)
		line = r.part
	}
	if i < 0 {
		return n, nil
	}
	r.part = r.part[:0]
	if k := len(line); k < 2 || line[k-2] != '\r' {
		return n, errors.New("chunked line ends with bare LF")
	}
	fat := int64(len(line)) // CR and LF count, as they do behind the chunk
	line = line[:len(line)-2]
	if bytes.IndexByte(line, '\r') >= 0 {
		return n, errors.New("chunked line has a bare CR")
	}
	size, err := chunkSize(line)
	if err != nil {
		return n, err
	}
	// what a sane sender spends on a chunk is free
	r.fat = max(r.fat+fat-16-2*min(size, 1<<40), 0)
	if r.fat > maxChunkFat {
		return n, errors.New("chunked encoding contains too much non-data")
	}
	if r.left = size; size == 0 {
		r.state = inTrailer
	} else {
		r.state = inChunk
	}
	return n, nil
}

// chunkSize reads the size of a chunk; extensions mean nothing.
func chunkSize(line []byte) (int64, error) {
	for n := len(line); n > 0 && (line[n-1] == ' ' || line[n-1] == '\t'); n-- {
		line = line[:n-1]
	}
	line, _, _ = bytes.Cut(line, []byte{';'})
	if len(line) == 0 {
		return 0, errors.New("empty hex number for chunk length")
	}
	var n uint64
	for i, c := range line {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errors.New("invalid byte in chunk length")
		}
		if i == 16 || n >= 1<<59 {
			return 0, errors.New("http chunk length too large")
		}
		n = n<<4 | uint64(c)
	}
	return int64(n), nil
}

// chunkEnd takes the CR LF behind a chunk.
func (r *response) chunkEnd(p []byte) (int, error) {
	const end = "\r\n"
	if len(r.part) == 0 && len(p) >= len(end) {
		if string(p[:len(end)]) != end {
			return len(end), errors.New("malformed chunked encoding")
		}
		r.state = inChunkLine
		return len(end), nil
	}
	n := 0
	for n < len(p) && len(r.part) < len(end) {
		r.part = append(r.part, p[n])
		n++
	}
	if len(r.part) == len(end) {
		if string(r.part) != end {
			return n, errors.New("malformed chunked encoding")
		}
		r.part = r.part[:0]
		r.state = inChunkLine
	}
	return n, nil
}

// trailer takes the header lines behind the last chunk, up to an empty line.
func (r *response) trailer(p []byte) (int, error) {
	for n, c := range p {
		if len(r.part) >= maxChunkLine {
			return n, errors.New("suspiciously long trailer after chunked body")
		}
		r.part = append(r.part, c)
		if c != '\n' || !bytes.HasSuffix(r.part, []byte("\r\n")) {
			continue
		}
		if len(r.part) > 2 && !bytes.HasSuffix(r.part, []byte("\r\n\r\n")) {
			continue
		}
		var h fields
		if err := h.read(r.part); err != nil {
			return n + 1, err
		}
		r.part = r.part[:0]
		r.state = responseDone
		return n + 1, nil
	}
	return len(p), nil
}
