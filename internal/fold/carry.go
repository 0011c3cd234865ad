package fold

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// maxCarried is the number of token events with chunk lists up to which a summary
// carries its rows; ten bytes of text each.
const maxCarried = 4_000_000

// carry writes the rows as a run of the same parts, for the summary to carry; nil when
// they are too many. What no metric reads is left out.
func (f *fold) carry() (*summary.EncodedRows, error) {
	if f.chunks.values > maxCarried {
		return nil, nil
	}
	return f.carryAll()
}

// carryAll writes them however many they are.
func (f *fold) carryAll() (*summary.EncodedRows, error) {
	lists := make([]int64, f.rows.n) // where they begin in the spool
	err := f.chunks.each(false, func(c *chunks, at int64) error {
		lists[f.placed(int32(c.row))] = at
		return nil
	})
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	out := base64.NewEncoder(base64.StdEncoding, &text) // a Builder never fails
	clients := f.clients
	for i, p := range f.parts {
		w, err := run.NewWriter(out, p.header, nil)
		if err != nil {
			return nil, err
		}
		if err := f.carryRows(w, int64(i), lists); err != nil {
			return nil, err
		}
		for len(clients) > 0 && clients[0].part == int32(i) {
			if err := w.Client([]run.Client{clients[0].row(p.offset)}); err != nil {
				return nil, err
			}
			clients = clients[1:]
		}
		if err := w.Close(run.End{Status: p.end.Status, Planned: p.end.Planned, Detail: p.end.Detail}); err != nil {
			return nil, err
		}
	}
	_ = out.Close()
	o := f.order
	return &summary.EncodedRows{Order: summary.Order{Rows: o.rows, Over: o.over, MostNS: o.most, WorstID: o.worst, Early: o.early}, Run: text.String()}, nil
}

// carryRows writes the rows of one part.
func (f *fold) carryRows(w *run.Writer, part int64, lists []int64) error {
	e := run.NewEncoder()
	flush := func() error {
		if e.Len() == 0 {
			return nil
		}
		b, _, err := e.Batch()
		if err != nil {
			return err
		}
		return w.Requests(b)
	}
	var c chunks
	rows := f.rows.cursor()
	for i := range f.rows.n {
		j := rows.seek(i)
		if rows.col(cPart)[j] != part {
			continue
		}
		r := rows.row(j)
		if off := f.parts[part].offset; off != 0 {
			r.shift(-off)
		}
		q := f.request(&r)
		if r.spooled {
			if err := f.chunks.at(lists[i], &c); err != nil {
				return err
			}
			carryLists(q, &c)
		}
		if e.Append(q); e.Full() {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// request is the row from which take made r.
func (f *fold) request(r *rec) *run.Request {
	q := &run.Request{RequestID: r.id, Turn: r.turn, Session: f.text.of(r.session), Class: f.text.of(r.class), Model: f.text.of(r.model), RemoteAddr: f.text.of(r.addr),
		After:       slices.Clone(f.predecessors(r.after, r.afterN, new([1]int64))),
		ScheduledNS: unpack(r.scheduled), DueNS: unpack(r.due), PreparedNS: unpack(r.prepared), DispatchedNS: unpack(r.dispatched),
		ConnAskedNS: unpack(r.asked), ConnReadyNS: unpack(r.ready), DNSNS: unpack(r.dns), ConnectNS: unpack(r.connect), TLSNS: unpack(r.tls),
		WriteDoneNS: unpack(r.wrote), FirstByteKernelNS: unpack(r.firstByteKernel), FirstByteNS: unpack(r.firstByte),
		FirstTokenKernelNS: unpack(r.firstKernel), FirstTokenNS: unpack(r.first), FirstAnswerKernelNS: unpack(r.answerKernel),
		FirstAnswerNS: unpack(r.answer), LastTokenKernelNS: unpack(r.lastKernel), LastTokenNS: unpack(r.last), EndNS: unpack(r.end),
		PlannedInputTokens: unpack(r.plannedIn), PlannedOutputTokens: unpack(r.plannedOut), ExpectedCachedTokens: unpack(r.expected), CapWaitNS: unpack(r.capWait),
		InputTokens: unpack(r.in), OutputTokens: unpack(r.out), ReasoningTokens: unpack(r.reasoning), CachedTokens: unpack(r.cached),
		FirstChunkTokens: unpack(r.firstChunk), TokenEvents: unpack(r.tokens), BytesSent: unpack(r.sent), Reads: unpack(r.reads),
		MultiEventReads: unpack(r.multi), SegmentsIn: unpack(r.segments), Retransmits: unpack(r.retransmits),
		Outcome: run.Outcomes[r.outcome], TokenSource: sources[r.source]}
	if len(q.After) == 0 {
		q.After = nil
	}
	if r.worker >= 0 {
		q.Worker = formats.Some(r.worker)
	}
	if r.reused >= 0 {
		q.ConnReused = formats.Some(int64(r.reused))
	}
	if r.early {
		q.EarlyResponse = formats.Some(1)
	}
	if r.local {
		q.Error = run.LocalPrefix
	}
	return q
}

// carryLists adds the lists of a row. One that had some keeps one, be it of
// nulls: how its tokens are spread over time depends on there being lists.
func carryLists(q *run.Request, c *chunks) {
	if len(c.gaps) > 0 {
		q.ChunkGapUS = c.gaps
	}
	q.ChunkDelayUS = make([]formats.Int, len(c.gaps)+1)
	for i, d := range c.delays {
		q.ChunkDelayUS[i] = unpack(d)
	}
	for _, n := range c.tokens {
		q.ChunkTokens = append(q.ChunkTokens, unpack(n))
	}
}

// row is the client row from which takeClient made c, its time from the epoch of its
// part, which began offset ns after the first.
func (c *client) row(offset int64) run.Client {
	return run.Client{TNS: c.t - offset, Worker: int64(c.worker), PID: c.pid, IntervalNS: unpack(c.interval), CPUUserNS: unpack(c.user), CPUSystemNS: unpack(c.system),
		RunqueueWaitNS: unpack(c.runqueue), Timeslices: unpack(c.slices), ThrottledNS: unpack(c.throttled), StealPPM: unpack(c.steal), PSICPUPPM: unpack(c.psi),
		RSSBytes: unpack(c.rss), OpenFDs: unpack(c.fds), GCPauseNS: unpack(c.gcPause), GCPauseMaxNS: unpack(c.gcMax), SchedLatencyP99NS: unpack(c.sched),
		HiccupGoroutineP999NS: unpack(c.hiccupGo), HiccupThreadP999NS: unpack(c.hiccupThread), Dispatched: unpack(c.dispatched), InFlight: unpack(c.inFlight),
		Completed: unpack(c.completed), TokenEvents: unpack(c.events), ReadDelayP99NS: unpack(c.readDelay), BacklogPrepare: unpack(c.backlogPrepare),
		BacklogDispatch: unpack(c.backlogDispatch), BacklogRows: unpack(c.backlogOfRows)}
}

// told is what a summary says of a part whose rows it carries.
type told struct {
	place  string // of the summary
	file   string // of the part
	header json.RawMessage
	end    summary.PartEnd
}

// fit compares a part with what its summary says and gives it the identity of the run
// that was read first.
func (t *told) fit(q *part) error {
	var h run.Header
	if json.Unmarshal(t.header, &h) != nil || q.header.Epoch != h.Epoch || q.end.Planned != t.end.Planned || q.end.Status != t.end.Status || q.end.RequestsRows != t.end.RequestsRows || q.end.ClientRows != t.end.ClientRows {
		return &formats.SyntaxError{Place: t.place, What: "rows", Got: "another run", Want: "the rows of the parts that the summary states", Help: "reduce the run again"}
	}
	q.raw, q.end.SHA256, q.file = t.header, t.end.SHA256, t.file
	return nil
}

// readSummary takes in the rows that a summary carries. One without rows is returned
// when its sums can be merged.
func (f *fold) readSummary(ctx context.Context, in Input) (bare *summary.Summary, err error) {
	s, err := summary.Read(in.R, in.Name)
	if err != nil {
		return nil, err
	}
	if err := f.mayMerge(s, in); err != nil || s.Rows == nil {
		return s, err
	}
	return nil, f.takeSummary(ctx, s, in)
}

// mayMerge says why a summary cannot be merged.
func (f *fold) mayMerge(s *summary.Summary, in Input) error {
	if f.o.Row != nil {
		return &formats.SyntaxError{Place: in.Name, What: "kind", Got: "a summary", Want: "a run, whose rows are written", Help: "give the run that the summary was made from"}
	}
	if len(s.GPUs) > 0 {
		return &formats.SyntaxError{Place: in.Name, What: "gpus", Got: fmt.Sprintf("%d devices", len(s.GPUs)), Want: "none: samples do not travel in a summary",
			Help: "merge summaries made without gpu streams, and give the gpu streams beside them"}
	}
	if s.Rows == nil && (s.Sums == nil || f.o.anew()) {
		return &formats.SyntaxError{Place: in.Name, What: "rows", Got: "a summary without rows", Want: "one with rows, or the run",
			Help: "give the run itself, or reduce it again with --columns on: this cannot be computed without the rows"}
	}
	return nil
}

// takeSummary takes in the rows of a summary.
func (f *fold) takeSummary(ctx context.Context, s *summary.Summary, in Input) error {
	b, err := base64.StdEncoding.DecodeString(s.Rows.Run)
	if err != nil {
		return &formats.SyntaxError{Place: in.Name, What: "rows", Got: "damaged base64", Want: "a run", Err: err}
	}
	parts := toldParts(s, in.Name)
	n, err := f.readParts(ctx, Input{Name: in.Name + ": rows", R: bytes.NewReader(b)}, parts)
	if err != nil {
		return err
	}
	if n != len(parts) {
		return &formats.SyntaxError{Place: in.Name, What: "rows", Got: fmt.Sprintf("%d parts", n), Want: fmt.Sprint(len(parts))}
	}
	o := s.Rows.Order
	f.order.merge(order{rows: o.Rows, over: o.Over, most: o.MostNS, worst: o.WorstID, early: o.Early})
	for _, x := range s.Inputs {
		if x.Kind == kindRun {
			f.inputs = append(f.inputs, x)
		}
	}
	return nil
}

// toldParts is what a summary says of its parts.
func toldParts(s *summary.Summary, place string) []told {
	parts := make([]told, len(s.Parts))
	for i, p := range s.Parts {
		parts[i] = told{place: place, header: p.Header, end: p.End}
		for _, x := range s.Inputs {
			if x.SHA256 == p.End.SHA256 {
				parts[i].file = x.Name
			}
		}
	}
	return parts
}
