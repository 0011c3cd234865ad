package fold

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/gpu"
	"hydrant/formats/run"
)

// Kinds of input.
const (
	kindRun     = "run"
	kindGPU     = "gpu"
	kindSummary = "summary"
)

// maxSchema caps the first message of a stream, bytes. It is the cap of the readers
// that follow.
const maxSchema = 16 << 20

// sniff tells by content what an input is and returns it from its first byte on. A
// seekable input stays seekable, since its reader then checks the index first.
func sniff(in Input) (Input, string, error) {
	start := int64(-1)
	seeker, _ := in.R.(io.Seeker)
	if seeker != nil {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			start = at
		}
	}
	head, kind, err := classify(in.R, in.Name)
	if err != nil {
		return in, "", err
	}
	if start >= 0 {
		_, err := seeker.Seek(start, io.SeekStart)
		return in, kind, err
	}
	return Input{Name: in.Name, R: io.MultiReader(bytes.NewReader(head), in.R)}, kind, nil
}

// classify reads as little as it needs and returns that.
func classify(r io.Reader, place string) ([]byte, string, error) {
	head, err := fill(nil, r, 8)
	if err != nil {
		return nil, "", err
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(head) == 0:
		return nil, "", &formats.TruncatedError{Place: place, Want: "a run, a gpu stream or a summary"}
	case bytes.HasPrefix(text, []byte(`{"sched`)):
		return nil, "", &formats.SyntaxError{Place: place, What: "kind", Got: "a schedule", Want: "a run, a gpu stream or a summary", Help: notRun}
	case len(text) > 0 && text[0] == '{':
		return head, kindSummary, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, "", &formats.SyntaxError{Place: place, What: "kind", Got: "zstd", Want: "a run, a gpu stream or a summary", Help: notRun}
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return nil, "", &formats.SyntaxError{Place: place, What: "kind", Got: "gzip", Want: "a run, a gpu stream or a summary", Help: notRun}
	case bytes.HasPrefix([]byte{0xff, 0xff, 0xff, 0xff}, head[:min(4, len(head))]) && len(head) < 8:
		return nil, "", &formats.TruncatedError{Place: place, Want: "the first message of an Arrow stream"}
	case !bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}):
		return nil, "", &formats.SyntaxError{Place: place, What: "kind", Got: printable(head), Want: "a run, a gpu stream or a summary"}
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if n > maxSchema {
		return nil, "", &formats.SyntaxError{Place: place, What: "length of the first message", Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", maxSchema)}
	}
	head, err = fill(head, r, int(n))
	if err != nil {
		return nil, "", err
	}
	if len(head) < 8+int(n) {
		return nil, "", &formats.TruncatedError{Place: place, Want: "the schema of an Arrow stream"}
	}
	if run.Sniff(head) {
		return head, kindRun, nil
	}
	if gpu.Sniff(head) {
		return head, kindGPU, nil
	}
	return nil, "", &formats.SyntaxError{Place: place, What: "kind", Got: "an Arrow stream without a header of ours", Want: "a run or a gpu stream",
		Help: "a table rewritten by another program has lost its header; give the file that replay wrote"}
}

// notRun is the next step for what is known to be no run.
const notRun = "a schedule is not a run: give it to replay; anything else, decompress it first"

// fill appends up to n bytes of r; a shorter input is not an error here.
func fill(head []byte, r io.Reader, n int) ([]byte, error) {
	var buf bytes.Buffer
	buf.Write(head)
	_, err := io.CopyN(&buf, r, int64(n))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf.Bytes(), err
}

func printable(b []byte) string {
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return fmt.Sprintf("% x", b)
		}
	}
	return string(b)
}
