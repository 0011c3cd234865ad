package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

func of(h Hit) tally { return tally{blocks: h.Blocks, tokens: h.Tokens} }

// Every figure of reuse is that of the slow, obvious way.
func TestReuseAgainstNaive(t *testing.T) {
	sizes := []int64{1, 3, 40, 200, 1000, 1 << 40}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := schedule.Block{Tokens: []int64{1, 16, 512}[rng.IntN(3)], Last: []string{schedule.Partial, schedule.Absent}[rng.IntN(2)]}
		tree := seed%2 == 0
		reqs := drawn(rng, b, 40, tree)
		o := Options{ServerBlocks: []int64{1, 16, 100, 512}}
		for _, n := range sizes {
			o.CacheTokens = append(o.CacheTokens, n*b.Tokens)
		}
		report, err := Analyze(stream(reqs), &b, o)
		if err != nil {
			t.Fatal(err)
		}
		r := report.Reuse
		name := fmt.Sprintf("seed %d, %+v", seed, b)
		inf := naiveInfinite(reqs, b, together)
		if got := of(r.Time); got.blocks != inf.blocks || got.tokens != inf.tokens || r.WhollyCached != inf.wholly {
			t.Errorf("%s: time = %+v, %d wholly; want %+v", name, got, r.WhollyCached, inf)
		}
		if got, want := of(r.Isolated), naiveInfinite(reqs, b, apart); got.blocks != want.blocks || got.tokens != want.tokens {
			t.Errorf("%s: isolated = %+v; want %+v", name, got, want)
		}
		distinct, reused, uses := naiveUses(reqs)
		if r.Distinct != distinct || r.Reused != reused || r.ReusedUses != uses {
			t.Errorf("%s: %d distinct, %d used twice, %d uses; want %d, %d, %d", name, r.Distinct, r.Reused, r.ReusedUses, distinct, reused, uses)
		}
		breaks := naiveChain(reqs)
		if r.ChainBreaks != breaks || (r.Listed == nil) != (breaks > 0) || (r.ListedReason == "") != (breaks == 0) || tree && breaks > 0 {
			t.Errorf("%s: %d chain breaks, listed %+v, %q; want %d", name, r.ChainBreaks, r.Listed, r.ListedReason, breaks)
		}
		seen := map[id]bool{}
		anywhere := int64(0)
		whole := make([]int64, len(o.ServerBlocks))
		for _, q := range reqs {
			all := flat(q)
			hit := min(prefix(all, func(x id) bool { return seen[x] })*b.Tokens, q.InputTokens.V)
			for i, s := range o.ServerBlocks {
				whole[i] += hit / s * s
			}
			for i, x := range all {
				if seen[x] {
					anywhere += min(b.Tokens, q.InputTokens.V-int64(i)*b.Tokens)
				}
			}
			for _, x := range all {
				seen[x] = true
			}
		}
		if r.Set.Tokens != anywhere {
			t.Errorf("%s: tokens at any position = %d; want %d", name, r.Set.Tokens, anywhere)
		}
		for i, s := range r.ServerBlocks {
			if s.Tokens != whole[i] {
				t.Errorf("%s: server blocks of %d: %d tokens; want %d", name, s.BlockTokens, s.Tokens, whole[i])
			}
		}
		for i, c := range r.Caches {
			want := naiveLRU(reqs, b, int(min(sizes[i], 1<<20)))
			if c.CacheBlocks != sizes[i] || c.Blocks != want.blocks || c.Tokens != want.tokens || c.WhollyCached != want.wholly {
				t.Errorf("%s: LRU of %d blocks = %+v; want %+v", name, sizes[i], c, want)
			}
		}
		if c := r.Caches[len(sizes)-1]; c.Blocks != inf.blocks || c.Tokens != inf.tokens || c.WhollyCached != inf.wholly {
			t.Errorf("%s: a huge LRU cache = %+v; the infinite one finds %+v", name, c, inf)
		}
	}
}

// In a tree of ids, hits do not depend on the order: what Listed says.
func TestTreeOrderDoesNotMatter(t *testing.T) {
	b := schedule.Block{Tokens: 16, Last: schedule.Absent}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		reqs := drawn(rng, b, 40, true)
		want := naiveInfinite(reqs, b, together)
		rng.Shuffle(len(reqs), func(i, j int) { reqs[i], reqs[j] = reqs[j], reqs[i] })
		if got := naiveInfinite(reqs, b, together); got.blocks != want.blocks || got.tokens != want.tokens {
			t.Errorf("seed %d: another order finds %+v; want %+v", seed, got, want)
		}
	}
}

// Ticks run out and are numbered again many times, and ids beyond the largest cache are
// forgotten, without a change to any figure.
func TestLRUCompacts(t *testing.T) {
	const block, largest = 16, 5000
	rng := rand.New(rand.NewPCG(3, 3))
	c := newLRU([]int64{100, 1000, largest})
	exact := newLRU([]int64{100, 1000, largest})
	exact.room(1 << 24)
	next := int64(0)
	for range 20_000 {
		from := max(0, next-rng.Int64N(12_000))
		n := 1 + rng.Int64N(200)
		runs := []schedule.Run{{from, n}}
		next = max(next, from+n)
		for _, l := range []*lru{c, exact} {
			l.add("s", runs, n, n*block, block)
		}
	}
	if !slices.Equal(c.hits, exact.hits) {
		t.Errorf("with few ticks %+v; want %+v", c.hits, exact.hits)
	}
	if held := len(c.scopes["s"]) * tickIDs; held > 4*(largest+minTicks) || int64(held) >= next {
		t.Errorf("%d ids are held of %d; the largest cache has %d", held, next, largest)
	}
}

// A request that lists an id twice hits neither on its first sight.
func TestRepeatInOneRequest(t *testing.T) {
	b := &schedule.Block{Tokens: 1, Last: schedule.Absent}
	reqs := []*schedule.Request{
		{AtNS: formats.Some(0), Session: "s", Stream: "0", Context: schedule.Whole, InputTokens: formats.Some(4), Blocks: &schedule.Blocks{Scope: "x", Add: []schedule.Run{{5, 3}, {6, 1}}}},
		{AtNS: formats.Some(1), Session: "s", Stream: "0", Context: schedule.Whole, InputTokens: formats.Some(4), Blocks: &schedule.Blocks{Scope: "x", Add: []schedule.Run{{5, 3}, {6, 1}}}},
	}
	report, err := Analyze(stream(reqs), b, Options{CacheTokens: []int64{2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Reuse
	if r.Time.Blocks != 4 || r.Distinct != 3 || r.Reused != 3 || r.ReusedUses != 8 || r.ChainBreaks != naiveChain(reqs) || r.ChainBreaks != 2 {
		t.Errorf("reuse = %+v; want 4 hits, 3 ids, 8 uses, 2 breaks", r)
	}
	for i, want := range []tally{naiveLRU(reqs, *b, 2), naiveLRU(reqs, *b, 3)} {
		if c := r.Caches[i]; c.Blocks != want.blocks {
			t.Errorf("cache of %d: %d blocks; want %d", c.CacheBlocks, c.Blocks, want.blocks)
		}
	}
}

// Without ids there is no share of hits, not one of 0.
func TestNoBlocks(t *testing.T) {
	q := &schedule.Request{AtNS: formats.Some(0), Session: "s", Stream: "0", Context: schedule.Whole, InputTokens: formats.Some(4)}
	none, err := Analyze(stream([]*schedule.Request{q}), nil, Options{ServerBlocks: []int64{1}})
	if err != nil || none.Reuse != nil {
		t.Errorf("without a block size: reuse = %+v, %v; want null", none.Reuse, err)
	}
	some, err := Analyze(stream([]*schedule.Request{q}), &schedule.Block{Tokens: 16, Last: schedule.Absent}, Options{ServerBlocks: []int64{1}, CacheTokens: []int64{100}})
	if err != nil {
		t.Fatal(err)
	}
	if r := some.Reuse; r.Time.BlockRatio != nil || r.Time.TokenRatio != nil || r.ServerBlocks[0].TokenRatio != nil || r.Caches[0].BlockRatio != nil {
		t.Errorf("without ids: %+v; want null ratios", r)
	}
}

// The greatest id of 63 bits has no id behind it, and is an id like others.
func TestGreatestID(t *testing.T) {
	b := &schedule.Block{Tokens: 1, Last: schedule.Absent}
	var reqs []*schedule.Request
	for i := range 2 {
		reqs = append(reqs, &schedule.Request{AtNS: formats.Some(int64(i)), Session: "s", Stream: "0", Context: schedule.Whole, InputTokens: formats.Some(5),
			Blocks: &schedule.Blocks{Scope: "x", Add: []schedule.Run{{5, 2}, {math.MaxInt64 - 2, 3}}}})
	}
	report, err := Analyze(stream(reqs), b, Options{CacheTokens: []int64{4, 5}})
	if err != nil {
		t.Fatal(err)
	}
	r := report.Reuse
	if r.Time.Blocks != 5 || r.Distinct != 5 || r.Set.Blocks != 5 || r.Caches[0].Blocks != 4 || r.Caches[1].Blocks != 5 {
		t.Errorf("reuse = %+v; want 5 ids, all found again, and 4 of them in a cache of 4", r)
	}
}
