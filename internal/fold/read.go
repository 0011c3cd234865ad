package fold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// fold is the state of one Run.
type fold struct {
	o       Options
	rows    store
	text    texts
	last    [cAddr + 1 - cSession]lastText // by column
	letters []byte                         // scratch
	bulk    bulk
	after   []int64 // ids of predecessors, of all rows in a row
	gaps    []int64 // scratch
	scratch []int64
	rooms   [][]int64 // memory for a value of each row, not in use
	chunks  spool
	lists   chunks // scratch
	parts   []*part
	clients []client
	order   order // of stamps, counted while reading
	latest  latest
	inputs  []summary.Input
	notes   []string

	// Set by settle.
	ids       ids     // rows by id; from settle on the rows are in the order of (u, id)
	dependent bool    // some row has predecessors
	ends      []int64 // end of each row, where some are predecessors
	place     []int32 // of each row as read; nil: they were read in order
	position  []int32 // of each part as read
	epoch     run.Epoch
	window    summary.Window
	plan      summary.Plan
	load      load
	span      steady
	sheet     *sheet
	metrics   []summary.Metric
	series    []summary.Series
	sketch    []summary.Sketch
	gpu       gpus
	groups    groups

	perWorker           []summary.Client
	rated, inKnown      bool    // there are rates; every input was counted
	okRPS, outTPS       float64 // for the rates per device
	inTokens, outTokens int64
	good                int64                    // good rows of the window; null: no objectives
	spanFrom, spanTo    int64                    // of ok rows with tokens
	untimed             int64                    // rows without a planned time
	all, in             [len(run.Outcomes)]int64 // rows by outcome, and those in the window
	cut                 bool                     // an input ended early
	ranker              ranker
	rankers             []*ranker // one for each goroutine
	taken               taken
	sums                *sums // what merges without rows; nil: not wanted
}

// clientTime is the column of the client table that holds its times.
const clientTime = "t_ns"

// part is one part of a run.
type part struct {
	place  string
	file   string // name of the input that it stood in
	told   *told  // set for a part that a summary carries
	raw    json.RawMessage
	header run.Header
	end    run.End
	offset int64 // of its epoch from the earliest, ns
	first  int   // its first row, as read
}

func newFold(o Options) *fold {
	if o.MaxColumns == 0 {
		o.MaxColumns = DefaultMaxColumns
	}
	f := &fold{o: o, text: newTexts(), sheet: newSheet(), good: null}
	f.chunks.limit = spoolMemory
	return f
}

func (f *fold) close() { f.chunks.close() }

// readRun takes in every part of a run.
func (f *fold) readRun(ctx context.Context, in Input) error {
	_, err := f.readParts(ctx, in, nil)
	return err
}

// readParts takes in every part of a run and returns their number. A run that a summary
// carries is read with what the summary says of its parts.
func (f *fold) readParts(ctx context.Context, in Input, carried []told) (int, error) {
	r, err := run.NewReader(in.R, in.Name)
	if err != nil {
		return 0, err
	}
	if f.o.Row == nil {
		r.Skip(unread...)
	}
	read := 0
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) && read > 0 {
			return read, nil
		}
		if errors.Is(err, io.EOF) {
			return 0, &formats.TruncatedError{Place: in.Name, Want: "a run"}
		}
		if f.o.Partial && read > 0 && truncated(err) {
			f.partial(err)
			return read, nil
		}
		if err != nil {
			return read, err
		}
		q := &part{place: in.Name, file: base(in.Name), raw: slices.Clone(p.HeaderJSON()), header: p.Header()}
		if carried != nil {
			if read == len(carried) {
				return read, &formats.SyntaxError{Place: in.Name, What: "parts", Got: "more", Want: fmt.Sprint(len(carried))}
			}
			q.told = &carried[read]
		}
		read++
		err = f.readPart(ctx, q, p)
		if f.o.Partial && truncated(err) {
			f.partial(err)
			f.cutShort(q, err)
			return read, nil
		}
		if err != nil {
			return read, err
		}
	}
}

func truncated(err error) bool {
	var cut *formats.TruncatedError
	return errors.As(err, &cut)
}

// partial notes that an input ended early.
func (f *fold) partial(err error) {
	f.cut = true
	f.note("partial: " + err.Error() + "; what was whole before it is all that is counted")
}

// cutShort gives a part without an end one that says so. What was planned beyond the
// rows that were read is not known.
func (f *fold) cutShort(q *part, err error) {
	q.end = run.End{Status: run.Failed, Detail: run.Detail{Reason: "the run was read in part: " + err.Error()}}
	q.end.RequestsRows = int64(f.rows.n - q.first)
	for i := range f.clients {
		if f.clients[i].part == int32(len(f.parts)-1) {
			q.end.ClientRows++
		}
	}
	q.end.Planned = q.end.RequestsRows
	f.inputs = append(f.inputs, summary.Input{Name: q.file, Kind: kindRun})
}

func (f *fold) readPart(ctx context.Context, q *part, p *run.Part) error {
	place := q.place
	at := len(f.parts)
	f.parts = append(f.parts, q)
	q.first = f.rows.n
	f.latest = latest{}
	for _, c := range [...]countField{{"workers", formats.Some(int64(q.header.Workers)), 1 << 30},
		{"warmup_ns", formats.Some(q.header.WarmupNS), maxTime}, {"ramp_ns", formats.Some(q.header.RampNS), maxTime}} {
		if c.v.V < 0 || c.v.V > c.most {
			return &formats.SyntaxError{Place: place + ": header", What: c.name, Got: c.v.String(), Want: fmt.Sprintf("a count from 0 to %d", c.most)}
		}
	}
	r := new(rec)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := p.Rows()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n = min(n, blockRows-f.rows.n%blockRows)
		whole, err := f.takeRows(q, p, n, at)
		if err != nil {
			return err
		}
		if whole {
			p.Pass(n)
			continue
		}
		if err := f.readRows(q, p, n, at, r); err != nil {
			return err
		}
	}
	for {
		c, err := p.NextClient()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		k, err := takeClient(c, place, int32(at))
		if err != nil {
			return err
		}
		f.latest.see(k.t, int64(k.worker), clientTime)
		f.clients = append(f.clients, k)
	}
	end, err := p.End()
	if err != nil {
		return err
	}
	if f.o.Ended != nil {
		f.o.Ended()
	}
	q.end = *end
	if length := end.Detail.Totals.DurationNS; length > 0 && f.latest.at > length+clockSlack {
		at := fmt.Sprintf("%s: request %d", place, f.latest.id)
		if f.latest.name == clientTime {
			at = fmt.Sprintf("%s: client row of worker %d", place, f.latest.id)
		}
		return &formats.SyntaxError{Place: at, What: f.latest.name, Got: fmt.Sprint(f.latest.at), Want: fmt.Sprintf("a time in the run, which took %d ns", length)}
	}
	if q.told != nil {
		return q.told.fit(q)
	}
	f.inputs = append(f.inputs, summary.Input{Name: base(place), Kind: kindRun, SHA256: end.SHA256, Bytes: partBytes(end)})
	return nil
}

// readRows takes in n rows of a part one by one.
func (f *fold) readRows(q *part, p *run.Part, n, part int, r *rec) error {
	for range n {
		row, err := p.NextRequest()
		if err != nil {
			return err
		}
		if f.rows.n == 1<<31-1 {
			return &formats.SyntaxError{Place: q.place, What: "rows", Got: "more than 2^31", Want: "fewer"}
		}
		if err := f.take(r, row, q.place, part); err != nil {
			return err
		}
		if r.whole = !q.header.Streaming; r.whole {
			r.fluidity = -1
		}
		if f.o.Row != nil {
			if err := f.o.Row(&q.header, row); err != nil {
				return err
			}
		}
		if r.due == null && q.header.Timing == "asap" {
			r.scheduled = null // the schedule's times do not say when it would have been sent
		}
		if q.told == nil {
			f.order.add(row, f.lists.low)
		}
		if len(row.ChunkGapUS) > 0 || len(row.ChunkDelayUS) > 0 || len(row.ChunkTokens) > 0 {
			r.spooled = true
			f.lists.listed = f.listed(r)
			if err := f.chunks.add(&f.lists); err != nil {
				return err
			}
		}
		f.rows.put(r)
	}
	return nil
}

// partBytes is the length of a part before its end stream, as its index states.
func partBytes(e *run.End) int64 {
	var n int64
	for i, off := range e.Offsets {
		n = max(n, off+e.Lengths[i])
	}
	return n
}

// base is the last element of a path or address: where a file lies must not show in
// the bytes of a summary.
func base(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' || name[i] == '\\' {
			return name[i+1:]
		}
	}
	return name
}

// sameSchedule says whether two parts replay the same plan. A part that did not
// read its schedule to the end has no hash; its header is compared instead.
func sameSchedule(a, b *part) error {
	x, y := a.end.Detail.ScheduleSHA256, b.end.Detail.ScheduleSHA256
	if len(x) > 0 && len(y) > 0 {
		if slices.Equal(x, y) {
			return nil
		}
		return &formats.SyntaxError{Place: b.place, What: "schedule_sha256", Got: fmt.Sprint(y), Want: fmt.Sprintf("%v, that of %s", x, a.place),
			Help: "runs of different schedules are not one run: reduce each alone"}
	}
	if !sameJSON(a.header.Schedule, b.header.Schedule) {
		return &formats.SyntaxError{Place: b.place, What: "schedule", Got: "another header", Want: "the schedule of " + a.place,
			Help: "runs of different schedules are not one run: reduce each alone"}
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return string(a) == string(b)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}
