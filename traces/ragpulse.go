package traces

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// ragpulseBlock is the default size of the blocks that components are cut into.
const ragpulseBlock = 16

// Of times, s: the grain is one.
const (
	ragpulseQuantum = 1_000_000_000
	week            = 604_800
)

// A prompt is longer than its components by what the template adds.
const leastTemplate, mostTemplate = 6, 12

var ragpulseFormat = Format{
	Name:  "ragpulse",
	Usage: "from RAGPulse's JSON Lines and the five tables of components beside them",
	Text: `TRACE is a folder with the trace (0_trace.jsonl) and the five tables, or the trace
itself with the tables beside it or in --tables DIR. A prompt is its components, cut
into blocks: ids count their first appearances after one text in front. The clock
goes back to 0 once a week and is unwrapped. Rows of a session are whole prompts.

  tracegen ragpulse RAGPulse/data -o rag.sched.zst
  tracegen ragpulse 0_trace.jsonl --tables data --window 0:1h | replay --sim default | reduce`,
	Options: []string{"block-size", "scope", "strict", "tables"},
	Folder:  true,
	Block:   ragpulseBlock,
	Sniff: func(head []byte, names []string) bool {
		_, _, fault := ragpulseFiles(names, true)
		return fault == nil || hasKeys(head, "hash_ids", "session_id") && bytes.Contains(firstLine(head), []byte(`"passages_ids"`))
	},
	Read: RAGPulse,
}

// RAGPulse reads a trace in RAGPulse's JSON Lines.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the input, of the tables and of the temporary file.
func RAGPulse(f Input, o Options) (*Trace, error) {
	if o.BlockSize == 0 {
		o.BlockSize = ragpulseBlock
	}
	in := newIntake(f.Place, o.Strict)
	p := &ragpulse{intake: in, o: o, rows: newStore(in), prefixes: prefixes{size: o.BlockSize}, sessions: map[string]ragTurns{}}
	t, err := p.read(f)
	if err != nil {
		p.rows.close()
		return nil, err
	}
	return t, nil
}

// ragpulse is a trace while it is read.
type ragpulse struct {
	*intake
	o        Options
	keys     members
	rows     *store
	tables   [kinds]lookup
	prefixes prefixes
	weeks    int64 // passed
	written  int64 // time of the latest row as written, s
	sessions map[string]ragTurns

	ids    [kinds][]int64 // of the row in hand
	parts  []component
	blocks schedule.Blocks
}

// ragTurns is what is known of an open session while its requests come out.
type ragTurns struct{ turns, last int64 }

func (p *ragpulse) read(f Input) (*Trace, error) {
	r, name, err := p.open(f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if p.o.Scope == "" {
		p.o.Scope = "ragpulse/" + stem(name)
	}
	if err := p.lines(r, name, p.row); err != nil {
		return nil, err
	}
	if err := p.some(); err != nil {
		return nil, err
	}
	p.count("week_wraps", p.weeks)
	p.prefixes.nodes, p.tables = nil, [kinds]lookup{} // whoever writes the schedule needs memory too
	get, err := p.rows.requests()
	if err != nil {
		return nil, err
	}
	// The trace first, then the tables, though these were read before it.
	last := len(p.sources) - 1
	p.sources = append(p.sources[last:], p.sources[:last]...)
	return p.trace(ragpulseQuantum, &schedule.Block{Tokens: p.o.BlockSize, Last: schedule.Absent}, func() (*schedule.Request, error) {
		r, err := get()
		if err == nil {
			p.settle(r)
		}
		return r, err
	}, p.rows.close), nil
}

var ragpulseKeys = []string{"timestamp", "input_length", "output_length", "session_id", "hash_ids"}

// row checks one row and stores it.
func (p *ragpulse) row(line []byte) (*jsonl.Fault, error) {
	m := &p.keys
	r := schedule.Request{Stream: "0", Context: schedule.Whole}
	written := int64(0)
	fault := m.each(line, ragpulseKeys, func(key string) bool {
		switch key {
		case "timestamp":
			written = p.seconds()
		case "input_length":
			r.InputTokens = formats.Some(m.whole(0))
		case "output_length":
			r.OutputTokens = formats.Some(m.whole(0))
		case "session_id":
			r.Session = m.text()
		case "hash_ids":
			p.components()
		default:
			return false
		}
		return true
	})
	if fault != nil {
		return fault, nil
	}
	if fault := p.ignored(m.unknown); fault != nil {
		return fault, nil
	}
	at, fault := p.unwrap(written)
	if fault != nil {
		return fault, nil
	}
	r.AtNS = formats.Some(at)
	if r.Blocks, fault = p.cut(r.InputTokens.V); fault != nil {
		return fault, nil
	}
	p.time(at)
	p.n++
	return nil, p.rows.add(at, &r)
}

// seconds reads a time: a string of digits.
func (p *ragpulse) seconds() int64 {
	s := &p.keys.s
	const want = "a string of digits, seconds within 292 years"
	text := s.Text()
	if s.Err != nil {
		s.Err.Want = want
		return 0
	}
	v := int64(0)
	for _, ch := range text {
		if v = v*10 + int64(ch-'0'); ch < '0' || ch > '9' || v > math.MaxInt64/1_000_000_000 {
			s.Fail("timestamp", string(text), want)
			return 0
		}
	}
	if len(text) == 0 {
		s.Fail("timestamp", "", want)
	}
	return v
}

// unwrap returns the time of a row in ns. A step backward of more than half a week
// begins the next week.
func (p *ragpulse) unwrap(written int64) (ns int64, _ *jsonl.Fault) {
	if p.n > 0 && p.written-written > week/2 {
		p.weeks++
	}
	p.written = written
	if written > math.MaxInt64/1_000_000_000-p.weeks*week {
		return 0, &jsonl.Fault{What: "timestamp", Got: strconv.FormatInt(written, 10), Want: "a time within 292 years, all weeks added"}
	}
	return (written + p.weeks*week) * 1_000_000_000, nil
}

// settle gives a stored request its place in the session.
func (p *ragpulse) settle(r *schedule.Request) {
	s, open := p.sessions[r.Session]
	if open {
		r.After = append(r.After, s.last)
	}
	r.Turn = s.turns
	if r.Last {
		delete(p.sessions, r.Session)
		return
	}
	p.sessions[r.Session] = ragTurns{turns: s.turns + 1, last: r.ID}
}

// cut looks up the components of the row in hand and returns the block ids of its
// prompt of n tokens.
func (p *ragpulse) cut(n int64) (*schedule.Blocks, *jsonl.Fault) {
	p.parts = p.parts[:0]
	sum := int64(0)
	for k, ids := range p.ids {
		for _, id := range ids {
			c, ok := p.tables[k].of[id]
			if !ok {
				return nil, &jsonl.Fault{What: "hash_ids." + ragpulseKinds[k].list, Got: strconv.FormatInt(id, 10), Want: "an id of " + filepath.Base(p.tables[k].path)}
			}
			p.parts = append(p.parts, c)
			sum += c.tokens
		}
	}
	if sum > 0 && n == 0 {
		return nil, &jsonl.Fault{What: "input_length", Got: "0", Want: "at least 1, for a prompt with components"}
	}
	if extra := n - sum; extra < leastTemplate || extra > mostTemplate {
		p.counts["length_differs"]++
	}
	most := min(sum, n) / p.o.BlockSize
	if most > schedule.MaxIDs {
		return nil, &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("%d blocks", most), Want: fmt.Sprintf("at most %d blocks of %d tokens", schedule.MaxIDs, p.o.BlockSize)}
	}
	runs := p.prefixes.cut(p.parts, most)
	if len(runs) == 0 {
		return nil, nil
	}
	p.blocks = schedule.Blocks{Scope: p.o.Scope, Add: runs}
	return &p.blocks, nil
}
