package schedule

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"hydrant/formats"
	"hydrant/internal/codec"
)

// The golden files hold one schedule of version 1, as lines and as zstd. They are
// kept for ever: every later build reads them. Their frames end every 8 lines, so
// that a small file shows several.
const (
	goldenLines = "testdata/v1.jsonl"
	goldenZstd  = "testdata/v1.sched.zst"
)

// golden returns the requests that the golden files were made from.
func golden() (Header, []*Request, Trailer) {
	h, reqs := example()
	at := int64(6_000_000)
	for i := range int64(24) {
		q := &Request{ID: 8 + i, AtNS: some(at + i*3_000_000_000), Session: "chat-" + string(rune('a'+i%3)), Stream: "0", Turn: i / 3,
			Context: Whole, InputTokens: some(512*(i/3+1) + 40), OutputTokens: some(100 + i), Last: i >= 21}
		q.Blocks = &Blocks{Scope: "day", Keep: i / 3, Add: []Run{{100*(i%3+1) + i/3, 1}, {1000 + i, 1}}}
		if i%3 == 2 { // its first block is a system prompt
			q.Blocks.System = 1
		}
		if i >= 3 {
			q.After, q.DelayNS = []int64{q.ID - 3}, some(i*1_000_000)
		}
		reqs = append(reqs, q)
	}
	return h, reqs, Trailer{
		Counts:  []Count{{"ties_kept", 2}, {"unknown_key:group_id", 2}},
		Sources: []SourceDigest{{Name: "day.jsonl", SHA256: "5fb895949eb6028c62b3206dae9d30d669ad3a52aa6247a82cbf7f4c67f3de37", Bytes: 1234}},
	}
}

func TestGolden(t *testing.T) {
	if os.Getenv("HYDRANT_GOLDEN") == "write" {
		makeGolden(t)
	}
	want, err := os.ReadFile(goldenLines)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(goldenZstd)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := codec.Unzstd(packed, 1<<20)
	if err != nil || !bytes.Equal(lines, want) {
		t.Fatalf("%s holds other lines than %s (error %v)", goldenZstd, goldenLines, err)
	}
	reqs, r, err := read(lines)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	w, err := NewWriter(&again, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range reqs {
		if err := w.Write(q); err != nil {
			t.Fatal(err)
		}
	}
	end := r.Trailers()[0]
	if _, err := w.Close(Trailer{Status: end.Status, Counts: end.Counts, Sources: end.Sources}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), want) {
		t.Errorf("written again = %s; want %s", again.Bytes(), want)
	}
}

func makeGolden(t *testing.T) {
	h, reqs, end := golden()
	var lines, packed bytes.Buffer
	z, err := codec.NewZstdWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(struct {
		io.Writer
		FrameEnder
	}{io.MultiWriter(&lines, z), z}, h)
	if err != nil {
		t.Fatal(err)
	}
	w.every = 8
	for _, q := range reqs {
		if err := w.Write(q); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{goldenLines: lines.Bytes(), goldenZstd: packed.Bytes()} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// readPacked reads a compressed schedule through codec, and returns the number of
// requests and the error that ended them.
func readPacked(packed []byte) (n int, err error) {
	z, _, err := codec.NewReader(bytes.NewReader(packed))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, &formats.TruncatedError{Place: "cut.sched.zst", Want: "a whole container", Err: err}
	}
	if err != nil {
		return 0, err
	}
	defer z.Close()
	r, err := NewReader(z, "cut.sched.zst")
	for err == nil {
		if _, err = r.Next(); err == nil {
			n++
		}
	}
	return n, err
}

// No place to cut the golden file ends in success, and every line that the bytes
// before the cut hold whole has been handed out.
func TestGoldenCutAtEveryByte(t *testing.T) {
	packed, err := os.ReadFile(goldenZstd)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := readPacked(packed); err != io.EOF || n != 29 {
		t.Fatalf("whole file: %d requests, %v; want 29 and the end", n, err)
	}
	frames := map[int]bool{} // line counts at which a cut between frames leaves off
	for cut := range packed {
		held := decoded(packed[:cut])
		n, err := readPacked(packed[:cut])
		var truncated *formats.TruncatedError
		if !errors.As(err, &truncated) {
			t.Fatalf("cut at %d of %d: error = %v; want a TruncatedError", cut, len(packed), err)
		}
		if want := min(max(bytes.Count(held, []byte("\n"))-1, 0), 29); n != want {
			t.Fatalf("cut at %d: %d requests handed out; want %d", cut, n, want)
		}
		frames[n] = true
	}
	for _, want := range []int{0, 7, 15, 23} {
		if !frames[want] {
			t.Errorf("no cut left %d requests, though a frame ends there", want)
		}
	}
}

// decoded returns what a decoder gets out of a cut file.
func decoded(packed []byte) []byte {
	z, _, err := codec.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	defer z.Close()
	b, _ := io.ReadAll(z)
	return b
}

// Frames end every 4,096 lines, and a cut at or beside each border is seen.
func TestFrames(t *testing.T) {
	var packed bytes.Buffer
	z, err := codec.NewZstdWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(z, Header{})
	if err != nil {
		t.Fatal(err)
	}
	borders := []int{}
	q := &Request{Session: "s", Stream: "0", Context: Whole, AtNS: some(0), InputTokens: some(1)}
	for i := range int64(2*FrameLines + 100) {
		q.ID, q.Turn = i, i
		if err := w.Write(q); err != nil {
			t.Fatal(err)
		}
		if i == FrameLines-2 || i == 2*FrameLines-2 { // with the header that is a frame
			borders = append(borders, packed.Len())
		}
	}
	if _, err := w.Close(Trailer{}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for i, b := range borders {
		held := decoded(packed.Bytes()[:b])
		if n := bytes.Count(held, []byte("\n")); n != (i+1)*FrameLines || held[len(held)-1] != '\n' {
			t.Fatalf("frame %d ends after %d lines; want %d", i, n, (i+1)*FrameLines)
		}
		for _, cut := range []int{b - 1, b, b + 1, b + 2, b + 3, b + 4, b + 5} {
			n, err := readPacked(packed.Bytes()[:cut])
			var truncated *formats.TruncatedError
			if !errors.As(err, &truncated) {
				t.Errorf("cut at border %d%+d: error = %v; want a TruncatedError", b, cut-b, err)
			}
			if want := (i+1)*FrameLines - 1; cut >= b && n != want {
				t.Errorf("cut at border %d%+d: %d requests; want %d", b, cut-b, n, want)
			}
		}
	}
}
