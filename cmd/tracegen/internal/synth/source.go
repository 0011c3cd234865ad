package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
)

// source draws the sessions of one class. What it draws for a session it draws when the
// session begins, so that the times of turns move no other draw.
type source struct {
	*Class
	order  int // in the description
	scope  string
	block  *schedule.Block // nil: no ids
	times  *arrivals.Times
	count  int64 // sessions begun
	fresh  int64 // the next block id
	prefix prefixes
	recent recent
	cells  []float64 // running sums of Ranks
	draws  struct{ ranks, input, output, turns, think, new, kept, prefix, reuse *rand.Rand }
	turns  []turn
}

func newSource(c *Class, order int, block *schedule.Block, scope string, seed int64) (*source, error) {
	s := &source{Class: c, order: order, block: block, scope: scope + "/" + c.Name}
	stream := func(purpose string) *rand.Rand { return arrivals.Stream(seed, "synth/"+purpose, c.Name) }
	var err error
	if s.times, err = arrivals.NewTimes(stream("gaps"), c.Arrivals, c.Rate); err != nil {
		return nil, err
	}
	d := &s.draws
	d.ranks, d.input, d.output, d.turns, d.think = stream("ranks"), stream("input"), stream("output"), stream("turns"), stream("think")
	d.new, d.kept, d.prefix, d.reuse = stream("new"), stream("kept"), stream("prefix"), stream("reuse")
	if c.Prefix != nil {
		if s.prefix, err = newPrefixes(c.Prefix, block.Tokens, stream("pool")); err != nil {
			return nil, err
		}
		s.fresh = s.prefix.ids()
	}
	total := 0.0
	for _, row := range c.Ranks {
		for _, w := range row {
			total += w
			s.cells = append(s.cells, total)
		}
	}
	return s, nil
}

// arrive returns when the next session begins, in ns.
func (s *source) arrive() (int64, bool) {
	at, ok := s.times.Next()
	if s.GridNS > 0 {
		at -= at % s.GridNS
	}
	return at, ok
}

// draw draws the turns of the next session, valid until the next call.
func (s *source) draw() ([]turn, error) {
	u, v := s.ranks()
	n := int64(1)
	if s.Session != nil {
		n = share(s.Session.Turns, u).Whole(s.draws.turns.Float64())
	}
	if n > maxTurns {
		return nil, fmt.Errorf("turns: drew %d, want at most %d", n, int64(maxTurns))
	}
	first := turn{input: s.Input.Whole(u), output: s.Output.Whole(v), prefix: -1}
	if s.Prefix != nil {
		first.prefix = s.prefix.draw(s.draws.prefix)
		if first.prefix >= 0 {
			first.input += s.prefix.tokens[first.prefix]
		}
	}
	first.input = max(first.input, 1)
	if s.Reuse != nil {
		first.lead = s.Reuse.draw(s.draws.reuse, u)
	}
	s.turns = append(s.turns[:0], first)
	for last := first; int64(len(s.turns)) < n; {
		t := turn{
			input:  max(1, last.input+last.output+s.Session.added(last.input+last.output).Whole(s.draws.new.Float64())),
			output: s.Output.Whole(s.draws.output.Float64()),
			kept:   1,
		}
		if s.Session.Kept.Set() {
			t.kept = min(1, s.Session.Kept.At(s.draws.kept.Float64()))
		}
		think := math.Round(s.Session.Think.At(s.draws.think.Float64()) * 1e9)
		if !(think < math.MaxInt64) {
			return nil, fmt.Errorf("think: drew %g s, want less than 292 years", think/1e9)
		}
		t.thinkNS = int64(think)
		if limit := s.Session.MaxContext; limit > 0 && t.input+t.output > limit {
			break
		}
		s.turns = append(s.turns, t)
		last = t
	}
	for _, t := range s.turns {
		if t.input > MaxTokens || t.output > MaxTokens {
			return nil, fmt.Errorf("drew a prompt of %d and a reply of %d tokens, want at most %d of each", t.input, t.output, MaxTokens)
		}
	}
	return append([]turn(nil), s.turns...), nil
}

// share returns the distribution of a rank u, of those for equal shares of ranks.
func share(ds []Dist, u float64) Dist { return ds[min(int(u*float64(len(ds))), len(ds)-1)] }

// maxTurns bounds what one session holds in memory.
const maxTurns = 1 << 20

// ranks draws where the two lengths of a first turn lie in their distributions.
func (s *source) ranks() (u, v float64) {
	u, v = s.draws.input.Float64(), s.draws.output.Float64()
	if len(s.cells) == 0 {
		return u, v
	}
	x := s.draws.ranks.Float64() * s.cells[len(s.cells)-1]
	cell := min(sort.Search(len(s.cells), func(i int) bool { return s.cells[i] > x }), len(s.cells)-1)
	rows, columns := len(s.Ranks), len(s.Ranks[0])
	return (float64(cell/columns) + u) / float64(rows), (float64(cell%columns) + v) / float64(columns)
}

// compose returns the block ids of a turn: the front that is there already, then new
// ids. They are valid until the next turn of the session.
func (s *source) compose(o *session, t turn) []schedule.Run {
	whole := t.input / s.block.Tokens
	all := whole
	if s.block.Last == schedule.Partial && t.input%s.block.Tokens > 0 {
		all++
	}
	var lead []schedule.Run
	var n int64
	switch {
	case o.done > 0:
		have := count(o.lead)
		n = min(whole, int64(math.Round(t.kept*float64(have))))
		lead = leading(o.lead, n)
	case t.prefix >= 0:
		n = min(whole, s.prefix.blocks(t.prefix))
		lead = leading([]schedule.Run{s.prefix.run(t.prefix)}, n)
	case s.Reuse != nil:
		lead = s.recent.lead(s.Reuse, s.draws.reuse, t.lead, whole, all)
		n = count(lead)
	}
	ids := lead
	if n < all {
		ids = join(ids, schedule.Run{s.fresh, all - n})
		s.fresh += all - n
	}
	// Only whole blocks can be the front of a longer prompt.
	o.lead = leading(ids, whole)
	if s.Reuse != nil {
		s.recent.add(o.lead, whole)
	}
	return ids
}

// leading copies the runs of the first n ids.
func leading(runs []schedule.Run, n int64) []schedule.Run {
	out := make([]schedule.Run, 0, len(runs)+1)
	for _, r := range runs {
		if n <= 0 {
			break
		}
		r[1] = min(r[1], n)
		n -= r[1]
		out = append(out, r)
	}
	return out
}

// join appends a run, to the last one when it continues it.
func join(runs []schedule.Run, r schedule.Run) []schedule.Run {
	if n := len(runs); n > 0 && runs[n-1][0]+runs[n-1][1] == r[0] {
		runs[n-1][1] += r[1]
		return runs
	}
	return append(runs, r)
}

func count(runs []schedule.Run) (n int64) {
	for _, r := range runs {
		n += r[1]
	}
	return n
}
