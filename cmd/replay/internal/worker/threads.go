package worker

import (
	"fmt"
	"slices"
	"sync"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// threads keeps what delta sessions have said and heard. Whole lines pass through
// without a trace. Memory is that of the sessions that are open.
type threads struct {
	mu   sync.Mutex
	open map[string]*conversation // by session
}

type conversation struct {
	streams map[string]*thread
	lost    string // why no later turn can be built; empty: none is lost
	lines   int    // begun and not ended
	last    bool   // no more lines will come
}

type thread struct {
	history endpoint.History
	latest  int64 // id of the line accepted last
}

// lostReply says that a turn has no history to stand on.
type lostReply struct{ why string }

func (e *lostReply) Error() string { return e.why }

// begin notes a line when it is accepted and returns the ids it waits for: those of the
// plan, and for a delta the line before it in its stream, whose reply it continues.
func (t *threads) begin(j *link.Job) []int64 {
	r := &j.Request
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[r.Session]
	if c == nil {
		if r.Context != schedule.Delta {
			return r.After
		}
		if t.open == nil {
			t.open = map[string]*conversation{}
		}
		c = &conversation{streams: map[string]*thread{}}
		t.open[r.Session] = c
	}
	c.last = c.last || r.Last
	if r.Context != schedule.Delta {
		if c.last && c.lines == 0 {
			delete(t.open, r.Session)
		}
		return r.After
	}
	c.lines++
	th := c.streams[r.Stream]
	if th == nil {
		c.streams[r.Stream] = &thread{latest: r.ID}
		return r.After
	}
	after := r.After
	if !slices.Contains(after, th.latest) {
		after = append(slices.Clone(after), th.latest)
	}
	th.latest = r.ID
	return after
}

// history returns what the session said before the line; nil for a whole line.
func (t *threads) history(r *schedule.Request) (*endpoint.History, error) {
	if r.Context != schedule.Delta {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[r.Session]
	if c.lost != "" {
		return nil, &lostReply{c.lost}
	}
	return &c.streams[r.Stream].history, nil
}

// end notes how a line ended. A reply that failed or is empty is never fed back: the
// remaining turns of the session are lost.
func (t *threads) end(r *schedule.Request, row *run.Request, reply []byte) {
	if r.Context != schedule.Delta {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[r.Session]
	if c.lost == "" {
		switch {
		case row.Outcome == run.NotSent:
			c.lost = row.Error
		case row.Outcome != run.OK:
			c.lost = fmt.Sprintf("the session lost a reply: request %d ended as %s", r.ID, row.Outcome)
		case c.streams[r.Stream].history.Answered(reply) != nil:
			c.lost = fmt.Sprintf("the session lost a reply: request %d was answered with nothing", r.ID)
		}
	}
	if c.lines--; c.lines == 0 && c.last {
		delete(t.open, r.Session)
	}
}
