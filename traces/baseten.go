package traces

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/ipc"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/columns"
	"hydrant/internal/parquet"
)

// How columnar files begin.
const (
	magicParquet = "PAR1"
	magicArrow   = "ARROW1"
)

// basetenQuantum is the time grain of the traces, 1 ms.
const basetenQuantum = 1_000_000

var basetenFormat = Format{
	Name:  "baseten",
	Usage: "from Baseten's request logs, Parquet or Arrow IPC files",
	Text: `Each row is a request with its prompt as text: timestamp_start_unix_ms, prompt,
input_tokens, output_tokens; if there, total_hashes and block_size, a session,
duration_e2e_ms, duration_ttft_ms, request_canceled, model_name. Rows need not be
sorted; time 0 is the earliest. A prompt holds the whole context of its turn. A
request waits for those of its session that had ended when it started.

  tracegen baseten requests.parquet -o requests.sched.zst
  tracegen baseten requests.arrow --session-column poor_man_session_id --kv-hints | replay http://server:8000 | reduce`,
	Options: []string{"session-column", "kv-hints", "block-size", "scope", "strict"},
	Sniff: func(head []byte, _ []string) bool {
		return hasPrefix(head, magicParquet) || hasPrefix(head, magicArrow)
	},
	Read: Baseten,
}

func hasPrefix(head []byte, magic string) bool {
	return len(head) >= len(magic) && string(head[:len(magic)]) == magic
}

// Baseten reads a request log of Baseten from a Parquet or an Arrow IPC file.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the input and of temporary files.
func Baseten(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	in.things = "column"
	if o.Scope == "" {
		o.Scope = "baseten/" + stem(f.Name)
	}
	b := &baseten{intake: in, o: o, rows: newStore(in), zero: math.MaxInt64, first: map[string]int64{},
		hints: hints{scope: o.Scope, send: o.KVHints, size: o.BlockSize, from: "as --block-size says"}}
	t, err := b.read(f)
	if err != nil {
		b.rows.close()
		return nil, err
	}
	return t, nil
}

// baseten is a trace while it is read.
type baseten struct {
	*intake
	o      Options
	rows   *store
	zero   int64            // the earliest row's time, ns
	first  map[string]int64 // session → its earliest time, ns
	hints  hints
	found  [len(basetenColumns)]int // place of a known column among the cells, −1: not there
	extra  []string                 // columns that are not known
	column string                   // of sessions
	named  bool                     // it holds text
	buf    []byte
}

func (b *baseten) read(f Input) (*Trace, error) {
	file, err := b.seek(f, magicParquet, magicArrow)
	if err != nil {
		return nil, err
	}
	defer file.close()
	if file.size == 0 {
		return nil, b.some()
	}
	rows, err := b.open(file)
	if err != nil {
		return nil, err
	}
	for {
		cells, err := rows.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		b.line++
		fault, err := b.row(cells)
		if fault != nil {
			return nil, b.syntax(fault)
		} else if err != nil {
			return nil, err
		}
	}
	if err := b.some(); err != nil {
		return nil, err
	}
	block, err := b.hints.decide(b.place)
	if err != nil {
		return nil, err
	}
	get, err := b.rows.requests()
	if err != nil {
		return nil, err
	}
	order := newTieOrder(get, b.ranks())
	links := newThreads(basetenQuantum)
	id := int64(-1)
	t := b.trace(basetenQuantum, block, func() (*schedule.Request, error) {
		r, err := order.next()
		if err != nil {
			return nil, err
		}
		id++
		r.ID = id
		links.link(r)
		r.AtNS.V -= b.zero
		if err := b.hints.settle(b.intake, r); err != nil {
			return nil, err
		}
		return r, nil
	}, func() error { return errors.Join(order.close(), b.rows.close(), b.hints.close()) })
	switch {
	case block == nil && b.o.KVHints:
		t.Idle = "kv-hints"
	case block == nil && b.o.BlockSize > 0:
		t.Idle = "block-size"
	}
	return t, nil
}

// open opens the table and finds the columns.
func (b *baseten) open(file *seekable) (columns.Rows, error) {
	magic := make([]byte, len(magicArrow))
	n, _ := file.ReadAt(magic, 0)
	var table columns.Table
	var err error
	switch {
	case hasPrefix(magic[:n], magicParquet):
		table, err = parquet.Open(file, file.size, b.place)
	case hasPrefix(magic[:n], magicArrow):
		table, err = ipc.OpenFile(file, file.size, b.place)
	default:
		err = &formats.SyntaxError{Place: b.place, What: "first bytes", Got: string(magic[:n]), Want: "a Parquet file (" + magicParquet + ") or an Arrow IPC file (" + magicArrow + ")"}
	}
	if err != nil {
		return nil, err
	}
	ask, err := b.choose(table.Columns())
	if err != nil {
		return nil, err
	}
	return table.Rows(ask)
}

// ranks orders the sessions by their first request, and then by name.
func (b *baseten) ranks() func(r *schedule.Request) int64 {
	type begin struct {
		at   int64
		name string
	}
	compare := func(x, y begin) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.name, y.name)) }
	var all []begin
	for name, at := range b.first {
		all = append(all, begin{at, name})
	}
	slices.SortFunc(all, compare)
	return func(r *schedule.Request) int64 {
		at, named := b.first[r.Session]
		if !named {
			at = r.AtNS.V
		}
		i, _ := slices.BinarySearchFunc(all, begin{at, r.Session}, compare)
		if named {
			return 2*int64(i) + 1
		}
		return 2 * int64(i) // between those that begin before and after it
	}
}

// row checks one row and stores it.
func (b *baseten) row(cells []columns.Cell) (*jsonl.Fault, error) {
	for _, name := range b.extra {
		if fault := b.key(name); fault != nil {
			return fault, nil
		}
	}
	get := func(c int) *columns.Cell {
		if b.found[c] < 0 {
			return &columns.Cell{Null: true}
		}
		return &cells[b.found[c]]
	}
	for c := range basetenColumns {
		name := basetenColumns[c].name
		if c == colSession {
			name = b.column
		}
		if fault := basetenColumns[c].check(name, get(c)); fault != nil {
			return fault, nil
		}
	}
	ms := get(colStart).Int
	if ms > math.MaxInt64/basetenQuantum {
		return &jsonl.Fault{What: basetenColumns[colStart].name, Got: strconv.FormatInt(ms, 10), Want: "ms since 1970, at most " + strconv.FormatInt(math.MaxInt64/basetenQuantum, 10)}, nil
	}
	at := ms * basetenQuantum
	r := schedule.Request{
		AtNS: formats.Some(at), Stream: "0", Context: schedule.Whole,
		InputTokens: whole64(get(colInput)), OutputTokens: whole64(get(colOutput)), Model: string(get(colModel).Text),
		Recorded: schedule.Recorded{TTFTNS: duration(get(colTTFT)), E2ENS: duration(get(colE2E)), CachedTokens: whole64(get(colCached))},
	}
	b.buf = jsonl.AppendString(append(b.buf[:0], `{"prompt":`...), string(get(colPrompt).Text))
	if len(b.buf) > maxPrompt {
		return &jsonl.Fault{What: "prompt", Got: fmt.Sprintf("%d bytes", len(b.buf)), Want: fmt.Sprintf("at most %d: a line of a schedule is no longer", maxPrompt)}, nil
	}
	b.buf = append(b.buf, '}')
	r.Body = b.buf
	if fault := b.hints.take(&r, b.line, get(colHashes), get(colBlock)); fault != nil {
		return fault, nil
	}
	b.time(at)
	b.n++
	b.zero = min(b.zero, at)
	b.count("cancelled", get(colCanceled).Int)
	name := b.session(get(colSession))
	if name == "" {
		return nil, b.rows.single(at, b.line, &r)
	}
	r.Session = name
	if first, ok := b.first[name]; !ok || at < first {
		b.first[name] = at
	}
	return nil, b.rows.add(at, &r)
}

// maxPrompt bounds a prompt as JSON, bytes, so that a line of a schedule holds it with
// all else.
const maxPrompt = jsonl.MaxLine - 1<<20

// session names the session of a row, "" when it has none.
func (b *baseten) session(c *columns.Cell) string {
	switch {
	case c.Null:
		return ""
	case !b.named:
		return strconv.FormatInt(c.Int, 10)
	case len(c.Text) == 0:
		b.counts["session_empty"]++
	}
	return string(c.Text)
}

// whole64 is a cell of whole numbers.
func whole64(c *columns.Cell) formats.Int {
	return formats.Int{V: c.Int, Valid: !c.Null}
}

// duration is a cell of ms as ns, rounded to whole ms.
func duration(c *columns.Cell) formats.Int {
	if c.Null {
		return formats.Int{}
	}
	return formats.Some((c.Int + int64(math.Round(c.Float))) * basetenQuantum)
}
