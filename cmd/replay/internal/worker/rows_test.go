package worker

import (
	"bytes"
	"io"
	"testing"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
)

// A row is handed over whether or not the output takes it, and none is lost.
func TestRowsNeverHoldUpTheLoop(t *testing.T) {
	in, out := io.Pipe()
	r := newRows(link.NewWriter(out))
	const n = 3 * rowBacklog // nobody takes one yet
	for id := range int64(n) {
		r.put(&run.Request{RequestID: id, Outcome: run.OK})
	}
	if got := r.waiting.Load(); got != n {
		t.Fatalf("%d rows wait; want %d", got, n)
	}
	read := make(chan map[int64]bool)
	go func() {
		seen := map[int64]bool{}
		for frames := link.NewReader(in); ; {
			kind, payload, err := frames.Next()
			if err != nil {
				read <- seen
				return
			}
			rows, err := link.DecodeRows(bytes.Clone(payload))
			if kind != link.KindRows || err != nil {
				t.Errorf("frame %d: %v", kind, err)
			}
			for _, row := range rows.Rows {
				if seen[row.ID] {
					t.Errorf("request %d has two rows", row.ID)
				}
				seen[row.ID] = true
			}
		}
	}()
	close(r.in)
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if seen := <-read; len(seen) != n || r.waiting.Load() != 0 || r.sent != n {
		t.Errorf("%d rows came, %d sent, %d wait; want %d, %d, 0", len(seen), r.sent, r.waiting.Load(), n, n)
	}
}
