package worker

import (
	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// dispatch hands a request that is due to its own goroutine. It runs on the pacer's
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
	go w.fly(f, now)
	w.tally.dispatch(now - f.due)
	w.stamps.add(link.Stamp{ID: f.job.Request.ID, DueNS: f.due, DispatchedNS: now})
}

// fly sends a request and sees it to its end.
func (w *worker) fly(f *flight, now int64) {
	row := f.row(int64(w.setup.Worker))
	row.DispatchedNS = formats.Some(now)
	err := cli.Guard(func() error {
		w.engine.Do(w.ctx, f.prepared, row)
		return nil
	})
	if err != nil {
		row.Outcome, row.Error = run.Truncated, err.Error()
		_ = w.out.WriteJSON(link.KindFault, link.Fault{Text: err.Error()})
	}
	if !row.EndNS.Valid {
		row.EndNS = formats.Some(w.now())
	}
	w.composer.learn(f, row)
	f.prepared = nil
	w.tally.complete(row)
	w.board.landed(f, row.EndNS.V, true)
	w.rows.put(row)
	w.board.reported()
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
