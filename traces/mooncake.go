package traces

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// MooncakeBlock is the block size of the published Mooncake traces. A row does not
// say it.
const MooncakeBlock = 512

// mooncakeQuantum is the time grain of the published traces, 1 ms.
const mooncakeQuantum = 1_000_000

// MooncakeOptions say how a Mooncake trace is read. The zero value is right for the
// published traces.
type MooncakeOptions struct {
	Name      string // base name of the input, for the trailer
	Scope     string // where the block ids mean the same text: "mooncake/" and Name without extensions when empty
	BlockSize int64  // tokens of a block: MooncakeBlock when 0
	Context   string // schedule.Whole or Delta, for sessions that do not show which; "" decides from block ids
	Strict    bool   // refuse unknown keys
}

// MaxBlockSize is the largest block size that is accepted.
const MaxBlockSize = 1 << 24

// Mooncake reads a trace in Mooncake's JSON Lines, including the multi-turn rows that
// AIPerf writes. r yields uncompressed bytes; place names it in errors.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// r and of the temporary file.
func Mooncake(r io.Reader, place string, o MooncakeOptions) (*Trace, error) {
	if o.BlockSize == 0 {
		o.BlockSize = MooncakeBlock
	}
	if o.Scope == "" {
		o.Scope = "mooncake/" + stem(o.Name)
	}
	m := &mooncake{
		o: o, place: place, rows: newSorter(), ids: newBlockIDs(o.BlockSize),
		sessions: map[string]*talk{}, counts: map[string]int64{}, unknown: map[string]int64{}, sum: sha256.New(),
	}
	t, err := m.trace(r)
	if err != nil {
		m.rows.close()
		return nil, err
	}
	return t, nil
}

// mooncake is a trace while it is read.
type mooncake struct {
	o     MooncakeOptions
	place string

	lines    *jsonl.Lines
	parser   mooncakeParser
	rows     *sorter
	ids      *blockIDs
	sessions map[string]*talk // those with a session_id
	counts   map[string]int64
	unknown  map[string]int64 // key → the row that had it first
	order    []string         // unknown keys in order of appearance
	clock    int64            // latest timestamp, ns
	n        int64            // rows
	sum      hash.Hash
	bytes    int64
	buf      []byte
}

func (m *mooncake) trace(r io.Reader) (*Trace, error) {
	m.lines = jsonl.NewLines(io.TeeReader(r, (*meter)(m)))
	if err := m.read(); err != nil {
		return nil, err
	}
	m.ids = nil // whoever writes the schedule needs memory too
	decided, err := m.decide()
	if err != nil {
		return nil, err
	}
	replay, err := newMooncakeReplay(m)
	if err != nil {
		return nil, err
	}
	t := &Trace{
		Block:     &schedule.Block{Tokens: m.o.BlockSize, Last: schedule.Partial},
		QuantumNS: mooncakeQuantum,
		Source:    schedule.SourceDigest{Name: m.o.Name, SHA256: hex.EncodeToString(m.sum.Sum(nil)), Bytes: m.bytes},
		Undecided: m.o.Context != "" && !decided,
		counts:    m.counts,
		next:      replay.next,
		close:     m.rows.close,
	}
	for _, key := range m.order {
		n, rows := m.counts["unknown_key:"+key], "rows"
		if n == 1 {
			rows = "row"
		}
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s:%d: unknown key %q, ignored on %d %s", m.place, m.unknown[key], key, n, rows))
	}
	return t, nil
}

// meter counts and hashes the bytes that pass.
type meter mooncake

func (m *meter) Write(p []byte) (int, error) {
	m.bytes += int64(len(p))
	return m.sum.Write(p)
}

// read takes every row in.
func (m *mooncake) read() error {
	for {
		line, err := m.lines.Next()
		cut := errors.Is(err, jsonl.ErrNoNewline)
		switch {
		case cut: // the last newline may be missing
			line = m.lines.Rest()
		case err == io.EOF:
			if m.n == 0 {
				return &formats.TruncatedError{Place: m.place, Want: "a first row", Help: "the input is empty"}
			}
			m.setCount("chain_breaks", m.ids.breaks)
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return &formats.TruncatedError{Place: m.at(m.lines.Number() + 1), Want: "the rest of the trace", Err: err, Help: "the file was cut off; copy it again"}
		case errors.Is(err, jsonl.ErrLineTooLong):
			return &formats.SyntaxError{Place: m.at(m.lines.Number() + 1), What: "row", Err: err}
		case err != nil:
			return fmt.Errorf("%s: %w", m.place, err)
		}
		if blank(line) {
			m.counts["blank_lines"]++
			continue
		}
		fault, err := m.row(line)
		switch {
		case err != nil:
			return err
		case fault == nil:
		case cut && fault.Got == "end of line":
			return &formats.TruncatedError{Place: m.at(m.lines.Number()), Want: "the rest of the row", Help: "the file was cut off; copy it again"}
		default:
			e := m.syntax(fault)
			if m.n == 0 && bytes.Contains(line, []byte(`"`+schedule.Format+`"`)) {
				e.Help = "this is a schedule already: tracegen schedule transforms it, and replay sends it"
			}
			return e
		}
	}
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return false
		}
	}
	return true
}

func (m *mooncake) at(line int64) string { return m.place + ":" + strconv.FormatInt(line, 10) }

func (m *mooncake) syntax(f *jsonl.Fault) *formats.SyntaxError {
	return &formats.SyntaxError{Place: m.at(m.lines.Number()), What: f.What, Got: f.Got, Want: f.Want}
}

func (m *mooncake) setCount(name string, n int64) {
	if n > 0 {
		m.counts[name] = n
	}
}

// row checks one row, notes what it means for its session and stores it.
func (m *mooncake) row(line []byte) (*jsonl.Fault, error) {
	row, fault := m.parser.parse(line)
	if fault != nil {
		return fault, nil
	}
	number := m.lines.Number()
	if fault := m.keys(row, number); fault != nil {
		return fault, nil
	}
	if fault := m.blocks(row); fault != nil {
		return fault, nil
	}
	key, t, fault := m.session(row, number)
	if fault != nil {
		return fault, nil
	}
	if row.at.Valid {
		if m.n > 0 && row.at.V < m.clock {
			m.counts["sorted_backward"]++
		}
		m.clock = row.at.V
	}
	m.n++
	return nil, m.store(row, t, key, number)
}

// keys counts what is not carried.
func (m *mooncake) keys(row *mooncakeRow, number int64) *jsonl.Fault {
	if row.headers {
		m.counts["headers_dropped"]++
	}
	for _, key := range row.unknown {
		if m.o.Strict {
			return &jsonl.Fault{What: "key", Got: key, Want: "known keys only, under --strict"}
		}
		if _, seen := m.unknown[key]; !seen {
			if len(m.order) == maxUnknown {
				key = "…"
			}
			if _, seen := m.unknown[key]; !seen {
				m.unknown[key] = number
				m.order = append(m.order, key)
			}
		}
		m.counts["unknown_key:"+key]++
	}
	return nil
}

// maxUnknown is how many unknown keys are told apart: a trailer is no place for a
// million of them.
const maxUnknown = 100

// blocks checks the ids of a row against its length and against the rows before.
func (m *mooncake) blocks(row *mooncakeRow) *jsonl.Fault {
	if row.ids <= 0 {
		return nil
	}
	n := row.input.V
	fits := schedule.FullIDs(n, &schedule.Block{Tokens: m.o.BlockSize, Last: schedule.Partial})
	switch {
	case row.ids > fits:
		return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("%d ids for input_length %d", row.ids, n), Want: fmt.Sprintf("at most %d of %d tokens", fits, m.o.BlockSize)}
	case row.ids < fits:
		m.counts["ids_short"]++
	}
	c := m.ids.add(row.runs, row.ids, n)
	if c == nil {
		return nil
	}
	return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("id %d for %d tokens", c.id, c.is),
		Want: fmt.Sprintf("%d tokens as on row %d: an id stands for one size", c.was, m.find(c))}
}

// find returns the first row on which an id had the size it was seen with.
func (m *mooncake) find(c *conflict) int64 {
	next, err := m.rows.sorted()
	first := m.lines.Number()
	var rec storedRow
	for err == nil {
		var b []byte
		if b, err = next(); err != nil {
			break
		}
		if rec.decode(b) != nil || rec.r.Blocks == nil || rec.line >= first {
			continue
		}
		left := rec.ids()
		for _, run := range rec.r.Blocks.Add {
			left -= run[1]
			if c.id < run[0] || c.id-run[0] >= run[1] {
				continue
			}
			size := m.o.BlockSize
			if left == 0 && c.id == run[0]+run[1]-1 {
				size = min(size, rec.r.InputTokens.V-(rec.ids()-1)*size)
			}
			if size == c.was {
				first = rec.line
			}
		}
	}
	return first
}

// storedRow is what waits in the sorter: a line number, whether the row has a
// session_id, and the request as it will be written, less what is known only at the end.
type storedRow struct {
	line   int64
	named  bool
	parser schedule.Parser
	r      *schedule.Request
}

func (s *storedRow) decode(b []byte) (err error) {
	s.line = int64(binary.LittleEndian.Uint64(b))
	s.named = b[8] == 1
	s.r, err = s.parser.Parse(b[9:])
	return err
}

func (s *storedRow) ids() (n int64) {
	for _, run := range s.r.Blocks.Add {
		n += run[1]
	}
	return n
}

// store keeps a row until the trace has been read to its end.
func (m *mooncake) store(row *mooncakeRow, t *talk, key, number int64) error {
	r := schedule.Request{
		AtNS: row.at, Session: "r" + strconv.FormatInt(number, 10), Stream: "0", Context: schedule.Whole,
		InputTokens: row.input, OutputTokens: row.planned(), Extra: row.extra, Body: row.body(),
	}
	switch {
	case row.delta:
		r.Context = schedule.Delta
	case row.context != "":
		r.Context = contextModes[row.context]
	}
	var head [9]byte
	binary.LittleEndian.PutUint64(head[:], uint64(number))
	if t != nil {
		head[8] = 1
		r.Session, r.Turn = row.session, t.rows-1
		switch {
		case t.rows == 1:
		case row.delay.Valid:
			r.DelayNS = row.delay
		case !row.at.Valid:
			r.DelayNS = formats.Some(0)
		}
	}
	if row.delay.Valid && (t == nil || t.rows == 1) {
		m.counts["delay_without_predecessor"]++
	}
	if row.ids > 0 {
		r.Blocks = &schedule.Blocks{Scope: m.o.Scope, Add: row.runs}
	}
	m.buf = schedule.AppendRequest(append(m.buf[:0], head[:]...), &r)
	return m.rows.add(key, m.buf)
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

// later adds a wait to a time, capped.
func later(t, wait int64) int64 {
	if t > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return t + wait
}
