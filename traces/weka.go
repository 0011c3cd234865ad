package traces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

var wekaFormat = Format{
	Name:  "weka",
	Usage: "from WEKA's agent sessions (kv-cache-tester), and SemiAnalysis' cc-traces",
	Text: `A trace is a JSON object: the requests of one session with their times (s), lengths
and block ids, and its subagents among them. The input is a file with one or several
of them, or a folder of such files, whose sessions are merged by time. Recorded
durations become waits: a request waits for those that had ended when it started, a
subagent for the request that launched it, and the request that reads its result for
the subagent. Whether times are whole seconds, and whether the rest of a prompt has a
block id, is decided from the input.

  tracegen weka trace_0277.json -o agent.sched.zst
  tracegen weka traces/ --think-cap 60s | replay --sim default --timing think | reduce`,
	Options: []string{"scope", "strict", "think"},
	Folder:  true,
	Sniff: func(head []byte, names []string) bool {
		if len(names) > 0 {
			return slices.ContainsFunc(names, func(n string) bool { return wekaName(n) && strings.HasPrefix(n, "trace_") })
		}
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) && bytes.Contains(head, []byte(`"block_size"`)) && bytes.Contains(head, []byte(`"requests"`))
	},
	Read: Weka,
}

// wekaName reports whether a file of a folder is taken for traces.
func wekaName(name string) bool {
	for _, ext := range []string{".zst", ".gz"} {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl")
}

// Quanta of the two corpora in this shape, ns.
const (
	wekaQuantum = 1_000_000_000 // starts of requests are whole seconds
	ccQuantum   = 1_000_000
)

// Weka reads agent sessions in WEKA's JSON: a file with one trace object or several, in
// lines or not, or a folder of such files. SemiAnalysis' cc-traces have the same shape
// with finer times and an id for the last part of a prompt; the input shows which.
//
// One trace object at a time lies in memory. Errors are *formats.SyntaxError or
// *formats.TruncatedError with file and line, or those of the input and of the temporary
// files.
func Weka(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	w := &weka{intake: in, f: f, o: o, rows: newStore(in), spool: newSpool(), places: map[string]string{}, quantum: wekaQuantum}
	w.parser.unknown = in.key
	t, err := w.read()
	w.spool.close() // its reader has no use for it
	if err != nil {
		w.rows.close()
		return nil, err
	}
	return t, nil
}

// weka is an input while it is read: first all traces, which decides how they are to be
// understood, then what waits for what, trace by trace.
type weka struct {
	*intake
	f      Input
	o      Options
	parser wekaParser
	trace  wekaTrace
	buf    []byte
	spool  *spool
	names  []string          // ids, in the order of the spool
	places map[string]string // id → file and line
	rows   *store

	quantum int64  // ns
	block   int64  // tokens, 0: no trace yet
	hasIDs  bool   // a request has block ids
	last    string // schedule.Partial or Absent, "" while both fit
	global  *blockIDs
	scoped  bool // a trace is in the scope of the input

	ordinal  int64
	together int64 // traces that start at their zero, give or take a quantum
	longest  int64 // wait, ns
	longName string
}

func (w *weka) read() (*Trace, error) {
	if err := w.files(); err != nil {
		return nil, err
	}
	if err := w.some(); err != nil {
		return nil, err
	}
	if err := w.plan(); err != nil {
		return nil, err
	}
	next, err := w.rows.requests()
	if err != nil {
		return nil, err
	}
	var block *schedule.Block
	if w.hasIDs {
		block = &schedule.Block{Tokens: w.block, Last: w.last}
	}
	if w.last == "" && w.hasIDs {
		block.Last = schedule.Absent
	}
	w.warn()
	t := w.intake.trace(w.quantum, block, next, w.rows.close)
	if w.o.Scope != "" && !w.scoped {
		t.Undecided = "scope"
	}
	if w.o.Think != "" && w.counts["think_time_used"] == 0 {
		t.Undecided = "think"
	}
	return t, nil
}

// warn says what a replay of the input will look like.
func (w *weka) warn() {
	if w.quantum == wekaQuantum && w.together > 1 {
		w.warnings = append(w.warnings, fmt.Sprintf("%s: %d of %d sessions start together at 0, and times are whole seconds; --arrivals with --rate gives sessions starts of their own", w.f.Place, w.together, len(w.names)))
	}
	if w.longest >= longWait {
		w.warnings = append(w.warnings, fmt.Sprintf("%s: %s waits %d s; --think-cap shortens such waits", w.f.Place, w.longName, w.longest/1_000_000_000))
	}
}

// longWait is a wait that people should know of, ns.
const longWait = 3600 * 1_000_000_000

// files takes in the input, file by file.
func (w *weka) files() error {
	if w.f.R != nil {
		return w.file(w.f.R, w.f.Name)
	}
	entries, err := os.ReadDir(w.f.Path)
	if err != nil {
		return err
	}
	others := 0
	for _, e := range entries {
		if e.IsDir() || !wekaName(e.Name()) {
			others++
			continue
		}
		w.place = filepath.Join(w.f.Path, e.Name())
		r, err := w.f.Open(w.place)
		if err != nil {
			return err
		}
		err = errors.Join(w.file(r, e.Name()), r.Close())
		if err != nil {
			return err
		}
	}
	w.place, w.line = w.f.Place, 0
	if others > 0 {
		w.counts["files_ignored"] = int64(others)
		w.warnings = append(w.warnings, fmt.Sprintf("%s: files left out, which are neither .json nor .jsonl: %d", w.f.Place, others))
	}
	return nil
}

// file takes in the traces of one file.
func (w *weka) file(r io.Reader, name string) error {
	d := newDigest()
	p := newPieces(io.TeeReader(r, d))
	for !p.done() {
		w.line = p.line
		w.parser.object(p, &w.trace)
		if p.err != nil {
			break
		}
		if err := w.take(); err != nil {
			return err
		}
	}
	w.line = max(p.line, 1)
	fault := new(jsonl.Fault)
	switch {
	case errors.As(p.err, &fault):
		e := w.syntax(fault)
		if w.n == 0 && bytes.Contains(p.buf[:min(p.end, 4<<10)], []byte(`"`+schedule.Format+`"`)) {
			e.Help = "this is a schedule already: tracegen schedule transforms it, and replay sends it"
		}
		return e
	case p.err != nil:
		return w.broken(w.line, p.err)
	}
	w.source(name, d)
	return nil
}

// take checks a trace and keeps it for the second pass.
func (w *weka) take() error {
	t := &w.trace
	if was, again := w.places[t.id]; again {
		return &formats.SyntaxError{Place: w.at(), What: "id", Got: t.id, Want: "another id than the trace at " + was}
	}
	w.places[t.id] = w.at()
	w.names = append(w.names, t.id)
	switch {
	case w.block == 0:
		w.block = t.block
	case w.block != t.block:
		return &formats.SyntaxError{Place: w.at(), What: "block_size", Got: strconv.FormatInt(t.block, 10), Want: fmt.Sprintf("%d as in the traces before", w.block)}
	}
	if t.scope == "" && w.o.Scope == "" {
		return &formats.SyntaxError{Place: w.at(), What: "hash_id_scope", Got: "nothing", Want: "local or global", Help: "--scope NAME says that all traces of the input share their ids"}
	}
	w.scoped = w.scoped || t.scope != localScope
	w.n += int64(len(t.requests))
	for i := range t.requests {
		r := &t.requests[i]
		if r.agent < 0 && r.t%wekaQuantum != 0 {
			w.quantum = ccQuantum
		}
		w.hasIDs = w.hasIDs || r.ids >= 0
	}
	if err := w.ids(); err != nil {
		return err
	}
	if fault := w.totals(); fault != nil {
		return w.syntax(fault)
	}
	w.buf = t.append(w.buf[:0])
	return w.spool.add(w.buf)
}

// path names a request within its trace.
func (t *wekaTrace) path(r *wekaRequest) string {
	if r.agent < 0 {
		return fmt.Sprintf("requests[%d]", r.at)
	}
	return fmt.Sprintf("requests[%d].requests[%d]", t.agents[r.agent].at, r.at)
}

// totals compares the sums that a trace gives with those of its requests.
func (w *weka) totals() *jsonl.Fault {
	t := &w.trace
	if len(t.totals) == 0 || string(t.totals) == "null" {
		return nil
	}
	var in, out [2]int64 // of the parent, of subagents
	for i := range t.requests {
		r := &t.requests[i]
		k := min(r.agent+1, 1)
		in[k] += r.in
		out[k] += r.out
	}
	differ := false
	s := &w.parser.s
	s.Reset(t.totals)
	s.Field = "totals"
	tokens := func(k int) {
		for ok := s.Open('{'); ok; ok = s.More('{') {
			switch string(s.Key()) {
			case "input":
				differ = wholeNumber(s, 0) != in[k] || differ
			case "output":
				differ = wholeNumber(s, 0) != out[k] || differ
			default:
				s.Raw()
			}
		}
	}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := string(s.Key())
		s.Field = "totals." + key
		switch key {
		case "parent_tokens":
			tokens(0)
		case "subagent_tokens":
			tokens(1)
		case "subagent_count":
			differ = wholeNumber(s, 0) != int64(len(t.agents)) || differ
		default:
			s.Raw()
		}
	}
	if differ {
		w.counts["totals_differ"]++
	}
	return s.Err
}

// plan stores the requests of all traces with what they wait for.
func (w *weka) plan() error {
	if w.global != nil { // whoever writes the schedule needs memory too
		if err := w.global.close(); err != nil {
			return err
		}
		w.global = nil
	}
	order := make([]int, len(w.names))
	for i := range order {
		order[i] = i
	}
	if w.f.R == nil {
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(w.names[a], w.names[b]) })
	}
	for _, i := range order {
		b, err := w.spool.get(i, w.buf)
		if err != nil {
			return err
		}
		w.buf = b
		if err := w.trace.decode(b); err != nil {
			return err
		}
		if err := w.graph(); err != nil {
			return err
		}
	}
	return nil
}
