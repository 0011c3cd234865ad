package worker

import (
	"slices"
	"sync"

	"hydrant/formats"
	"hydrant/formats/run"
)

// maxLags bounds the lags kept for one second; beyond it the percentile is that of the
// first ones, the largest is always exact.
const maxLags = 1 << 18

// tally counts what happened since the last client row. Every dispatched and every
// ended request is counted exactly once, so that the sums over the client table equal
// the rows.
type tally struct {
	mu         sync.Mutex
	dispatched int64
	completed  int64
	segments   formats.Int
	lags       []int64
	lagMax     int64
}

func (t *tally) dispatch(lag int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dispatched == 0 || lag > t.lagMax {
		t.lagMax = lag
	}
	t.dispatched++
	if len(t.lags) < maxLags {
		t.lags = append(t.lags, lag)
	}
}

func (t *tally) complete(row *run.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.completed++
	if row.SegmentsIn.Valid {
		t.segments = formats.Some(t.segments.V + row.SegmentsIn.V)
	}
}

// take fills the columns that t counts and starts again.
func (t *tally) take(c *run.Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Dispatched, c.Completed = formats.Some(t.dispatched), formats.Some(t.completed)
	c.SegmentsIn = t.segments
	if t.dispatched > 0 {
		slices.Sort(t.lags)
		n := len(t.lags)
		c.LagP99NS = formats.Some(t.lags[n-n/100-1]) // nearest rank ceil(0.99 n)
		c.LagMaxNS = formats.Some(t.lagMax)
	}
	t.dispatched, t.completed, t.segments, t.lagMax, t.lags = 0, 0, formats.Int{}, 0, t.lags[:0]
}
