// Package aiperf writes a run as AIPerf 0.13.0 exports its own: Summary is
// profile_export_aiperf.json, schema 1.4, and Records is profile_export.jsonl. Both
// follow AIPerf's definitions, which docs/formats/aiperf.md sets beside ours.
//
// An Export gathers rows while they are folded: hand its Row to the fold, then call
// Summary or Records once, then Close.
package aiperf

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/run"
)

// Export gathers rows. What stays in memory is some 300 bytes for each; lists of gaps
// and texts of errors wait in a temporary file.
type Export struct {
	rows     []row
	text     []string // each once
	index    map[string]int32
	spool    *os.File
	w        *bufio.Writer
	written  int64
	scratch  []byte
	gaps     []int64
	goodOf   []bool // by position in rows, once sorted; nil: no objectives
	unusable int    // rows that were sent and cannot be exported
}

// row is what an export needs of one request. Times are Unix ns.
type row struct {
	u, id                     int64 // u: planned time, unplanned when there is none
	dispatched, headers       int64 // unplanned when null
	start, end, first, last   int64
	session, outcome, errorAt int32 // in text
	turn, worker              int32
	status                    int32 // of HTTP, 0: none
	input                     int64 // tokens, −1: not known
	at                        int64 // of its gaps in the spool
	gaps                      int32
	ok, sent                  bool
	values                    values
}

// unplanned stands for a time that is null.
const unplanned = -1 << 63

// New returns an empty Export.
func New() (*Export, error) {
	file, err := os.CreateTemp("", "hydrant-aiperf-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	_ = os.Remove(file.Name()) // where an open file cannot be removed, Close does
	return &Export{index: map[string]int32{}, spool: file, w: bufio.NewWriterSize(file, 1<<16)}, nil
}

// Close removes the temporary file.
func (e *Export) Close() {
	_ = e.spool.Close()
	_ = os.Remove(e.spool.Name())
}

// Row takes in one row of a part with header h.
func (e *Export) Row(h *run.Header, q *run.Request) error {
	wall := func(t formats.Int) int64 {
		if !t.Valid {
			return unplanned
		}
		return h.Epoch.WallNS + t.V
	}
	u := q.DueNS
	if !u.Valid && h.Timing != "asap" {
		u = q.ScheduledNS
	}
	r := row{u: wall(u), id: q.RequestID, dispatched: wall(q.DispatchedNS), headers: wall(q.HeadersNS), start: wall(q.ConnAskedNS), end: wall(q.EndNS),
		first: wall(q.FirstTokenNS), last: wall(lastMoment(q)), session: e.intern(q.Session), outcome: e.intern(q.Outcome), errorAt: e.intern(q.Error),
		turn: int32(q.Turn), worker: int32(q.Worker.Or(-1)), status: int32(q.HTTPStatus.Or(0)), input: q.InputTokens.Or(q.PlannedInputTokens.Or(-1)),
		ok: q.Outcome == run.OK, sent: sent(q)}
	if r.sent && r.end == unplanned {
		r.end = latest(h, q)
	}
	if r.ok {
		r.values = measure(q)
		r.at, r.gaps = e.written, int32(len(q.ChunkGapUS))
		e.scratch = e.scratch[:0]
		for _, g := range q.ChunkGapUS {
			e.scratch = binary.AppendVarint(e.scratch, g)
		}
		n, err := e.w.Write(e.scratch)
		if err != nil {
			return fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		e.written += int64(n)
	}
	e.rows = append(e.rows, r)
	return nil
}

// sent says whether AIPerf would have a record of it: a request that never left has none.
func sent(q *run.Request) bool {
	return q.Outcome != run.NotSent && !(q.Outcome == run.ConnectError && strings.HasPrefix(q.Error, run.LocalPrefix))
}

// latest is the last that is known of a request without an end.
func latest(h *run.Header, q *run.Request) int64 {
	t := int64(unplanned)
	for _, v := range [...]formats.Int{q.ConnAskedNS, q.ConnReadyNS, q.WriteDoneNS, q.HeadersNS, q.FirstByteNS, q.FirstTokenNS, q.LastTokenNS} {
		if v.Valid {
			t = max(t, h.Epoch.WallNS+v.V)
		}
	}
	return t
}

func (e *Export) intern(s string) int32 {
	i, ok := e.index[s]
	if !ok {
		i = int32(len(e.text))
		e.index[s] = i
		e.text = append(e.text, s)
	}
	return i
}

// finish puts the rows in their order: by planned time, then by id.
func (e *Export) finish() error {
	slices.SortStableFunc(e.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.u, b.u), cmp.Compare(a.id, b.id)) })
	for i := range e.rows {
		if r := &e.rows[i]; r.sent && r.start == unplanned {
			r.sent = false // nothing says when it began
			e.unusable++
		}
	}
	if err := e.w.Flush(); err != nil {
		return fmt.Errorf("temporary file for chunk gaps: %w", err)
	}
	return nil
}

// gapsOf returns the gaps of a row in µs, valid until the next call.
func (e *Export) gapsOf(r *row) ([]int64, error) {
	e.gaps = e.gaps[:0]
	if r.gaps == 0 {
		return e.gaps, nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(e.spool, r.at, e.written-r.at), 512)
	for range r.gaps {
		g, err := binary.ReadVarint(in)
		if err != nil {
			return nil, fmt.Errorf("temporary file for chunk gaps: %w", err)
		}
		e.gaps = append(e.gaps, g)
	}
	return e.gaps, nil
}
