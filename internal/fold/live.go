package fold

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// LiveMetrics are the metrics that Live keeps, by id.
var LiveMetrics = [...]string{"ttft_user", "ttft_wire", "tpot_user", "e2e_user", "e2e_wire", "send_lag"}

// liveLevels are the percentiles that Live gives, in thousandths.
var liveLevels = []int64{500, 900, 990}

// Live counts the rows of a run that is still being written. Its percentiles are over
// all rows so far, whatever the window will be, with the error of a sketch, 0.1 %. It
// keeps nothing of a row: its memory does not grow. The zero value is not ready.
type Live struct {
	f        *fold // which is given no rows to keep
	x        *frame
	timings  [len(LiveMetrics)]*timing
	sketches [len(LiveMetrics)]*stats.Histogram
	rows, ok int64
	latest   int64 // end_ns
	tokens   int64
}

// NewLive returns a Live without rows.
func NewLive() *Live {
	f := newFold(Options{})
	l := &Live{f: f, x: &frame{s: &f.rows, n: 1}}
	for i, id := range LiveMetrics {
		l.timings[i], l.sketches[i] = timingOf(id), stats.NewHistogram(3)
	}
	return l
}

// Add takes in a row. Errors are those of Run.
func (l *Live) Add(q *run.Request, place string) error {
	c := *q
	c.Session, c.Class, c.Model, c.RemoteAddr, c.After = "", "", "", "", nil
	var r rec
	if err := l.f.take(&r, &c, place, 0); err != nil {
		return err
	}
	if l.rows++; r.ok() {
		l.ok++
	}
	l.latest = max(l.latest, r.end)
	l.tokens += max(0, r.out)
	l.x.hold(&r)
	mark := l.x.marks()[0]
	for i, t := range l.timings {
		if v := t.value(l.x)[0]; v != null && states[t.pop].anywhere().holds(mark) {
			l.sketches[i].Record(v, 1)
		}
	}
	return nil
}

// LiveMetric is a metric so far.
type LiveMetric struct {
	N             int64
	P50, P90, P99 formats.Int // ns; null below the sample floor
}

// LiveState is what Live knows.
type LiveState struct {
	Rows, OK  int64
	LatestNS  int64 // of the ends seen, offset from the run's epoch
	OutTokens int64 // of the rows that ended
	Metrics   [len(LiveMetrics)]LiveMetric
}

// State returns the figures so far.
func (l *Live) State() LiveState {
	s := LiveState{Rows: l.rows, OK: l.ok, LatestNS: l.latest, OutTokens: l.tokens}
	for i, h := range l.sketches {
		m := &s.Metrics[i]
		m.N = h.N()
		for k, v := range h.Quantiles(liveLevels) {
			if m.N >= stats.Floor(liveLevels[k]) {
				*[...]*formats.Int{&m.P50, &m.P90, &m.P99}[k] = formats.Some(v)
			}
		}
	}
	return s
}
