package matrix

import (
	"bytes"
	"io"
	"testing"

	"hydrant/formats/run"
	"hydrant/scripts/redeal"
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
	var out bytes.Buffer
	err := redeal.Run(bytes.NewReader(b), []io.Writer{&out}, func(row *run.Request) (to, times int) {
		if row.RequestID == id {
			return 0, n
		}
		return 0, 1
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
