// Package fit makes the description of a synthetic workload from a trace, and says how
// alike the two are.
//
// A Profile takes the requests of either; Describe turns that of a trace into a
// description for package synth, Compare sets two side by side. A profile keeps some 40
// bytes for each request, what is needed for exact distances, and 4 for each block id.
package fit

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"hydrant/cmd/tracegen/internal/synth"
	"hydrant/formats/schedule"
)

// Profile is what a workload was like. The zero value takes requests.
type Profile struct {
	Block *schedule.Block // nil without block ids

	requests      int64
	sessions      int64   // each stream of a session counts as one
	starts        []int64 // of sessions, ns, in order
	input, output []int64 // of all requests, tokens
	firsts        []first
	ages          [octaves][]int32 // of shared fronts, requests, by the octave of their blocks

	think                    []float64
	added                    [][]int64 // tokens beyond the prompt and the reply before, by the size of these
	kept                     []float64 // share of the blocks before
	guessed                  int64     // think times that hold the time of an answer
	model                    string
	models                   bool // more than one
	blocks                   int64
	hitBlocks                int64
	hitTokens                int64
	tokens                   int64
	firstBlocks, firstShared int64 // of first requests
	longest                  int64 // input and output

	seen   seen
	chains map[string]*chain
}

// octaves of a number of blocks.
const octaves = 24

// first is the first request of a session.
type first struct {
	input, output int64
	shared        int64 // leading whole blocks seen before
	turns         int64 // of the session
}

// chain is a stream of a session that is open.
type chain struct {
	first         int // number of its first request
	at            int64
	timed         bool
	input, output int64
	runs          []schedule.Run
}

// Add takes the next request, with its block ids in full.
func (p *Profile) Add(r *schedule.Request) error {
	switch {
	case r.Context == schedule.Delta:
		return fmt.Errorf("request %d: context: got delta, want whole prompts: what a prompt holds is only known when it is sent", r.ID)
	case !r.InputTokens.Valid || !r.OutputTokens.Valid:
		return fmt.Errorf("request %d: input_tokens, output_tokens: got null, want lengths to fit", r.ID)
	}
	in, out := r.InputTokens.V, r.OutputTokens.V
	p.input, p.output = append(p.input, in), append(p.output, out)
	p.tokens += in
	p.longest = max(p.longest, in+out)
	if p.requests > 0 && r.Model != p.model {
		p.models = true
	}
	p.model = r.Model
	hit, age := p.reuse(r)
	p.requests++

	key := r.Session + "\x00" + r.Stream
	c := p.chains[key]
	if c == nil {
		c = &chain{first: len(p.firsts)}
		p.sessions++
		if r.AtNS.Valid {
			p.starts = append(p.starts, r.AtNS.V)
		}
		f := first{input: in, output: out}
		if p.Block != nil && r.Blocks != nil {
			f.shared = min(hit, in/p.Block.Tokens)
			p.firstBlocks += total(r.Blocks.Add)
			p.firstShared += hit
		}
		if f.shared > 0 {
			o := bits.Len64(uint64(f.shared)) - 1
			p.ages[o] = append(p.ages[o], int32(age))
		}
		p.firsts = append(p.firsts, f)
	} else {
		p.turn(c, r)
	}
	p.firsts[c.first].turns++
	c.at, c.timed, c.input, c.output = r.AtNS.V, r.AtNS.Valid, in, out
	if r.Blocks != nil && !r.Last {
		c.runs = append(c.runs[:0], r.Blocks.Add...)
	}
	if r.Last {
		delete(p.chains, key)
		p.forget(r)
		return nil
	}
	if p.chains == nil {
		p.chains = map[string]*chain{}
	}
	p.chains[key] = c
	return nil
}

// turn notes how a later turn follows the one before.
func (p *Profile) turn(c *chain, r *schedule.Request) {
	size := synth.Size(c.input + c.output)
	for len(p.added) <= size {
		p.added = append(p.added, nil)
	}
	p.added[size] = append(p.added[size], r.InputTokens.V-c.input-c.output)
	switch {
	case r.DelayNS.Valid:
		p.think = append(p.think, float64(r.DelayNS.V)/1e9)
	case c.timed && r.AtNS.Valid:
		p.think = append(p.think, math.Max(0, float64(r.AtNS.V-c.at)/1e9))
		p.guessed++
	}
	if p.Block == nil || r.Blocks == nil {
		return
	}
	if whole := min(total(c.runs), c.input/p.Block.Tokens); whole > 0 {
		p.kept = append(p.kept, float64(min(common(c.runs, r.Blocks.Add), whole))/float64(whole))
	}
}

// Done ends the profile.
func (p *Profile) Done() {
	p.chains = nil
	slices.Sort(p.starts)
}

// forget drops the ids of a scope that belongs to one session.
func (p *Profile) forget(r *schedule.Request) {
	if r.Blocks != nil && r.Blocks.Scope == r.Session {
		delete(p.seen, r.Blocks.Scope)
	}
}

// reuse returns how many leading blocks of r were seen before, and how many requests
// ago the last of them was.
func (p *Profile) reuse(r *schedule.Request) (hit, age int64) {
	if r.Blocks == nil || p.Block == nil {
		return 0, 0
	}
	if p.seen == nil {
		p.seen = seen{}
	}
	pages := p.seen[r.Blocks.Scope]
	if pages == nil {
		pages = map[int64]*[64]int32{}
		p.seen[r.Blocks.Scope] = pages
	}
	now := int32(p.requests + 1)
	open := true
	for _, run := range r.Blocks.Add {
		for i := range run[1] {
			id := run[0] + i
			page := pages[id>>6]
			if page == nil {
				page = new([64]int32)
				pages[id>>6] = page
			}
			last := &page[id&63]
			if open = open && *last > 0 && *last < now; open {
				hit, age = hit+1, int64(now-*last)
			}
			*last = now
		}
		p.blocks += run[1]
	}
	p.hitBlocks += hit
	tokens := r.InputTokens.V
	if hit < tokens/p.Block.Tokens+1 { // else hit × tokens may be beyond 63 bits
		tokens = min(tokens, hit*p.Block.Tokens)
	}
	p.hitTokens += tokens
	return hit, age
}

// seen is the latest request that had an id, from 1, by scope and pages of 64 ids.
type seen map[string]map[int64]*[64]int32

func total(runs []schedule.Run) (n int64) {
	for _, r := range runs {
		n += r[1]
	}
	return n
}

// common is how many leading ids two lists share. Neighbouring runs are joined.
func common(a, b []schedule.Run) (n int64) {
	for i := range min(len(a), len(b)) {
		if a[i][0] != b[i][0] {
			break
		}
		n += min(a[i][1], b[i][1])
		if a[i][1] != b[i][1] {
			break
		}
	}
	return n
}
