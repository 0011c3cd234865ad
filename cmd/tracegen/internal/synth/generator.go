package synth

import (
	"container/heap"
	"fmt"
	"io"
	"math"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Generator yields the requests of a workload. One goroutine owns it.
type Generator struct {
	spec    *Spec
	open    sessions
	started int64 // lines of the sessions that have begun
	nextID  int64
	full    bool // Requests is reached: no more sessions begin
	out     schedule.Request
	blocks  schedule.Blocks
	after   [1]int64
}

// New starts a workload. seed stands where the description has none.
func New(s *Spec, seed int64) (*Generator, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	seed = s.Seed.Or(seed)
	g := &Generator{spec: s}
	for i := range s.Classes {
		c, err := newSource(&s.Classes[i], i, s.Block, s.scope(seed), seed)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", s.Classes[i].Name, err)
		}
		g.begin(c)
	}
	return g, nil
}

// begin puts a class's next session among those that wait for their time.
func (g *Generator) begin(c *source) {
	at, ok := c.arrive()
	if ok && (g.spec.DurationNS == 0 || at < g.spec.DurationNS) {
		heap.Push(&g.open, &session{source: c, number: c.count, at: at})
		c.count++
	}
}

// Next returns the next request, valid until the next call, or io.EOF.
func (g *Generator) Next() (*schedule.Request, error) {
	for len(g.open) > 0 {
		s := g.open[0]
		if s.done > 0 {
			return g.line(s)
		}
		if g.full {
			heap.Pop(&g.open)
			continue
		}
		turns, err := s.source.draw()
		if err != nil {
			return nil, fmt.Errorf("class %s: session %d: %w", s.source.Name, s.number, err)
		}
		if limit := g.spec.Requests; limit > 0 && int64(len(turns)) >= limit-g.started {
			turns, g.full = turns[:limit-g.started], true
		}
		g.started += int64(len(turns))
		s.turns = turns
		if !g.full {
			g.begin(s.source)
		}
		return g.line(s)
	}
	return nil, io.EOF
}

// line writes the next turn of a session and puts the session back at the time of the
// one after it.
func (g *Generator) line(s *session) (*schedule.Request, error) {
	c, t := s.source, s.turns[s.done]
	r := &g.out
	*r = schedule.Request{
		ID: g.nextID, Session: c.Name + "-" + strconv.FormatInt(s.number, 10), Stream: "0", Turn: int64(s.done), Last: s.done == len(s.turns)-1,
		Context: schedule.Whole, InputTokens: formats.Some(t.input), OutputTokens: formats.Some(t.output),
		Model: c.Model, Class: c.Name, Priority: c.Priority,
	}
	if s.done == 0 {
		r.AtNS = formats.Some(s.at)
	} else {
		g.after[0] = s.last
		r.After, r.DelayNS = g.after[:], formats.Some(t.thinkNS)
	}
	if c.block != nil {
		g.blocks = schedule.Blocks{Scope: c.scope, Add: c.compose(s, t)}
		r.Blocks = &g.blocks
	}
	s.last = g.nextID
	g.nextID++
	s.done++
	if r.Last {
		heap.Remove(&g.open, s.place)
		return r, nil
	}
	think := s.turns[s.done].thinkNS
	if s.at > math.MaxInt64-think {
		return nil, fmt.Errorf("class %s: session %d: turn %d comes after more than 292 years", c.Name, s.number, s.done)
	}
	s.at += think
	heap.Fix(&g.open, s.place)
	return r, nil
}

// Ended tells that the rates ended before Requests lines were there, which is a mistake
// of the description.
func (g *Generator) Ended() bool {
	return g.spec.Requests > 0 && g.spec.DurationNS == 0 && g.started < g.spec.Requests
}

// Made is how many requests came out.
func (g *Generator) Made() int64 { return g.nextID }

// session is one that waits for its first turn or is open.
type session struct {
	source *source
	number int64 // within the class
	at     int64 // sort key of the next turn, ns
	turns  []turn
	done   int   // turns written
	last   int64 // id of the latest
	lead   []schedule.Run
	place  int // in the heap
}

// turn is what is drawn for one request.
type turn struct {
	input, output int64   // tokens
	thinkNS       int64   // before it
	lead          int64   // blocks of its front that are there already
	prefix        int64   // number of the shared prefix, -1: none
	kept          float64 // share of the blocks of the turn before
}

// sessions is a heap by the time of the next turn; ties go by class and number, so that
// the order does not depend on the heap.
type sessions []*session

func (h sessions) Len() int { return len(h) }
func (h sessions) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.source != b.source:
		return a.source.order < b.source.order
	}
	return a.number < b.number
}
func (h sessions) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
func (h *sessions) Push(x any) {
	s := x.(*session)
	s.place = len(*h)
	*h = append(*h, s)
}
func (h *sessions) Pop() any {
	n := len(*h) - 1
	s := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return s
}
