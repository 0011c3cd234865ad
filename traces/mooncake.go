package traces

import (
	"slices"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// MooncakeBlock is the block size of the published Mooncake traces. A row does not
// say it.
const MooncakeBlock = 512

// mooncakeQuantum is the time grain of the published traces, 1 ms.
const mooncakeQuantum = 1_000_000

var mooncakeFormat = Format{
	Name:  "mooncake",
	Usage: "from Mooncake's JSON Lines, and AIPerf's multi-turn rows",
	Text: `Each row is a request: timestamp (ms), input_length, output_length, hash_ids; or
text_input, messages, payload; session_id and delay for turns. Rows are sorted by
time, file order on ties. Every irregularity is refused with its row or counted
in the trailer.

  tracegen mooncake trace.jsonl.zst -o trace.sched.zst
  tracegen mooncake trace.jsonl.zst --speed 10 | replay --sim default | reduce`,
	Options: []string{"block-size", "context", "scope", "strict"},
	Block:   MooncakeBlock,
	Sniff: func(head []byte, _ []string) bool {
		for _, kind := range kindKeys[1:] {
			if hasKeys(head, kind) {
				return true
			}
		}
		return false
	},
	Read: Mooncake,
}

// Mooncake reads a trace in Mooncake's JSON Lines, including the multi-turn rows that
// AIPerf writes.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the input and of the temporary file.
func Mooncake(f Input, o Options) (*Trace, error) {
	if o.BlockSize == 0 {
		o.BlockSize = MooncakeBlock
	}
	if o.Scope == "" {
		o.Scope = "mooncake/" + stem(f.Name)
	}
	in := newIntake(f.Place, o.Strict)
	m := &mooncake{o: o, intake: in, rows: newStore(in), ids: newBlockIDs(o.BlockSize), sessions: map[string]*talk{}}
	t, err := m.read(f)
	if err != nil {
		m.rows.close()
		m.ids.close()
		return nil, err
	}
	return t, nil
}

// mooncake is a trace while it is read.
type mooncake struct {
	*intake
	o        Options
	parser   mooncakeParser
	rows     *store
	ids      *blockIDs
	sessions map[string]*talk // those with a session_id
}

func (m *mooncake) read(f Input) (*Trace, error) {
	if err := m.lines(f.R, f.Name, m.row); err != nil {
		return nil, err
	}
	if err := m.some(); err != nil {
		return nil, err
	}
	m.count("chain_breaks", m.ids.breaks)
	if err := m.ids.close(); err != nil { // whoever writes the schedule needs memory too
		return nil, err
	}
	decided, err := m.decide()
	if err != nil {
		return nil, err
	}
	get, err := m.rows.requests()
	if err != nil {
		return nil, err
	}
	next := func() (*schedule.Request, error) {
		r, err := get()
		if err == nil {
			m.settle(r)
		}
		return r, err
	}
	t := m.trace(mooncakeQuantum, &schedule.Block{Tokens: m.o.BlockSize, Last: schedule.Partial}, next, m.rows.close)
	if m.o.Context != "" && !decided {
		t.Undecided = "context"
	}
	return t, nil
}

// row checks one row, notes what it means for its session and stores it.
func (m *mooncake) row(line []byte) (*jsonl.Fault, error) {
	row, fault := m.parser.parse(line)
	if fault != nil {
		return fault, nil
	}
	if row.headers {
		m.counts["headers_dropped"]++
	}
	if fault := m.ignored(row.unknown); fault != nil {
		return fault, nil
	}
	if fault := m.ids.row(m.intake, row.runs, row.ids, row.input.V, m.rows.unsorted); fault != nil {
		return fault, nil
	}
	key, t, fault := m.session(row)
	if fault != nil {
		return fault, nil
	}
	if row.at.Valid {
		m.time(row.at.V)
	}
	m.n++
	return nil, m.store(row, t, key)
}

// store keeps a row until the trace has been read to its end.
func (m *mooncake) store(row *mooncakeRow, t *talk, key int64) error {
	r := schedule.Request{
		ID: m.line, AtNS: row.at, Context: schedule.Whole,
		InputTokens: row.input, OutputTokens: row.planned(), Extra: row.extra, Body: row.body(),
	}
	switch {
	case row.delta:
		r.Context = schedule.Delta
	case row.context != "":
		r.Context = contextModes[row.context]
	}
	if row.delay.Valid && (t == nil || t.rows == 1) {
		m.counts["delay_without_predecessor"]++
	}
	if row.ids > 0 {
		r.Blocks = &schedule.Blocks{Scope: m.o.Scope, Add: row.runs}
	}
	if t == nil {
		return m.rows.single(key, m.line, &r)
	}
	r.Session, r.Stream, r.Turn = row.session, "0", t.rows-1
	if t.rows > 1 {
		r.After = []int64{t.line}
		if row.delay.Valid {
			r.DelayNS = row.delay
		} else if !row.at.Valid {
			r.DelayNS = formats.Some(0)
		}
	}
	t.line = m.line
	return m.rows.add(key, &r)
}

// body returns the literal part of a row as the schedule carries it.
func (row *mooncakeRow) body() (b []byte) {
	switch row.kind {
	case textInput:
		return slices.Concat([]byte(`{"prompt":`), row.text, []byte("}"))
	case messageList:
		b = slices.Concat([]byte(`{"messages":`), row.messages)
		if row.tools != nil {
			b = append(append(b, `,"tools":`...), row.tools...)
		}
		return append(b, '}')
	case wholePayload:
		return row.payload
	}
	return nil
}
