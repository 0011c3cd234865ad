package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// header takes bytes up to the end of the header block, and parses that.
func (r *response) header(p []byte) (int, error) {
	end := r.blockEnd(p)
	n := end
	if end < 0 {
		n = len(p)
	}
	if int(r.seen)+len(r.part())+n > maxHeader {
		return n, errLongHeader
	}
	block := p[:n]
	if end < 0 || len(r.part()) > 0 {
		block = r.join(block...)
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
	r.seen += int32(len(block))
	r.greeted = false
	err := r.parse(block)
	r.complete()
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
			part := r.part()
			k := len(part)
			if i == 0 && k > 0 && part[k-1] == '\r' {
				k--
			}
			if k == 0 || part[k-1] == '\n' {
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
	code, _ := strconv.Atoi(string(status[:3]))
	r.status = int16(code)
	if r.status >= 100 && r.status < 200 && r.status != 101 {
		return nil // an interim answer: the final one follows
	}
	if r.status < 200 || r.status > 299 {
		r.beside().reason = string(status)
	}
	if h.encoding != "" {
		r.beside().encoding = h.encoding
	}
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
