package sim

// cache is a prefix cache of fixed-size blocks. A block is known by a hash of all
// tokens from the start of the prompt to its end, so a block can only be found
// after the blocks before it.
//
// A request touches its blocks from the last to the first: the front of a prompt
// is always at least as recent as what follows, so the least recently used block
// never has a successor in the cache.
type cache struct {
	limit int64            // in blocks; Unbounded: no limit
	at    map[uint64]int32 // block to its node; no nodes are kept when unbounded
	node  []lru            // node 0 is the ring's head: next is the newest, prev the oldest
	free  []int32
}

type lru struct {
	block      uint64
	prev, next int32
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, at: map[uint64]int32{}, node: make([]lru, 1)}
}

// admit looks the blocks up and inserts those that are missing, in one go. It
// returns how many leading blocks were there before.
func (c *cache) admit(blocks []uint64) (hits int) {
	if c.limit == 0 {
		return 0
	}
	for hits < len(blocks) {
		if _, ok := c.at[blocks[hits]]; !ok {
			break
		}
		hits++
	}
	if c.limit == Unbounded {
		for _, b := range blocks[hits:] {
			c.at[b] = 0
		}
		return hits
	}
	if int64(len(blocks)) > c.limit { // its tail would be the first to go
		blocks = blocks[:c.limit]
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		if n, ok := c.at[blocks[i]]; ok {
			c.unlink(n)
			c.link(n)
			continue
		}
		if int64(len(c.at)) >= c.limit {
			c.evict()
		}
		n := c.take()
		c.node[n].block = blocks[i]
		c.at[blocks[i]] = n
		c.link(n)
	}
	return hits
}

// size returns the blocks held.
func (c *cache) size() int { return len(c.at) }

func (c *cache) take() int32 {
	if n := len(c.free); n > 0 {
		v := c.free[n-1]
		c.free = c.free[:n-1]
		return v
	}
	c.node = append(c.node, lru{})
	return int32(len(c.node) - 1)
}

func (c *cache) link(n int32) {
	first := c.node[0].next
	c.node[n].prev, c.node[n].next = 0, first
	c.node[first].prev = n
	c.node[0].next = n
}

func (c *cache) unlink(n int32) {
	p, q := c.node[n].prev, c.node[n].next
	c.node[p].next, c.node[q].prev = q, p
}

func (c *cache) evict() {
	n := c.node[0].prev
	c.unlink(n)
	delete(c.at, c.node[n].block)
	c.free = append(c.free, n)
}
