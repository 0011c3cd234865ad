package schedule

// Cache is an infinite prefix cache: the figure of what a schedule lets a server
// reuse. Lines go in in order; the hit of a line is the longest run of its leading
// ids that were all seen before, and then all its ids count as seen. Ids of
// different scopes never meet. The zero value is empty. Memory is that of a BlockSet
// for each scope.
type Cache struct {
	Distinct  int64 // ids seen
	HitBlocks int64 // sum of hits
	HitTokens int64 // sum of min(hit × block tokens, input_tokens)

	scopes map[string]*BlockSet
	latest *BlockSet
	name   string
}

// Add counts r and returns its hit in blocks and in tokens. Block ids must be in
// the keep/add form of the file or with keep 0.
func (c *Cache) Add(r *Request, b *Block) (blocks, tokens int64) {
	if r.Blocks == nil || b == nil {
		return 0, 0
	}
	ids := c.scope(r.Blocks.Scope)
	blocks = r.Blocks.Keep // the line before had these: all seen
	for _, run := range r.Blocks.Add {
		n := ids.Leading(run)
		blocks += n
		if n < run[1] {
			break
		}
	}
	for _, run := range r.Blocks.Add {
		c.Distinct += ids.Insert(run)
	}
	tokens = r.InputTokens.V
	if blocks < tokens/b.Tokens+1 {
		tokens = min(tokens, blocks*b.Tokens)
	}
	c.HitBlocks += blocks
	c.HitTokens += tokens
	return blocks, tokens
}

func (c *Cache) scope(name string) *BlockSet {
	if c.latest != nil && c.name == name {
		return c.latest
	}
	if c.scopes == nil {
		c.scopes = map[string]*BlockSet{}
	}
	s := c.scopes[name]
	if s == nil {
		s = &BlockSet{}
		c.scopes[name] = s
	}
	c.latest, c.name = s, name
	return s
}
