package fold

import (
	"math/bits"
	"slices"

	"hydrant/internal/stats"
)

// arrival is how the tokens of an answer came: who knows what of when.
//
//	per chunk known     as they are
//	chunk times only    the first event brought first_chunk_tokens or 1, the rest
//	                    is spread evenly over the later events, in whole tokens
//	neither             the same over equal steps from first to last token
//
// Without a count of tokens each token event counts as one.

// totalOf is the number of tokens of an answer, 0 when nothing is known.
func totalOf(out, tokens int64) int64 { return max(0, either(out, either(tokens, 0))) }

// openingOf is how many of total came with the first event.
func openingOf(total, firstChunk int64) int64 { return min(total, max(0, either(firstChunk, 1))) }

// arrive fills the tokens that came with each event of a row with chunk lists, none when the
// instant of the first is not known. Where one came with each but the first, only that has a
// count.
func (c *chunks) arrive() {
	if c.n, c.even = c.n[:0], false; c.first == null {
		return
	}
	if known(c.tokens) {
		c.n = append(c.n, c.tokens...)
		return
	}
	total := totalOf(c.out, c.events)
	later := int64(len(c.gaps))
	if c.out == null {
		total = later + 1
	}
	if later == 0 {
		c.n = append(c.n, total)
		return
	}
	first := openingOf(total, c.opener)
	c.n = append(c.n, first)
	if c.even = total-first == later; c.even {
		return
	}
	share := newSteps(total-first, later)
	for range c.gaps {
		c.n = append(c.n, share.next())
	}
}

// places says where tokens are counted.
type places interface {
	// at returns a stretch of time around t in which all tokens count alike.
	at(t int64) (low, high int64)
	// take takes in n tokens of the stretch that at returned last. Their instants add up to
	// n·t + more.
	take(n, t, more int64)
}

// walk hands the tokens to where they are counted, stretch by stretch.
func (c *chunks) walk(to places) {
	if len(c.n) == 0 {
		return
	}
	t, n, more := c.first, c.n[0], int64(0)
	low, high := to.at(t)
	if c.far() {
		if c.even {
			c.n = append(c.n, slices.Repeat([]int64{1}, len(c.gaps))...)
		}
		for i, g := range c.gaps {
			to.take(n, t, 0)
			if t += 1000 * g; t < low || t >= high {
				low, high = to.at(t)
			}
			n = c.n[i+1]
		}
		to.take(n, t, 0)
		return
	}
	since := int64(0) // the first
	low, high = low-t, high-t
	if c.even {
		for _, g := range c.gaps {
			if since += 1000 * g; since < low || since >= high {
				to.take(n, t, more)
				n, more = 0, 0
				low, high = to.at(t + since)
				low, high = low-t, high-t
			}
			n++
			more += since
		}
		to.take(n, t, more)
		return
	}
	counts := c.n[1:][:len(c.gaps)]
	for i, g := range c.gaps {
		if since += 1000 * g; since < low || since >= high {
			to.take(n, t, more)
			n, more = 0, 0
			low, high = to.at(t + since)
			low, high = low-t, high-t
		}
		k := counts[i]
		n += k
		more += k * since
	}
	to.take(n, t, more)
}

// far says that the times of all tokens may add up to more than fits in 64 bits.
func (c *chunks) far() bool {
	sum := uint64(0)
	if c.even {
		sum = uint64(len(c.gaps))
	}
	for _, n := range c.n { // each below 2^24, as is their number
		sum += uint64(n)
	}
	return bits.Len64(sum)+bits.Len64(1000*uint64(c.reach)) > 62
}

// Ends of time for stretches: differences of instants to them fit in 64 bits.
const (
	earliest = -maxTime << 1
	endless  = maxTime << 2
)

// bySteps counts tokens by step from an instant on; those before and behind are left out.
type bySteps struct {
	counts     []int64
	from, step int64
	i          int64 // of the step at hand, −1: none
}

func (b *bySteps) at(t int64) (low, high int64) {
	end := b.from + int64(len(b.counts))*b.step
	switch b.i = -1; {
	case t < b.from:
		return earliest, b.from
	case t >= end:
		return end, endless
	}
	b.i = (t - b.from) / b.step
	low = b.from + b.i*b.step
	return low, low + b.step
}

func (b *bySteps) take(n, _, _ int64) {
	if b.i >= 0 {
		b.counts[b.i] += n
	}
}

// known says that a list is there and has no unknown value.
func known(v []int64) bool {
	for _, x := range v {
		if x == null {
			return false
		}
	}
	return len(v) > 0
}

// steps cuts a whole number a ≥ 0 into n > 0 whole steps that are as equal as can be:
// the first i of them add up to ⌊i·a/n⌋. It divides once, not at each step.
type steps struct{ whole, over, left, n int64 }

func newSteps(a, n int64) steps { return steps{whole: a / n, over: a % n, n: n} }

func (s *steps) next() int64 {
	if s.left += s.over; s.left >= s.n {
		s.left -= s.n
		return s.whole + 1
	}
	return s.whole
}

// stream is the tokens of a row without chunk lists: n at an instant, then one at the end of
// each of rest equal steps, the ith ⌊i·span/rest⌋ after it.
type stream struct{ at, n, span, rest int64 }

// stream returns the tokens of row i, which is without chunk lists.
func (x *frame) stream(i int) stream {
	at, last := x.col(cFirst)[i], x.col(cLast)[i]
	total := totalOf(x.col(cOut)[i], x.col(cTokens)[i])
	if at == null {
		// An answer in one piece arrives at its end.
		if end := x.col(cEnd)[i]; x.marks()[i]&isOK > 0 && end != null && total > 0 {
			return stream{at: end, n: total}
		}
		return stream{}
	}
	first := openingOf(total, x.col(cFirstChunk)[i])
	s := stream{at: at, n: first, span: max(either(last, at), at) - at, rest: total - first}
	if s.span == 0 || s.rest <= 0 {
		return stream{at: at, n: total}
	}
	return s
}

// tokens is how many there are.
func (s *stream) tokens() int64 { return s.n + s.rest }

// within is how many tokens arrived from one instant to before another.
func (s *stream) within(from, to int64) int64 { return max(0, s.before(to)-s.before(from)) }

// before is how many tokens arrived before an instant.
func (s *stream) before(t int64) int64 {
	if t <= s.at {
		return 0
	}
	return s.n + s.stepsBefore(t)
}

// stepsBefore is how many of the steps ended before an instant: of i·span/rest < t − at the
// largest i.
func (s *stream) stepsBefore(t int64) int64 {
	d := t - s.at
	if d <= 0 || s.rest == 0 {
		return 0
	}
	if d > s.span {
		return s.rest
	}
	hi, lo := bits.Mul64(uint64(d), uint64(s.rest))
	q, r := lo/uint64(s.span), lo%uint64(s.span)
	if hi > 0 {
		q, r = bits.Div64(hi, lo, uint64(s.span))
	}
	if r == 0 {
		q--
	}
	return int64(q)
}

// into adds the tokens to counts by step from an instant on; those before and behind are
// left out.
func (s *stream) into(counts []int64, from, step int64) {
	if step == 0 || len(counts) == 0 {
		return
	}
	if s.rest > 0 && s.rest < s.span/step { // few tokens over many steps
		add := func(t, n int64) {
			if i := (t - from) / step; t >= from && i < int64(len(counts)) {
				counts[i] += n
			}
		}
		add(s.at, s.n)
		t := s.at
		for apart, n := newSteps(s.span, s.rest), int64(0); n < s.rest; n++ {
			t += apart.next()
			add(t, 1)
		}
		return
	}
	i := int64(0)
	if s.at > from {
		if i = (s.at - from) / step; i >= int64(len(counts)) {
			return
		}
	}
	all := s.tokens()
	for done := s.before(from + i*step); done < all && i < int64(len(counts)); i++ {
		n := s.before(from + (i+1)*step)
		counts[i] += n - done
		done = n
	}
}

// stay adds to area, for each token that arrived before an end, the time from its arrival, or
// from the begin if that is later, to that end.
func (s *stream) stay(area *stats.Sum, begin, end int64) {
	if end <= begin {
		return
	}
	if s.at < end {
		area.AddProduct(s.n, end-max(s.at, begin))
	}
	early, all := s.stepsBefore(begin+1), s.stepsBefore(end)
	if all == 0 {
		return
	}
	area.AddProduct(early, end-begin)
	if bits.Len64(uint64(s.span))+bits.Len64(uint64(s.rest)) < 62 {
		area.AddProduct(all-early, end-s.at)
		area.Add(floorSum(early, s.rest, s.span) - floorSum(all, s.rest, s.span))
		return
	}
	apart := newSteps(s.span, s.rest)
	t := s.at
	for i := range all {
		if t += apart.next(); i >= early {
			area.Add(end - t)
		}
	}
}

// floorSum is Σ ⌊i·a/m⌋ for i from 1 to n ≤ m, of numbers whose product has fewer than 62 bits.
// As in Euclid's algorithm the part of the slope below 1 is counted along the other axis.
func floorSum(n, m, a int64) (sum int64) {
	n++ // i from 0
	b := int64(0)
	for {
		sum += n * (n - 1) / 2 * (a / m)
		sum += n * (b / m)
		a, b = a%m, b%m
		top := a*n + b
		if top < m {
			return sum
		}
		// The lattice points under the line, by columns, are those by rows.
		n, b = top/m, top%m
		m, a = a, m
	}
}
