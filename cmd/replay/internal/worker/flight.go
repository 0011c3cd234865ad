package worker

import (
	"math"
	"sync"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// flight is one planned request on its way through the worker. Its fields are guarded
// by board.mu until it is dispatched; from then on they belong to the engine. There is one
// for each open stream, so it is kept small.
type flight struct {
	job  *link.Job // nil while line stands for it
	line string    // the job in its binary form

	w          *worker // set when dispatched
	dispatched int64

	next   []*flight // who waits for this one
	depEnd int64     // latest end of its predecessors, or unset
	start  int64     // under think: when it starts at its recorded distance to its predecessors' starts, or unset
	due    int64     // set when released

	capFrom int64 // since when it waits for a slot, or has waited, or unset
	capWait int64 // how long it waited; unset: no cap

	request    *wire.Prepared // nil before it is built, and when the engine is done with it
	preparedNS int64
	size       int64 // bytes of the prepared body

	waits    int32 // predecessors that have not ended
	release  bool  // due is known
	gone     bool  // dispatched or given up
	admitted bool  // it has its slots
	prepared bool  // request is built
	taken    bool  // it is with the preparer
	held     bool  // size counts as held, not as ahead
}

// unset stands for an instant or a time that is not known.
const unset = math.MinInt64

func newFlight(j *link.Job) *flight {
	return &flight{job: j, depEnd: unset, start: unset, capFrom: unset, capWait: unset}
}

// prepared are requests to be used again.
var prepared = sync.Pool{New: func() any { return new(wire.Prepared) }}

// prepare gives f the request that was built for it.
func (f *flight) prepare(p wire.Prepared) {
	f.request = prepared.Get().(*wire.Prepared)
	*f.request = p
	f.prepared = true
}

// done lets the request go.
func (f *flight) done() {
	if f.request != nil {
		*f.request = wire.Prepared{}
		prepared.Put(f.request)
		f.request = nil
	}
}

// fold puts the job of a flight whose body is sent into its binary form, an eighth of its
// size: a stream may stay open for long.
func (f *flight) fold() {
	var scratch [256]byte
	f.line = string(link.AppendJob(scratch[:0], f.job))
	f.job.Release()
	f.job = nil
}

// unfold makes the job again.
func (f *flight) unfold() {
	if f.job != nil {
		return
	}
	var err error
	if f.job, err = link.DecodeJob([]byte(f.line)); err != nil {
		panic(err) // fold wrote it
	}
	f.line = ""
}

// blank are rows to be used again: one comes and goes with each request.
var blank = sync.Pool{New: func() any { return new(run.Request) }}

// row returns a row with the plan's columns filled.
func (f *flight) row(worker int64) *run.Request {
	r := &f.job.Request
	row := blank.Get().(*run.Request)
	*row = run.Request{
		RequestID:            r.ID,
		Pass:                 f.job.Pass,
		Session:              r.Session,
		Stream:               r.Stream,
		Turn:                 r.Turn,
		After:                r.After,
		Class:                r.Class,
		Model:                r.Model,
		ScheduledNS:          r.AtNS,
		PlannedInputTokens:   r.InputTokens,
		PlannedOutputTokens:  r.OutputTokens,
		ExpectedCachedTokens: f.job.Expected,
		Worker:               formats.Some(worker),
	}
	if f.release {
		row.DueNS = formats.Some(f.due)
	}
	if f.capWait != unset {
		row.CapWaitNS = formats.Some(f.capWait)
	}
	if f.w != nil {
		row.DispatchedNS = formats.Some(f.dispatched)
	}
	if f.prepared {
		row.PreparedNS = formats.Some(f.preparedNS)
	}
	return row
}

// needsReplies reports whether the body can only be built when the predecessors'
// replies are known.
func (f *flight) needsReplies() bool { return f.job.Request.Context == schedule.Delta }
