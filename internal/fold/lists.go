package fold

import (
	"fmt"
	"math/bits"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// maxGapBits bounds what gaps add up to, and delays: 2^45 µs are a year.
const maxGapBits = 45

// take takes the lists of a row, and looks at them. The gaps stay those of the row.
func (c *chunks) take(q *run.Request) *formats.SyntaxError {
	var delays, tokens int
	c.gaps = q.ChunkGapUS
	c.delays, delays = packed64(c.delays, q.ChunkDelayUS)
	c.tokens, tokens = packed64(c.tokens, q.ChunkTokens)
	if !c.look(delays, tokens) {
		return explain(q)
	}
	return nil
}

// look compares the lists with each other and with what is believable, and finds their sum, how
// far they reach and what is below 0. So many delays and tokens are null.
func (c *chunks) look(delays, tokens int) bool {
	n := len(c.gaps) + 1 // token events
	c.sum, c.reach, c.low = 0, 0, 0
	all := uint64(0)
	for _, g := range c.gaps {
		all |= uint64(g)
		c.sum += g
	}
	if c.reach = c.sum; bits.Len64(all)+bits.Len(uint(n)) > maxGapBits && !c.lookFar() { // else they add up to less
		return false
	}
	if n > maxTokens || len(c.delays) > 0 && len(c.delays) != n || len(c.tokens) > 0 && len(c.tokens) != n {
		return false
	}
	if bitsOf(c.tokens) > maxTokens {
		if _, ok := within(c.tokens, tokens, 0, maxTokens); !ok {
			return false
		}
	}
	if bitsOf(c.delays) > 1<<maxGapBits {
		if _, ok := within(c.delays, delays, -1<<maxGapBits, 1<<maxGapBits); !ok {
			return false
		}
		for _, v := range c.delays {
			if v != null {
				c.low = min(c.low, v)
			}
		}
	}
	return true
}

// lookFar looks at gaps some of which are negative, or large.
func (c *chunks) lookFar() bool {
	const most = 1 << maxGapBits
	var at int64 // µs
	c.reach = 0
	for _, g := range c.gaps {
		if at += g; g < -most || g > most || at < -most || at > most {
			return false
		}
		c.reach, c.low = max(c.reach, at, -at), min(c.low, g)
	}
	return true
}

// explain says what look found wrong.
func explain(q *run.Request) *formats.SyntaxError {
	const maxGap = 1 << maxGapBits
	n := len(q.ChunkGapUS) + 1
	if n > maxTokens {
		return &formats.SyntaxError{What: "chunk_gap_us", Got: fmt.Sprintf("%d gaps", n), Want: fmt.Sprintf("at most %d", maxTokens)}
	}
	var at int64 // µs
	for i, g := range q.ChunkGapUS {
		if at += g; g < -maxGap || g > maxGap || at < -maxGap || at > maxGap {
			return &formats.SyntaxError{What: fmt.Sprintf("chunk_gap_us[%d]", i), Got: fmt.Sprint(g), Want: "gaps that add up to less than a year"}
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
	for i, v := range q.ChunkTokens {
		if v.Valid && (v.V < 0 || v.V > maxTokens) {
			return &formats.SyntaxError{What: fmt.Sprintf("chunk_tokens[%d]", i), Got: v.String(), Want: fmt.Sprintf("a count from 0 to %d", maxTokens)}
		}
	}
	for i, v := range q.ChunkDelayUS {
		if v.Valid && (v.V < -maxGap || v.V > maxGap) {
			return &formats.SyntaxError{What: fmt.Sprintf("chunk_delay_us[%d]", i), Got: v.String(), Want: "less than a year"}
		}
	}
	panic("internal error: nothing is wrong with the lists of a row")
}

// takeLists takes in the chunk lists of n rows that are at hand, whose other columns are in a
// frame; false when those of a row are wrong, which take then says: the fold ends there.
func (f *fold) takeLists(p *run.Part, x *frame, at, n int) (ok bool, err error) {
	b := &f.bulk
	c := &b.lists
	gaps, delays, tokens := p.Cells(runLists[0]), p.Cells(runLists[1]), p.Cells(runLists[2])
	for _, k := range [...]int{cGapSum, cGapP99, cGapMax, cGapN} {
		x.mixed(k, at, k != cGapN)
	}
	for i := at; i < at+n; i++ {
		var noDelays, noTokens int
		c.gaps = gaps.List(i - at)
		c.delays, b.delays, noDelays = delays.Numbers(i-at, b.delays, null)
		c.tokens, b.tokens, noTokens = tokens.Numbers(i-at, b.tokens, null)
		if !c.look(noDelays, noTokens) {
			return false, nil
		}
		b.low[i-at] = c.low
		x.v[cGapN][i], x.v[cGapSum][i], x.v[cGapP99][i], x.v[cGapMax][i] = f.gapFigures(c)
		if len(c.gaps)+len(c.delays)+len(c.tokens) == 0 {
			continue
		}
		flags := &x.v[cFlags][i]
		*flags |= flagSpooled
		c.listed = listed{row: int64(f.rows.n + i - at), part: x.v[cPart][i], ok: bit(uint8(*flags) == outcomeOK), u: either(x.v[cDue][i], x.v[cScheduled][i]),
			first: x.v[cFirst][i], wrote: x.v[cWrote][i], leave: either(x.v[cLastKernel][i], x.v[cLast][i]), in: x.v[cIn][i], out: x.v[cOut][i],
			events: x.v[cTokens][i], opener: x.v[cFirstChunk][i], reach: c.reach}
		if err := f.chunks.add(c); err != nil {
			return false, err
		}
	}
	return true, nil
}

// gapFigures returns the number of gaps of a row, and in ns their sum, p99 and maximum; these are
// null where there is none.
func (f *fold) gapFigures(c *chunks) (n, sum, p99, most int64) {
	if n = int64(len(c.gaps)); n == 0 {
		return 0, null, null, null
	}
	p99, most = f.largest(c.gaps, int(n-stats.NearestRank(n, 990))+1)
	return n, 1000 * c.sum, 1000 * p99, 1000 * most
}

// listed is what the record of a row, which take has taken and is the next, says beside its lists.
func (f *fold) listed(r *rec) listed {
	return listed{row: int64(f.rows.n), part: r.part, ok: bit(r.ok()), u: r.u(), first: r.first, wrote: r.wrote, leave: either(r.lastKernel, r.last),
		in: r.in, out: r.out, events: r.tokens, opener: r.firstChunk, reach: f.lists.reach}
}

// packed64 returns the values of a list with null in place of those that are, and how many
// these are; v is memory for them.
func packed64(v []int64, list []formats.Int) (_ []int64, nulls int) {
	v = resized(v, len(list))
	for i, x := range list {
		if v[i] = pack(x); !x.Valid {
			nulls++
		}
	}
	return v, nulls
}
