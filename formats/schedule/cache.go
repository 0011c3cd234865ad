package schedule

import "math/bits"

// Cache is an infinite prefix cache: the figure of what a schedule lets a server
// reuse. Lines go in in order; the hit of a line is the longest run of its leading
// ids that were all seen before, and then all its ids count as seen. Ids of
// different scopes never meet. The zero value is empty. Memory is about 20 bytes
// for 64 neighbouring ids.
type Cache struct {
	Distinct  int64 // ids seen
	HitBlocks int64 // sum of hits
	HitTokens int64 // sum of min(hit × block tokens, input_tokens)

	scopes map[string]*seen
	latest *seen
	name   string
}

// seen holds the ids of one scope as bits of pages of 64.
type seen struct{ pages map[int64]uint64 }

// Add counts r and returns its hit in blocks and in tokens. Block ids must be in
// the keep/add form of the file or with keep 0.
func (c *Cache) Add(r *Request, b *Block) (blocks, tokens int64) {
	if r.Blocks == nil || b == nil {
		return 0, 0
	}
	ids := c.scope(r.Blocks.Scope)
	blocks = r.Blocks.Keep // the line before had these: all seen
	for _, run := range r.Blocks.Add {
		n := ids.leading(run)
		blocks += n
		if n < run[1] {
			break
		}
	}
	for _, run := range r.Blocks.Add {
		c.Distinct += ids.insert(run)
	}
	tokens = r.InputTokens.V
	if blocks < tokens/b.Tokens+1 {
		tokens = min(tokens, blocks*b.Tokens)
	}
	c.HitBlocks += blocks
	c.HitTokens += tokens
	return blocks, tokens
}

func (c *Cache) scope(name string) *seen {
	if c.latest != nil && c.name == name {
		return c.latest
	}
	if c.scopes == nil {
		c.scopes = map[string]*seen{}
	}
	s := c.scopes[name]
	if s == nil {
		s = &seen{pages: map[int64]uint64{}}
		c.scopes[name] = s
	}
	c.latest, c.name = s, name
	return s
}

// leading returns how many of a run's leading ids were seen.
func (s *seen) leading(run Run) (n int64) {
	for id, left := run[0], run[1]; left > 0; {
		at := uint(id & 63)
		want := min(left, int64(64-at))
		have := min(int64(bits.TrailingZeros64(^(s.pages[id>>6] >> at))), want)
		n += have
		if have < want {
			break
		}
		id, left = id+want, left-want
	}
	return n
}

// insert adds a run and returns how many of its ids are new.
func (s *seen) insert(run Run) (fresh int64) {
	for id, left := run[0], run[1]; left > 0; {
		at := uint(id & 63)
		n := min(left, int64(64-at))
		mask := (^uint64(0) >> (64 - uint(n))) << at
		if page := s.pages[id>>6]; mask&^page != 0 {
			fresh += int64(bits.OnesCount64(mask &^ page))
			s.pages[id>>6] = page | mask
		}
		id, left = id+n, left-n
	}
	return fresh
}
