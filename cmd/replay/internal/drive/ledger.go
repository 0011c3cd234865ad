package drive

import (
	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
)

// debt is a planned request whose row has not arrived. What it holds is enough to make
// a row when its worker dies.
type debt struct {
	worker     int    // who was given it
	job        []byte // encoded, without prompt and body
	size       int64  // of the job as sent, bytes
	dispatched bool
	due        int64 // when dispatched
	at         int64
}

// ledger holds the rows that are owed. Drive's mutex guards it.
type ledger struct {
	owed    map[int64]*debt
	waiting int64 // not dispatched yet
	bytes   int64 // of their jobs
}

func newLedger() *ledger { return &ledger{owed: map[int64]*debt{}} }

// add notes that a worker owes the row of request id.
func (l *ledger) add(id int64, d *debt) {
	l.owed[id] = d
	l.waiting++
	l.bytes += d.size
}

// sent notes that a request was dispatched. One that has its row already is left alone:
// rows and stamps travel on their own.
func (l *ledger) sent(s link.Stamp) bool {
	d := l.owed[s.ID]
	if d == nil || d.dispatched {
		return false
	}
	d.dispatched, d.due, d.at = true, s.DueNS, s.DispatchedNS
	l.waiting--
	l.bytes -= d.size
	return true
}

// settle notes that the row of request id has arrived from worker. It returns false
// when nobody owed it.
func (l *ledger) settle(id int64, worker int) (wasSent, ok bool) {
	d := l.owed[id]
	if d == nil || d.worker != worker {
		return false, false
	}
	if !d.dispatched {
		l.waiting--
		l.bytes -= d.size
	}
	delete(l.owed, id)
	return d.dispatched, true
}

// writeOff returns what a dead worker owed, in no order, and forgets it.
func (l *ledger) writeOff(worker int) []*debt {
	var all []*debt
	for id, d := range l.owed {
		if d.worker == worker {
			all = append(all, d)
			l.settle(id, worker)
		}
	}
	return all
}

// row makes the row of a request whose worker died at offset now: truncated when it
// was in flight as far as the parent knows, else not sent.
func (d *debt) row(reason string, now int64) (*run.Request, error) {
	j, err := link.DecodeJob(d.job)
	if err != nil {
		return nil, err
	}
	row := planned(j)
	row.Worker = formats.Some(int64(d.worker))
	row.Outcome, row.Error = run.NotSent, reason
	if d.dispatched {
		row.Outcome = run.Truncated
		row.DueNS, row.DispatchedNS = formats.Some(d.due), formats.Some(d.at)
		row.EndNS = formats.Some(max(now, d.at))
	}
	return row, nil
}

// planned returns a row with the columns of the plan.
func planned(j *link.Job) *run.Request {
	r := &j.Request
	return &run.Request{RequestID: r.ID, Pass: j.Pass, Session: r.Session, Stream: r.Stream, Turn: r.Turn, After: r.After, Class: r.Class,
		Model: r.Model, ScheduledNS: r.AtNS, PlannedInputTokens: r.InputTokens, PlannedOutputTokens: r.OutputTokens,
		ExpectedCachedTokens: j.Expected}
}
