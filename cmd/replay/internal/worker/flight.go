package worker

import (
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// flight is one planned request on its way through the worker. Its fields are guarded
// by board.mu until it is dispatched; from then on they belong to the engine.
type flight struct {
	job *link.Job

	w          *worker // set when dispatched
	dispatched int64

	waits   int       // predecessors that have not ended
	next    []*flight // who waits for this one
	depEnd  formats.Int
	start   formats.Int // under think: when it starts at its recorded distance to its predecessors' starts
	due     int64       // set when released
	release bool        // due is known
	gone    bool        // dispatched or given up

	capFrom  formats.Int // since when it waits for a slot, or has waited
	capWait  formats.Int // how long it waited; null: no cap
	admitted bool        // it has its slots

	prepared   *wire.Prepared
	preparedNS int64
	taken      bool  // it is with the preparer
	size       int64 // bytes of the prepared body
	held       bool  // size counts as held, not as ahead
}

// row returns a row with the plan's columns filled.
func (f *flight) row(worker int64) *run.Request {
	r := &f.job.Request
	row := &run.Request{
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
	row.CapWaitNS = f.capWait
	if f.w != nil {
		row.DispatchedNS = formats.Some(f.dispatched)
	}
	if f.prepared != nil {
		row.PreparedNS = formats.Some(f.preparedNS)
	}
	return row
}

// needsReplies reports whether the body can only be built when the predecessors'
// replies are known.
func (f *flight) needsReplies() bool { return f.job.Request.Context == schedule.Delta }
