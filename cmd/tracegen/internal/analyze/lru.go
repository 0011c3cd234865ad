package analyze

import (
	"math/bits"

	"hydrant/formats/schedule"
)

// lru is one prefix cache over the ids of all scopes, of several sizes at once. Each
// request touches all its ids, the last one first, so that of two ids of one prompt the
// one further back goes first: without what stands before it, it could not be used.
// What a cache of n blocks holds are then the n ids touched last, whatever the size, and
// an id is found by each cache that is larger than the number of ids touched since
// (Mattson's stack distance). Before its own touches a request hits its leading ids that
// are all found.
//
// Every touch has a tick. A bit tells which ticks are the latest of their id, and a tree
// counts these bits, so that the distance of an id is the number of bits behind its tick.
// Ids beyond the largest cache are forgotten.
type lru struct {
	sizes  []int64 // blocks, ascending
	hits   []tally // for each
	scopes map[string]ticks
	bits   []uint64 // by tick; tick 0 is none
	tree   []int64  // Fenwick over the words of bits, from 1
	next   int64    // tick
	live   int64    // bits that are set

	groups []group     // ids of the line in hand that were touched one after the other
	line   []*tickPage // their pages, one for each part of a run
}

// tally adds up what was found.
type tally struct{ blocks, tokens, wholly int64 }

// ticks are the latest ticks of the ids of one scope, in pages of tickIDs.
type ticks map[int64]*tickPage

type tickPage [tickIDs]int64

const tickIDs = 8

// group is n neighbouring ids of a line whose ticks descend one by one from tick.
type group struct{ tick, n int64 }

// minTicks is how many ticks there is room for at first.
const minTicks = 1 << 16

func newLRU(sizes []int64) *lru {
	c := &lru{sizes: sizes, hits: make([]tally, len(sizes)), scopes: map[string]ticks{}}
	c.room(minTicks)
	return c
}

// room makes a timeline of n ticks, all bits clear.
func (c *lru) room(n int64) {
	words := n/64 + 1
	c.bits, c.tree, c.next = make([]uint64, words), make([]int64, words+1), 1
}

// add counts a request: its ids, how many these are, its tokens, and those of a block.
func (c *lru) add(scope string, runs []schedule.Run, ids, input, block int64) {
	if c.next+ids > int64(len(c.bits))*64 {
		c.compact(ids)
	}
	s := c.scopes[scope]
	if s == nil {
		s = ticks{}
		c.scopes[scope] = s
	}
	c.find(s, runs)
	c.count(ids, input, block)
	c.touch(runs, ids)
}

// find gathers the groups of the line. Neighbours that are not held are a group of tick 0.
func (c *lru) find(s ticks, runs []schedule.Run) {
	c.groups, c.line = c.groups[:0], c.line[:0]
	for _, run := range runs {
		for id, left := run[0], run[1]; left > 0; {
			p := s[id/tickIDs]
			if p == nil {
				p = &tickPage{}
				s[id/tickIDs] = p
			}
			c.line = append(c.line, p)
			n := min(left, tickIDs-id%tickIDs)
			for _, tick := range p[id%tickIDs:][:n] {
				if n := len(c.groups); n > 0 {
					if g := &c.groups[n-1]; tick == 0 && g.tick == 0 || tick != 0 && tick == g.tick-g.n {
						g.n++
						continue
					}
				}
				c.groups = append(c.groups, group{tick, 1})
			}
			id, left = id+n, left-n
		}
	}
}

// count finds how many leading ids each size has. A larger cache has all that a smaller
// one has, so the sizes drop out in ascending order.
func (c *lru) count(ids, input, block int64) {
	from, found := 0, int64(0) // sizes that still have everything; how much that is
	end := func(n int64) {
		t := &c.hits[from]
		t.blocks += n
		t.tokens += tokensOf(n, input, block)
		if n == ids && n > 0 {
			t.wholly++
		}
		from++
	}
	for _, g := range c.groups {
		if g.tick == 0 || from == len(c.sizes) {
			break
		}
		newer := c.newer(g.tick)
		for from < len(c.sizes) && c.sizes[from] < newer+g.n {
			end(found + max(0, c.sizes[from]-newer))
		}
		found += g.n
	}
	for from < len(c.sizes) {
		end(found)
	}
}

// tokensOf is how many tokens of a prompt n leading blocks of it hold.
func tokensOf(n, input, block int64) int64 {
	if n > input/block { // n × block may be beyond 63 bits
		return input
	}
	return n * block
}

// touch gives every id of the line a new tick, the last one the oldest.
func (c *lru) touch(runs []schedule.Run, ids int64) {
	for _, g := range c.groups {
		if g.tick != 0 {
			c.set(g.tick-g.n+1, g.n, false)
		}
	}
	base := c.next
	c.next += ids
	c.set(base, ids, true)
	tick, at := base, len(c.line)
	for i := len(runs) - 1; i >= 0; i-- {
		first := runs[i][0]
		for id := first + runs[i][1] - 1; id >= first; {
			at--
			p := c.line[at]
			for stop := max(first, id&^(tickIDs-1)); id >= stop; id-- {
				if old := p[id%tickIDs]; old >= base { // the id stands twice in the line
					c.set(old, 1, false)
				}
				p[id%tickIDs] = tick
				tick++
			}
		}
	}
}

// set sets or clears n bits.
func (c *lru) set(from, n int64, on bool) {
	for n > 0 {
		at, w := uint(from&63), from>>6
		k := min(n, int64(64-at))
		mask := (^uint64(0) >> (64 - uint(k))) << at
		was := bits.OnesCount64(c.bits[w])
		if on {
			c.bits[w] |= mask
		} else {
			c.bits[w] &^= mask
		}
		if d := int64(bits.OnesCount64(c.bits[w]) - was); d != 0 {
			c.live += d
			for i := w + 1; i < int64(len(c.tree)); i += i & -i {
				c.tree[i] += d
			}
		}
		from, n = from+k, n-k
	}
}

// newer is the number of ids that were touched after a tick.
func (c *lru) newer(tick int64) int64 {
	w := tick >> 6
	upTo := int64(bits.OnesCount64(c.bits[w] << (63 - uint(tick&63))))
	for i := w; i > 0; i -= i & -i {
		upTo += c.tree[i]
	}
	return c.live - upTo
}

// compact numbers the ticks again from 1, without those that are nobody's latest, forgets
// ids beyond the largest cache, and leaves room for more ticks, ids at least.
func (c *lru) compact(ids int64) {
	held := min(c.live, c.sizes[len(c.sizes)-1])
	gone := c.live - held
	before := make([]int64, len(c.bits)) // bits in the words before
	sum := int64(0)
	for w, b := range c.bits {
		before[w] = sum
		sum += int64(bits.OnesCount64(b))
	}
	for _, s := range c.scopes {
		for at, p := range s {
			any := false
			for i, tick := range p {
				if tick == 0 {
					continue
				}
				rank := before[tick>>6] + int64(bits.OnesCount64(c.bits[tick>>6]<<(63-uint(tick&63))))
				p[i] = max(0, rank-gone)
				any = any || rank > gone
			}
			if !any {
				delete(s, at)
			}
		}
	}
	c.room(max(minTicks, 2*held+ids))
	c.live = 0
	c.next = held + 1
	c.set(1, held, true)
}
