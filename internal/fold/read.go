package fold

import (
	"cmp"
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
	rows    slab
	text    texts
	after   []int64 // ids of predecessors, of all rows in a row
	gaps    []int64 // scratch
	chunks  spool
	parts   []*part
	clients []client
	order   order // of stamps, counted while reading
	latest  latest
	inputs  []summary.Input
	notes   []string

	// Set by settle.
	sorted  []int32 // rows by (u, id)
	byID    []int32 // rows by id
	epoch   run.Epoch
	window  summary.Window
	plan    summary.Plan
	load    load
	span    steady
	sheet   *sheet
	metrics []summary.Metric
	series  []summary.Series
	sketch  []summary.Sketch
	gpu     gpus
	groups  groups

	perWorker           []summary.Client
	rated, inKnown      bool    // there are rates; every input was counted
	okRPS, outTPS       float64 // for the rates per device
	inTokens, outTokens int64
	good                int64 // good rows of the window; null: no objectives
	untimed             int64 // rows without a planned time
	cut                 bool  // an input ended early
	ranker              ranker
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
}

func newFold(o Options) *fold {
	if o.MaxColumns == 0 {
		o.MaxColumns = DefaultMaxColumns
	}
	f := &fold{o: o, text: texts{at: map[string]int32{}}, sheet: newSheet(), good: null}
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
	for i := range f.rows.n {
		if f.rows.at(int32(i)).part == int32(len(f.parts)-1) {
			q.end.RequestsRows++
		}
	}
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
	at := int32(len(f.parts))
	f.parts = append(f.parts, q)
	f.latest = latest{}
	for _, c := range [...]countField{{"workers", formats.Some(int64(q.header.Workers)), 1 << 30},
		{"warmup_ns", formats.Some(q.header.WarmupNS), maxTime}, {"ramp_ns", formats.Some(q.header.RampNS), maxTime}} {
		if c.v.V < 0 || c.v.V > c.most {
			return &formats.SyntaxError{Place: place + ": header", What: c.name, Got: c.v.String(), Want: fmt.Sprintf("a count from 0 to %d", c.most)}
		}
	}
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row, err := p.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.rows.n == 1<<31-1 {
			return &formats.SyntaxError{Place: place, What: "rows", Got: "more than 2^31", Want: "fewer"}
		}
		r, err := f.take(row, place, at)
		if err != nil {
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
			f.order.add(row)
		}
		if len(row.ChunkGapUS) > 0 || len(row.ChunkDelayUS) > 0 || len(row.ChunkTokens) > 0 {
			r.spooled = true
			if err := f.chunks.add(int32(f.rows.n-1), row); err != nil {
				return err
			}
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
		k, err := takeClient(c, place, at)
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

// settle puts the parts and rows in their order, finds the window and computes
// everything but the devices.
func (f *fold) settle(ctx context.Context) error {
	if err := f.align(); err != nil {
		return err
	}
	if err := f.sort(); err != nil {
		return err
	}
	return f.compute(ctx)
}

// align numbers the parts by their start and moves all times to the earliest epoch,
// by wall clock.
func (f *fold) align() error {
	for _, p := range f.parts { // as given: the later input is the odd one
		if err := sameSchedule(f.parts[0], p); err != nil {
			return err
		}
	}
	order := make([]int32, len(f.parts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		p, q := f.parts[a], f.parts[b]
		return cmp.Or(cmp.Compare(p.header.Epoch.WallNS, q.header.Epoch.WallNS), cmp.Compare(p.end.SHA256, q.end.SHA256))
	})
	position := make([]int32, len(order))
	parts := make([]*part, len(order))
	for i, k := range order {
		position[k], parts[i] = int32(i), f.parts[k]
	}
	f.parts = parts
	if len(parts) == 0 {
		return nil
	}
	f.epoch = parts[0].header.Epoch
	for _, p := range parts {
		if p.offset = p.header.Epoch.WallNS - f.epoch.WallNS; p.offset < 0 || p.offset > maxTime {
			return &formats.SyntaxError{Place: p.place, What: "epoch.wall_ns", Got: fmt.Sprint(p.header.Epoch.WallNS),
				Want: "within 36 years of the other parts"}
		}
	}
	for i := range f.rows.n {
		r := f.rows.at(int32(i))
		r.part = position[r.part]
		if off := parts[r.part].offset; off != 0 {
			r.shift(off)
		}
	}
	for i := range f.clients {
		c := &f.clients[i]
		c.part = position[c.part]
		c.t += parts[c.part].offset
	}
	slices.SortFunc(f.clients, func(a, b client) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.worker, b.worker), cmp.Compare(a.t, b.t), cmp.Compare(a.pid, b.pid))
	})
	return nil
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

// sort orders the rows by planned time and by id, and finds ids that two parts share.
func (f *fold) sort() error {
	f.sorted = make([]int32, f.rows.n)
	for i := range f.sorted {
		f.sorted[i] = int32(i)
	}
	f.byID = slices.Clone(f.sorted)
	// The last keys only matter for ids that stand twice in one part.
	tie := func(p, q *rec) int {
		return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.worker, q.worker), cmp.Compare(p.asked, q.asked),
			cmp.Compare(p.end, q.end), cmp.Compare(p.outcome, q.outcome))
	}
	slices.SortFunc(f.sorted, func(a, b int32) int {
		p, q := f.rows.at(a), f.rows.at(b)
		return cmp.Or(cmp.Compare(p.u(), q.u()), cmp.Compare(p.id, q.id), tie(p, q))
	})
	slices.SortFunc(f.byID, func(a, b int32) int {
		p, q := f.rows.at(a), f.rows.at(b)
		return cmp.Or(cmp.Compare(p.id, q.id), tie(p, q))
	})
	f.plan.Rows = int64(f.rows.n)
	f.plan.Distinct = f.plan.Rows
	for i := 1; i < len(f.byID); i++ {
		p, q := f.rows.at(f.byID[i-1]), f.rows.at(f.byID[i])
		if p.id != q.id {
			continue
		}
		if p.part != q.part {
			return &formats.SyntaxError{Place: f.parts[q.part].place, What: "request_id", Got: fmt.Sprint(q.id),
				Want: fmt.Sprintf("an id that %s lacks", f.parts[p.part].place), Help: "the same run was given twice, or two runs replay the same requests"}
		}
		f.plan.Distinct--
		f.plan.Duplicates++
	}
	return nil
}

// find returns the first row with an id, nil when there is none.
func (f *fold) find(id int64) *rec {
	i, ok := slices.BinarySearchFunc(f.byID, id, func(i int32, id int64) int { return cmp.Compare(f.rows.at(i).id, id) })
	if !ok {
		return nil
	}
	return f.rows.at(f.byID[i])
}

// each calls do for every row in order.
func (f *fold) each(do func(r *rec)) { f.among(f.sorted, do) }

// among calls do for some rows, in the order given.
func (f *fold) among(rows []int32, do func(r *rec)) {
	for _, i := range rows {
		do(f.rows.at(i))
	}
}
