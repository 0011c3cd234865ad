package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// engine answers without a server.
type engine struct {
	pace.Alarm
	clock clock.Clock
	fault func(error)
	do    func(ctx context.Context, p *wire.Prepared, row *run.Request)
}

func (e *engine) Start(ctx context.Context, p *wire.Prepared, _ int64, f wire.Flight) {
	go func() {
		row := f.Row()
		if err := cli.Guard(func() error { e.answer(ctx, p, row); return nil }); err != nil {
			row.Outcome, row.EndNS = run.Truncated, formats.Some(e.clock.Now())
			e.fault(err)
		}
		f.Ended(row)
	}()
}

func (e *engine) answer(ctx context.Context, p *wire.Prepared, row *run.Request) {
	row.Outcome = run.OK
	row.ConnAskedNS = formats.Some(e.clock.Now())
	if e.do != nil {
		e.do(ctx, p, row)
	}
	row.EndNS = formats.Some(e.clock.Now())
}

func (e *engine) Close() {}

// parent plays the parent of a worker in the same process.
type parent struct {
	t     *testing.T
	to    *link.Writer
	in    io.Closer
	ended chan error

	mu     sync.Mutex
	rows   map[int64]link.Row
	sent   map[int64]link.Stamp
	counts run.Client // sums of the client rows
	faults []string
	bye    *link.Bye
	ready  chan struct{}
}

// employ starts a worker.
func employ(t *testing.T, s link.Setup, do func(ctx context.Context, p *wire.Prepared, row *run.Request)) *parent {
	t.Helper()
	in, toWorker := io.Pipe()
	fromWorker, out := io.Pipe()
	w, err := newWorker(s, link.NewWriter(out), func(o wire.Options) (wire.Engine, error) { return &engine{clock: o.Clock, fault: o.Fault, do: do}, nil })
	if err != nil {
		t.Fatal(err)
	}
	p := &parent{t: t, to: link.NewWriter(toWorker), in: toWorker, ended: make(chan error, 1), rows: map[int64]link.Row{}, sent: map[int64]link.Stamp{}, ready: make(chan struct{}, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.listen(link.NewReader(fromWorker))
	}()
	go func() {
		err := w.run(link.NewReader(in), clock.Epoch())
		out.Close()
		<-read
		p.ended <- err
	}()
	return p
}

func (p *parent) listen(frames *link.Reader) {
	for {
		kind, payload, err := frames.Next()
		if err != nil {
			return
		}
		p.mu.Lock()
		switch kind {
		case link.KindReady:
			p.ready <- struct{}{}
		case link.KindRows:
			rows, err := link.DecodeRows(payload)
			if err != nil || len(rows.Message) == 0 {
				p.t.Errorf("rows: %v, message of %d bytes", err, len(rows.Message))
			}
			for _, r := range rows.Rows {
				if _, twice := p.rows[r.ID]; twice {
					p.t.Errorf("request %d has two rows", r.ID)
				}
				p.rows[r.ID] = r
			}
		case link.KindSent:
			stamps, err := link.DecodeStamps(payload)
			if err != nil {
				p.t.Error(err)
			}
			for _, s := range stamps {
				p.sent[s.ID] = s
			}
		case link.KindClient:
			var rows []run.Client
			if err := json.Unmarshal(payload, &rows); err != nil {
				p.t.Error(err)
			}
			for _, c := range rows {
				p.counts.Dispatched.V += c.Dispatched.V
				p.counts.Completed.V += c.Completed.V
				p.counts.InFlight = c.InFlight
			}
		case link.KindFault:
			var f link.Fault
			if err := json.Unmarshal(payload, &f); err != nil {
				p.t.Error(err)
			}
			p.faults = append(p.faults, f.Text)
		case link.KindBye:
			p.bye = new(link.Bye)
			if err := json.Unmarshal(payload, p.bye); err != nil {
				p.t.Error(err)
			}
		}
		p.mu.Unlock()
	}
}

func (p *parent) write(kind link.Kind, v any) {
	p.t.Helper()
	var err error
	switch v := v.(type) {
	case nil:
		err = p.to.Write(kind)
	case *link.Job:
		err = p.to.Write(kind, link.AppendJob(nil, v))
	default:
		err = p.to.WriteJSON(kind, v)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func whole(id int64, at time.Duration) *link.Job {
	return &link.Job{Request: schedule.Request{ID: id, Session: "s", Stream: "0", Context: schedule.Whole, AtNS: formats.Some(int64(at)),
		InputTokens: formats.Some(3), OutputTokens: formats.Some(1)}}
}

// A whole life: jobs, start, late jobs, end. Every job has a row, nothing goes out
// early, and both counts agree.
func TestAWorkersLife(t *testing.T) {
	p := employ(t, setup(), nil)
	const n = 200
	for id := range int64(n / 2) {
		p.write(link.KindJob, whole(id, time.Duration(id)*time.Millisecond))
	}
	p.write(link.KindPrime, nil)
	<-p.ready
	p.write(link.KindStart, link.Start{Epoch: clock.Epoch()})
	for id := int64(n / 2); id < n; id++ {
		p.write(link.KindJob, whole(id, time.Duration(id-n/2)*time.Millisecond)) // late as they come
	}
	p.write(link.KindFinish, nil)
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	if len(p.rows) != n || p.bye == nil || p.bye.Rows != n {
		t.Fatalf("%d rows, last word %+v; want %d", len(p.rows), p.bye, n)
	}
	for id, r := range p.rows {
		if !r.Dispatched || run.Outcomes[r.Outcome] != run.OK || r.SendLagNS.V < 0 {
			t.Errorf("request %d: %+v", id, r)
		}
	}
	for id, s := range p.sent {
		if s.DispatchedNS < s.DueNS {
			t.Errorf("request %d went out %d ns early", id, s.DueNS-s.DispatchedNS)
		}
	}
	if p.counts.Dispatched.V != n || p.counts.Completed.V != n || p.counts.InFlight.V != 0 {
		t.Errorf("the client rows count %d dispatched, %d completed, %d in flight; want %d, %d, 0",
			p.counts.Dispatched.V, p.counts.Completed.V, p.counts.InFlight.V, n, n)
	}
}

// A stop leaves what is in flight its grace, then cancels it with the reason.
func TestAStopCancelsAfterItsGrace(t *testing.T) {
	flying := make(chan struct{}, 2)
	var causes sync.Map
	p := employ(t, setup(), func(ctx context.Context, p *wire.Prepared, row *run.Request) {
		flying <- struct{}{}
		<-ctx.Done()
		row.Outcome = run.Cancelled
		causes.Store(p.ID, context.Cause(ctx).Error())
	})
	for id := range int64(2) {
		p.write(link.KindJob, whole(id, 0))
	}
	p.write(link.KindJob, whole(2, time.Hour))
	p.write(link.KindStart, link.Start{Epoch: clock.Epoch()})
	<-flying
	<-flying
	p.write(link.KindStop, link.Stop{Reason: "enough"})
	p.write(link.KindJob, whole(3, 0))
	p.write(link.KindFinish, nil)
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	var got []string
	for id := range int64(4) {
		got = append(got, run.Outcomes[p.rows[id].Outcome])
	}
	if s := strings.Join(got, " "); s != "cancelled cancelled not_sent not_sent" {
		t.Errorf("outcomes %s", s)
	}
	for id := range int64(2) {
		if cause, _ := causes.Load(id); cause != "enough" {
			t.Errorf("request %d was cancelled for %v", id, cause)
		}
	}
}

// A line whose body cannot be built gets its row, and the parent hears of it.
func TestALineThatCannotBeBuilt(t *testing.T) {
	s := setup()
	s.Model = ""
	p := employ(t, s, nil)
	p.write(link.KindJob, whole(0, 0)) // no model anywhere
	named := whole(1, 0)
	named.Request.Model = "m"
	p.write(link.KindJob, named)
	p.write(link.KindStart, link.Start{Epoch: clock.Epoch()})
	p.write(link.KindFinish, nil)
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	if a, b := run.Outcomes[p.rows[0].Outcome], run.Outcomes[p.rows[1].Outcome]; a != run.NotSent || b != run.OK {
		t.Errorf("outcomes %s, %s; want not_sent, ok", a, b)
	}
	if len(p.faults) != 1 || !strings.HasPrefix(p.faults[0], "schedule request 0: ") || !strings.Contains(p.faults[0], "model") {
		t.Errorf("faults %q; want one that names the request and the model", p.faults)
	}
}

// A panic in the engine costs its request only, and is told.
func TestAPanicInTheEngine(t *testing.T) {
	p := employ(t, setup(), func(_ context.Context, p *wire.Prepared, _ *run.Request) {
		if p.ID == 1 {
			panic("broken")
		}
	})
	for id := range int64(3) {
		p.write(link.KindJob, whole(id, 0))
	}
	p.write(link.KindStart, link.Start{Epoch: clock.Epoch()})
	p.write(link.KindFinish, nil)
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	if len(p.rows) != 3 || run.Outcomes[p.rows[1].Outcome] != run.Truncated || run.Outcomes[p.rows[2].Outcome] != run.OK {
		t.Errorf("rows %+v", p.rows)
	}
	if len(p.faults) != 1 || !strings.Contains(p.faults[0], "internal error: broken") {
		t.Errorf("faults %q", p.faults)
	}
}

// A worker whose parent is gone leaves, whatever it has in flight.
func TestAnOrphanLeaves(t *testing.T) {
	flying := make(chan struct{})
	p := employ(t, setup(), func(ctx context.Context, _ *wire.Prepared, _ *run.Request) {
		close(flying)
		<-ctx.Done()
	})
	p.write(link.KindJob, whole(0, 0))
	p.write(link.KindStart, link.Start{Epoch: clock.Epoch()})
	<-flying
	p.in.Close()
	if err := <-p.ended; err != errOrphan {
		t.Errorf("ends with %v; want %v", err, errOrphan)
	}
}

func TestMainNeedsItsSetup(t *testing.T) {
	var out bytes.Buffer
	for _, in := range []string{"", "garbage that is no frame at all"} {
		if err := Main(strings.NewReader(in), &out); err == nil || out.Len() > 0 {
			t.Errorf("Main(%q) = %v, wrote %d bytes", in, err, out.Len())
		}
	}
}

func TestProbeMeasuresTheWorst(t *testing.T) {
	var p probe
	var now int64
	lates := []int64{100, 5_000_000, 30, 45_000_000, 70}
	stop := make(chan struct{})
	i, handed := 0, 0
	p.run(func() int64 { return now }, func(until int64) {
		if until%int64(probePeriod) != 0 || until <= now {
			t.Errorf("sleeps from %d to %d; want the next multiple of 10 ms", now, until)
		}
		now = until + lates[i]
		if i++; i == len(lates) {
			close(stop)
		}
	}, stop, func(k int, due int64) {
		if k != handed || due != now-lates[k] {
			t.Errorf("hands on instant %d as number %d; want %d as number %d", due, k, now-lates[k], handed)
		}
		handed++
	})
	if w := p.take(); w != 45_000_000 || handed < len(lates)-1 {
		t.Errorf("worst = %d; want 45 ms", w)
	}
	if w := p.take(); w != 0 {
		t.Errorf("then %d; want 0", w)
	}
}

// The goroutine counts from the instant that woke the thread, not from the wake.
func TestProbeOfAGoroutineCountsFromTheInstant(t *testing.T) {
	var p probe
	stop, wake := make(chan struct{}), make(chan int64)
	var now atomic.Int64
	now.Store(50_000_000)
	done := make(chan struct{})
	go func() { defer close(done); p.runGoroutine(now.Load, stop, wake) }()
	for _, due := range []int64{49_900_000, 47_000_000, 51_000_000} { // the last is early, which is no lateness
		wake <- due
	}
	close(stop)
	<-done
	if w := p.take(); w != 3_000_000 {
		t.Errorf("worst = %d; want 3 ms", w)
	}
}
