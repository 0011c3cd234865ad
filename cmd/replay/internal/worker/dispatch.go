package worker

import (
	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
)

// dispatch hands a request that is due to the engine. It runs on the pacer's
// thread and does nothing that can wait.
func (w *worker) dispatch(f *flight, now int64) {
	if d := w.setup.DurationNS; d > 0 && now >= d {
		w.endDuration()
		return
	}
	now, ok := w.board.depart(f)
	if !ok {
		return
	}
	f.w, f.dispatched = w, now
	stamp := link.Stamp{ID: f.request.ID, DueNS: f.due, DispatchedNS: now}
	w.engine.Start(w.ctx, f.request, now, f)
	w.tally.dispatch(now - stamp.DueNS)
	w.stamps.add(stamp)
}

// Row returns the row of a request on its way, for the engine to fill.
func (f *flight) Row() *run.Request {
	f.unfold()
	return f.row(int64(f.w.setup.Worker))
}

// Written lets the request go, and what it was made of: a stream may stay open for long.
func (f *flight) Written() {
	f.w.composer.recycle(f)
	stream := f.request.Stream
	if !f.request.KeepReply {
		f.done()
	}
	r := &f.job.Request
	r.Body, r.Extra, r.Blocks, f.job.Block = nil, nil, nil, nil
	if stream {
		f.fold()
	}
}

// Ended sees a request to its end.
func (f *flight) Ended(row *run.Request) {
	w := f.w
	w.composer.learn(f, row)
	f.done()
	w.tally.complete(row)
	w.board.landed(f, row.EndNS.V, true)
	f.job.Release()
	f.job = nil
	w.rows.put(row)
	w.board.reported()
}

// fault tells the parent of a panic that cost a request.
func (w *worker) fault(err error) {
	_ = w.out.WriteJSON(link.KindFault, link.Fault{Text: err.Error()})
}

// forget ends requests that the plan ended before: they get no row, and the parent
// strikes them off.
func (w *worker) forget(all []*flight) {
	var d link.Dropped
	for _, f := range all {
		row := f.row(int64(w.setup.Worker))
		row.Outcome = run.NotSent
		w.composer.learn(f, row)
		w.board.landed(f, max(w.now(), 0), false)
		d.IDs = append(d.IDs, row.RequestID)
		blank.Put(row)
	}
	_ = w.out.WriteJSON(link.KindDropped, d) // a parent that is gone is noticed by the next read
	for range all {
		w.board.reported()
	}
}

// giveUp makes the row of a request that is never sent.
func (w *worker) giveUp(f *flight, reason string) {
	row := f.row(int64(w.setup.Worker))
	row.Outcome, row.Error = run.NotSent, reason
	w.composer.learn(f, row)
	w.board.landed(f, max(w.now(), 0), false)
	w.rows.put(row)
	w.board.reported()
}
