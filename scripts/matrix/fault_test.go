package matrix

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"hydrant/formats/run"
)

// lose drops the row of one request, as a faulty generator would: the file is whole.
func lose(t *testing.T, b []byte) []byte { return repeat(t, b, 7, 0) }

// double writes the row of one request twice.
func double(t *testing.T, b []byte) []byte { return repeat(t, b, 7, 2) }

// cut keeps the first half of the bytes.
func cut(_ *testing.T, b []byte) []byte { return b[:len(b)/2] }

// repeat copies a run of one part with n rows for one request instead of one.
func repeat(t *testing.T, b []byte, id int64, n int) []byte {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := run.NewReader(bytes.NewReader(b), "run")
	check(err)
	part, err := r.NextPart()
	check(err)
	var out bytes.Buffer
	w, err := run.NewWriter(&out, part.Header(), nil)
	check(err)
	enc := run.NewEncoder()
	flush := func() {
		batch, _, err := enc.Batch()
		check(err)
		check(w.Requests(batch))
	}
	for {
		row, err := part.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		times := 1
		if row.RequestID == id {
			times = n
		}
		for range times {
			enc.Append(row)
		}
		if enc.Full() {
			flush()
		}
	}
	if enc.Len() > 0 {
		flush()
	}
	for {
		row, err := part.NextClient()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		check(w.Client([]run.Client{*row}))
	}
	end, err := part.End()
	check(err)
	check(w.Close(*end))
	return out.Bytes()
}
