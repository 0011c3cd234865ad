package fold

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hydrant/formats/run"
)

// Row sees every row once, with the header of its part, and its error ends the fold.
func TestRowSeesEveryRow(t *testing.T) {
	rows := randomRows(5, 300)
	one, two := testHeader(), testHeader()
	two.Model = "second part"
	half := len(rows) / 2
	in := [][]byte{encode(t, one, rows[:half], nil, run.End{}, 64), encode(t, two, rows[half:], nil, run.End{}, 64)}
	seen := map[int64]string{}
	o := whole()
	o.Row = func(h *run.Header, q *run.Request) error {
		seen[q.RequestID] = h.Model
		return nil
	}
	reduce(t, o, in...)
	if len(seen) != len(rows) {
		t.Errorf("saw %d rows; want %d", len(seen), len(rows))
	}
	if got := seen[rows[half].RequestID]; got != two.Model {
		t.Errorf("request %d came with header %q; want %q", rows[half].RequestID, got, two.Model)
	}
	broken := errors.New("no more")
	o.Row = func(*run.Header, *run.Request) error { return broken }
	if _, err := Run(context.Background(), []Input{{"in", bytes.NewReader(in[0])}}, o); !errors.Is(err, broken) {
		t.Errorf("Run = %v; want the error of Row", err)
	}
}
