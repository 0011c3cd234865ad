package analyze

import (
	"slices"

	"hydrant/formats/schedule"
	"hydrant/internal/stats"
)

// reuse gathers what prefix caches could do for the requests.
type reuse struct {
	block  schedule.Block
	scopes map[string]*scope
	latest *scope
	name   string // of latest

	lines, blocks  int64 // with ids; their ids
	time, isolated tally
	set            tally
	server, curve  []served
	cache          *lru
	asked          []int64 // sizes of caches as they were asked for, tokens
	grid           []int64 // and those for the chart
}

// served is a server with blocks of a size and an infinite cache.
type served struct{ block, tokens int64 }

// scope holds the ids that mean the same text.
type scope struct {
	all  idSet
	main *idSet                       // without those of the streams below; nil while there are none
	side map[string]map[string]*idSet // by session and stream
}

func newReuse(b schedule.Block, o Options) *reuse {
	u := &reuse{block: b, scopes: map[string]*scope{}, asked: o.CacheTokens}
	for _, n := range o.ServerBlocks {
		u.server = append(u.server, served{block: n})
	}
	if o.Curve {
		for n := int64(1); n <= 1<<13; n *= 2 {
			u.curve = append(u.curve, served{block: n})
		}
		for n := int64(1000); n < 1e13; n *= 10 {
			u.grid = append(u.grid, n, 2*n, 5*n)
		}
	}
	var sizes []int64
	for _, n := range append(slices.Clone(u.asked), u.grid...) {
		sizes = append(sizes, n/b.Tokens)
	}
	if slices.Sort(sizes); len(sizes) > 0 {
		u.cache = newLRU(slices.Compact(sizes))
	}
	return u
}

func (u *reuse) add(r *schedule.Request) {
	if r.Blocks == nil {
		return
	}
	runs, input := r.Blocks.Add, r.InputTokens.V
	if u.latest == nil || u.name != r.Blocks.Scope {
		u.name = r.Blocks.Scope
		if u.latest = u.scopes[u.name]; u.latest == nil {
			u.latest = &scope{}
			u.scopes[u.name] = u.latest
		}
	}
	s := u.latest
	h := s.all.look(runs)
	s.all.chain(runs)
	u.isolated.add(u.apart(s, r, h), h.ids, input, u.block.Tokens)
	s.all.note()

	u.lines++
	u.blocks += h.ids
	tokens := u.time.add(h.prefix, h.ids, input, u.block.Tokens)
	u.set.blocks += h.any
	u.set.tokens += u.anywhere(h, input)
	for i := range u.server {
		u.server[i].tokens += tokens / u.server[i].block * u.server[i].block
	}
	for i := range u.curve {
		u.curve[i].tokens += tokens / u.curve[i].block * u.curve[i].block
	}
	if u.cache != nil {
		u.cache.add(u.name, runs, h.ids, input, u.block.Tokens)
	}
}

// add counts a line of which n leading ids were found, and returns their tokens.
func (t *tally) add(n, ids, input, block int64) int64 {
	tokens := tokensOf(n, input, block)
	t.blocks += n
	t.tokens += tokens
	if n == ids && n > 0 {
		t.wholly++
	}
	return tokens
}

// anywhere is how many tokens the seen ids of a line stand for. The last one may stand
// for less than a block.
func (u *reuse) anywhere(h hit, input int64) int64 {
	if h.last && h.ids > input/u.block.Tokens {
		return (h.any-1)*u.block.Tokens + input - (h.ids-1)*u.block.Tokens
	}
	return h.any * u.block.Tokens
}

// apart returns how many leading ids are found when each stream but the main one has a
// cache of its own, and the main one sees nothing of theirs. While no other stream has
// appeared that is what all streams see together, h.
func (u *reuse) apart(s *scope, r *schedule.Request, h hit) int64 {
	set := s.main
	switch {
	case r.Stream != mainStream:
		if s.main == nil {
			s.main = s.all.clone()
			s.side = map[string]map[string]*idSet{}
		}
		if s.side[r.Session] == nil {
			s.side[r.Session] = map[string]*idSet{}
		}
		if set = s.side[r.Session][r.Stream]; set == nil {
			set = &idSet{}
			s.side[r.Session][r.Stream] = set
		}
	case set == nil:
		return h.prefix
	}
	own := set.look(r.Blocks.Add)
	set.note()
	if r.Last {
		delete(s.side, r.Session)
	}
	return own.prefix
}

// fill puts the figures into a report. input is the sum of all input tokens.
func (u *reuse) fill(report *Report, input stats.Sum) {
	f := &Reuse{BlockTokens: u.block.Tokens, BlockLast: u.block.Last, WithIDs: u.lines, Blocks: u.blocks, Scopes: int64(len(u.scopes)), WhollyCached: u.time.wholly}
	for _, s := range u.scopes {
		f.Distinct += s.all.distinct
		f.Reused += s.all.reused
		f.ChainBreaks += s.all.breaks
	}
	f.ReusedUses = f.Blocks - (f.Distinct - f.Reused) // every other id is used once
	share := func(tokens int64) *float64 {
		if u.blocks == 0 {
			return nil
		}
		return ratio(tokens, input.Float())
	}
	found := func(t tally) Hit {
		return Hit{Blocks: t.blocks, Tokens: t.tokens, BlockRatio: ratio(t.blocks, float64(u.blocks)), TokenRatio: share(t.tokens)}
	}
	f.Time, f.Isolated, f.Set = found(u.time), found(u.isolated), found(u.set)
	if f.ChainBreaks == 0 {
		// The ids are the nodes of a tree: each use but the first is a hit, in any order.
		listed := f.Time
		f.Listed = &listed
	} else {
		f.ListedReason = "the schedule has the order of time alone, and ids follow different ids, so that another order has other hits"
	}
	rows := func(all []served) (out []BlockHit) {
		for _, s := range all {
			out = append(out, BlockHit{BlockTokens: s.block, Tokens: s.tokens, TokenRatio: share(s.tokens)})
		}
		return out
	}
	f.ServerBlocks, report.blockCurve = rows(u.server), rows(u.curve)
	caches := func(tokens []int64) (out []CacheHit) {
		for _, n := range tokens {
			size := n / u.block.Tokens
			i, _ := slices.BinarySearch(u.cache.sizes, size)
			h := found(u.cache.hits[i])
			out = append(out, CacheHit{CacheTokens: n, CacheBlocks: size, WhollyCached: u.cache.hits[i].wholly, Blocks: h.Blocks, Tokens: h.Tokens, BlockRatio: h.BlockRatio, TokenRatio: h.TokenRatio})
		}
		return out
	}
	f.Caches, report.cacheCurve = caches(u.asked), caches(u.grid)
	report.Reuse = f
}

// ratio returns a / b, nil where there is nothing to have a share of.
func ratio(a int64, b float64) *float64 {
	if b == 0 {
		return nil
	}
	r := float64(a) / b
	return &r
}
