package fold

import (
	"fmt"
	"math/bits"

	"hydrant/formats"
	"hydrant/formats/run"
)

// maxGapBits bounds what gaps add up to, and delays: 2^45 µs are a year.
const maxGapBits = 45

// take takes the lists of a row, compares them with each other, and says how far they reach.
// The gaps stay those of the row.
func (c *chunks) take(q *run.Request) *formats.SyntaxError {
	n := len(q.ChunkGapUS) + 1 // token events
	if n > maxTokens {
		return &formats.SyntaxError{What: "chunk_gap_us", Got: fmt.Sprintf("%d gaps", n), Want: fmt.Sprintf("at most %d", maxTokens)}
	}
	c.gaps, c.sum, c.reach, c.low = q.ChunkGapUS, 0, 0, 0
	all := uint64(0)
	for _, g := range c.gaps {
		all |= uint64(g)
		c.sum += g
	}
	if c.reach = c.sum; bits.Len64(all)+bits.Len(uint(n)) > maxGapBits { // else they add up to less
		if err := c.takeFar(); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		name string
		n    int
	}{{"chunk_delay_us", len(q.ChunkDelayUS)}, {"chunk_tokens", len(q.ChunkTokens)}} {
		if l.n > 0 && l.n != n {
			return &formats.SyntaxError{What: l.name, Got: fmt.Sprintf("%d values", l.n), Want: fmt.Sprintf("%d, one per token event", n)}
		}
	}
	if c.tokens, all = packed64(c.tokens, q.ChunkTokens); all > maxTokens {
		for i, v := range q.ChunkTokens {
			if v.Valid && (v.V < 0 || v.V > maxTokens) {
				return &formats.SyntaxError{What: fmt.Sprintf("chunk_tokens[%d]", i), Got: v.String(), Want: fmt.Sprintf("a count from 0 to %d", maxTokens)}
			}
		}
	}
	if c.delays, all = packed64(c.delays, q.ChunkDelayUS); all > 1<<maxGapBits {
		for i, v := range q.ChunkDelayUS {
			if !v.Valid {
				continue
			}
			if v.V < -1<<maxGapBits || v.V > 1<<maxGapBits {
				return &formats.SyntaxError{What: fmt.Sprintf("chunk_delay_us[%d]", i), Got: v.String(), Want: "less than a year"}
			}
			c.low = min(c.low, v.V)
		}
	}
	return nil
}

// takeFar looks at gaps some of which are negative, or large.
func (c *chunks) takeFar() *formats.SyntaxError {
	var at int64 // µs
	c.reach = 0
	for i, g := range c.gaps {
		if at += g; max(g, -g, at, -at) > 1<<maxGapBits || g == null {
			return &formats.SyntaxError{What: fmt.Sprintf("chunk_gap_us[%d]", i), Got: fmt.Sprint(g), Want: "gaps that add up to less than a year"}
		}
		c.reach, c.low = max(c.reach, at, -at), min(c.low, g)
	}
	return nil
}

// listed is what the record of a row, which take has taken and is the next, says beside its lists.
func (f *fold) listed(r *rec) listed {
	return listed{row: int64(f.rows.n), part: r.part, ok: bit(r.ok()), u: r.u(), first: r.first, wrote: r.wrote, leave: either(r.lastKernel, r.last),
		in: r.in, out: r.out, events: r.tokens, opener: r.firstChunk, reach: f.lists.reach}
}

// packed64 returns the values of a list with null in place of those that are, and their bits;
// v is memory for them.
func packed64(v []int64, list []formats.Int) (_ []int64, all uint64) {
	v = resized(v, len(list))
	for i, x := range list {
		p := x.V
		if !x.Valid {
			p = null
		}
		v[i] = p
		all |= uint64(p)
	}
	return v, all
}
