package wire

import (
	"bytes"
	"errors"
)

// chunkLine takes bytes up to the end of a chunk's size line.
func (r *response) chunkLine(p []byte) (int, error) {
	i := bytes.IndexByte(p, '\n')
	n := i + 1
	if i < 0 {
		n = len(p)
	}
	line := p[:n]
	if len(r.part())+n > maxChunkLine {
		return n, errors.New("chunk size line too long")
	}
	if i < 0 || len(r.part()) > 0 {
		line = r.join(line...)
	}
	if i < 0 {
		return n, nil
	}
	r.complete()
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
	r.fat = int32(max(int64(r.fat)+fat-16-2*min(size, 1<<40), 0))
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
	if len(r.part()) == 0 && len(p) >= len(end) {
		if string(p[:len(end)]) != end {
			return len(end), errors.New("malformed chunked encoding")
		}
		r.state = inChunkLine
		return len(end), nil
	}
	n := 0
	for n < len(p) && len(r.part()) < len(end) {
		r.join(p[n])
		n++
	}
	if len(r.part()) == len(end) {
		if string(r.part()) != end {
			return n, errors.New("malformed chunked encoding")
		}
		r.complete()
		r.state = inChunkLine
	}
	return n, nil
}

// trailer takes the header lines behind the last chunk, up to an empty line.
func (r *response) trailer(p []byte) (int, error) {
	for n, c := range p {
		if len(r.part()) >= maxChunkLine {
			return n, errors.New("suspiciously long trailer after chunked body")
		}
		part := r.join(c)
		if c != '\n' || !bytes.HasSuffix(part, []byte("\r\n")) {
			continue
		}
		if len(part) > 2 && !bytes.HasSuffix(part, []byte("\r\n\r\n")) {
			continue
		}
		var h fields
		if err := h.read(part); err != nil {
			return n + 1, err
		}
		r.complete()
		r.state = responseDone
		return n + 1, nil
	}
	return len(p), nil
}
