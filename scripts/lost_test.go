package scripts

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/formats/run"
	"hydrant/scripts/redeal"
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
	dealRun(t, from, []string{to}, func(row *run.Request) (to, times int) {
		if row.RequestID == id {
			return 0, 0
		}
		return 0, 1
	})
}

// dealRun deals the rows of a run of one part out to files.
func dealRun(t *testing.T, from string, to []string, deal func(row *run.Request) (to, times int)) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out []io.Writer
	for _, name := range to {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out = append(out, f)
	}
	if err := redeal.Run(in, out, deal); err != nil {
		t.Fatal(err)
	}
}
