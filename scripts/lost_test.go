package scripts

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/formats/run"
)

// TestLostRowUnderTrueIndexIsInvalid drops one row as a faulty generator would: the file is
// whole and says how many rows it has, but the plan had one more.
func TestLostRowUnderTrueIndexIsInvalid(t *testing.T) {
	dir := replayed(t)
	dropRow(t, filepath.Join(dir, "run.arrows"), filepath.Join(dir, "lost.arrows"), 7)
	code, stdout, stderr := status(t, dir, `judge "$OUT/lost.arrows" --short --accept-unproven --format text`)
	if code != 4 || !strings.Contains(stdout, "INVALID             A1") {
		t.Errorf("status %d, want 4 and A1 as the first cause\n%.600s\n%s", code, stdout, stderr)
	}
}

// dropRow copies the one part of a run without the row of one request.
func dropRow(t *testing.T, from, to string, id int64) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := run.NewReader(in, from)
	if err != nil {
		t.Fatal(err)
	}
	part, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := run.NewWriter(out, part.Header(), nil)
	if err != nil {
		t.Fatal(err)
	}
	enc := run.NewEncoder()
	flush := func() {
		b, _, err := enc.Batch()
		if err == nil {
			err = w.Requests(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for {
		row, err := part.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if row.RequestID != id {
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
		} else if err != nil {
			t.Fatal(err)
		}
		if err := w.Client([]run.Client{*row}); err != nil {
			t.Fatal(err)
		}
	}
	end, err := part.End()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(*end); err != nil {
		t.Fatal(err)
	}
}
