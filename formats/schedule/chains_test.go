package schedule

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// expand lists the ids of runs.
func expand(runs []Run) (ids []int64) {
	for _, r := range runs {
		for i := range r[1] {
			ids = append(ids, r[0]+i)
		}
	}
	return ids
}

// pack is the other way round.
func pack(ids []int64) (runs []Run) {
	for _, id := range ids {
		runs = appendRun(runs, Run{id, 1})
	}
	return runs
}

// Encoding and decoding give back the ids, keep is the whole common prefix, and the
// infinite cache agrees with one that holds every id by itself.
func TestChains(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	block := &Block{Tokens: 16, Last: Partial}
	var enc, dec Chains
	var cache Cache
	before := map[string][]int64{} // stream and scope → ids
	seen := map[string]bool{}
	hits, hitTokens, distinct := int64(0), int64(0), int64(0)
	for i := range 5000 {
		q := &Request{ID: int64(i), Session: fmt.Sprint("s", r.IntN(20)), Stream: fmt.Sprint(r.IntN(2)), Context: Whole}
		if r.IntN(10) == 0 {
			q.Context = Delta
		}
		scope := fmt.Sprint("scope", r.IntN(10)/9)
		key := q.Session + "/" + q.Stream
		var ids []int64
		if b := before[key]; len(b) > 0 && r.IntN(4) > 0 {
			ids = slices.Clone(b[:r.IntN(len(b)+1)])
		}
		for range r.IntN(5) {
			from := r.Int64N(300)
			for j := range r.Int64N(70) {
				ids = append(ids, from+j)
			}
		}
		q.InputTokens = some(int64(len(ids))*16 - r.Int64N(16)*min(1, int64(len(ids))))
		full := pack(ids)
		q.Last = r.IntN(40) == 0
		q.Blocks = &Blocks{Scope: scope}
		q.Blocks.Keep, q.Blocks.Add = enc.Encode(q, scope, full)

		got, err := dec.IDs(q)
		if err != nil || !slices.Equal(expand(got), ids) || !slices.Equal(got, full) {
			t.Fatalf("request %d: IDs = %v, %v; want %v", i, got, err, full)
		}
		keep := 0
		if q.Context == Whole {
			for b := before[key+scope]; keep < len(b) && keep < len(ids) && b[keep] == ids[keep]; keep++ {
			}
		}
		if q.Blocks.Keep != int64(keep) {
			t.Fatalf("request %d: keep %d; want %d", i, q.Blocks.Keep, keep)
		}
		hit := int64(0)
		for _, id := range ids {
			if !seen[fmt.Sprint(scope, id)] {
				break
			}
			hit++
		}
		for _, id := range ids {
			if k := fmt.Sprint(scope, id); !seen[k] {
				seen[k] = true
				distinct++
			}
		}
		tokens := min(hit*16, q.InputTokens.V)
		if b, n := cache.Add(q, block); b != hit || n != tokens {
			t.Fatalf("request %d: hit %d blocks, %d tokens; want %d and %d", i, b, n, hit, tokens)
		}
		hits, hitTokens = hits+hit, hitTokens+tokens

		for k := range before {
			if k == key+"scope0" || k == key+"scope1" || q.Last && k[:len(q.Session)+1] == q.Session+"/" {
				delete(before, k)
			}
		}
		if !q.Last {
			before[key], before[key+scope] = ids, ids
		} else {
			delete(before, key)
		}
	}
	if cache.HitBlocks != hits || cache.HitTokens != hitTokens || cache.Distinct != distinct {
		t.Errorf("cache = %d, %d, %d; want %d, %d, %d", cache.HitBlocks, cache.HitTokens, cache.Distinct, hits, hitTokens, distinct)
	}
}

func TestChainsForgets(t *testing.T) {
	var c Chains
	for i := range int64(1000) {
		q := &Request{Session: fmt.Sprint("s", i), Stream: "0", Context: Whole, Last: true, Blocks: &Blocks{Scope: "x", Add: []Run{{i, 1}}}}
		if _, err := c.IDs(q); err != nil {
			t.Fatal(err)
		}
		q.Last, q.Session = false, fmt.Sprint("t", i)
		if _, err := c.IDs(q); err != nil {
			t.Fatal(err)
		}
		q.Last = true
		if _, err := c.IDs(q); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.open) != 0 {
		t.Errorf("%d sessions remembered after their last lines; want 0", len(c.open))
	}
	if _, err := c.IDs(&Request{Session: "t1", Stream: "0", Blocks: &Blocks{Scope: "x", Keep: 1}}); err == nil {
		t.Error("keep without a line before: no error")
	}
}

// Ids that are equal modulo 2^32, or beyond the digits of a float64, stay apart.
func TestLargeIDs(t *testing.T) {
	var c Cache
	b := &Block{Tokens: 1, Last: Partial}
	for _, id := range []int64{0, 1 << 32, 1 << 53, 1<<53 + 1, 1<<63 - 1} {
		q := &Request{InputTokens: some(1), Blocks: &Blocks{Scope: "s", Add: []Run{{id, 1}}}}
		if hit, _ := c.Add(q, b); hit != 0 {
			t.Errorf("id %d: hit before it was seen", id)
		}
		if hit, _ := c.Add(q, b); hit != 1 {
			t.Errorf("id %d: no hit after it was seen", id)
		}
	}
	if c.Distinct != 5 {
		t.Errorf("distinct = %d; want 5", c.Distinct)
	}
}

// 33 tokens in blocks of 16 have three ids when the rest has one, else two.
func TestFullIDs(t *testing.T) {
	partial, absent := &Block{Tokens: 16, Last: Partial}, &Block{Tokens: 16, Last: Absent}
	for _, tt := range []struct{ n, partial, absent int64 }{{0, 0, 0}, {-1, 0, 0}, {1, 1, 0}, {15, 1, 0}, {16, 1, 1}, {17, 2, 1}, {32, 2, 2}, {33, 3, 2}, {1<<63 - 1, 1 << 59, 1<<59 - 1}} {
		if p, a := FullIDs(tt.n, partial), FullIDs(tt.n, absent); p != tt.partial || a != tt.absent {
			t.Errorf("FullIDs(%d) = %d and %d; want %d and %d", tt.n, p, a, tt.partial, tt.absent)
		}
	}
}

// Sessions that are never marked last are remembered until the end: cheaply, and not at
// all when they have no ids.
func TestChainsMemory(t *testing.T) {
	const sessions = 50_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, test := range []struct {
		add  []Run
		most int64 // bytes for each session
	}{{nil, 1}, {[]Run{{1, 40}}, 300}} {
		var c Chains
		before := heap()
		for i := range sessions {
			r := &Request{ID: int64(i), Session: "session " + strconv.Itoa(i), Stream: strings.Clone("0"), Context: Whole, InputTokens: some(640)}
			if test.add != nil {
				r.Blocks = &Blocks{Scope: strings.Clone("a scope of some length"), Add: test.add}
			}
			if _, err := c.IDs(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := (heap() - before) / sessions; got > test.most {
			t.Errorf("%d bytes for a session with ids %v; want at most %d", got, test.add, test.most)
		} else {
			t.Logf("%d bytes for a session with ids %v", got, test.add)
		}
		runtime.KeepAlive(&c)
	}
}
