package fold

import (
	"math/bits"

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

// total is the number of tokens of an answer, 0 when nothing is known.
func (r *rec) total() int64 { return totalOf(r.out, r.tokens) }

func totalOf(out, tokens int64) int64 { return max(0, either(out, either(tokens, 0))) }

// opening is how many of total came with the first event.
func (r *rec) opening(total int64) int64 { return openingOf(total, r.firstChunk) }

func openingOf(total, firstChunk int64) int64 { return min(total, max(0, either(firstChunk, 1))) }

// arrive fills the instants and tokens of a row with chunk lists.
func (c *chunks) arrive(r *rec) {
	if c.at, c.n = c.at[:0], c.n[:0]; r.first == null {
		return
	}
	t := r.first
	c.at = append(c.at, t)
	for _, g := range c.gaps {
		t += 1000 * g
		c.at = append(c.at, t)
	}
	if known(c.tokens) {
		c.n = append(c.n, c.tokens...)
		return
	}
	total := r.total()
	later := int64(len(c.gaps))
	if r.out == null {
		total = later + 1
	}
	if later == 0 {
		c.n = append(c.n, total)
		return
	}
	first := r.opening(total)
	c.n = append(c.n, first)
	share := newSteps(total-first, later)
	for range c.gaps {
		c.n = append(c.n, share.next())
	}
}

// into adds the tokens to counts by step from an instant on; those before and behind are left
// out.
func (c *chunks) into(counts []int64, from, step int64) {
	if step == 0 || len(counts) == 0 {
		return
	}
	var sum, low, high int64 // of the step that i counts; none to begin with
	i := int64(-1)
	end := from + int64(len(counts))*step
	for k, t := range c.at {
		if t < low || t >= high {
			if i >= 0 {
				counts[i] += sum
			}
			sum = 0
			switch {
			case t < from:
				i, low, high = -1, null, from
			case t >= end:
				i, low, high = -1, end, miss
			default:
				i = (t - from) / step
				low = from + i*step
				high = low + step
			}
		}
		sum += c.n[k]
	}
	if i >= 0 {
		counts[i] += sum
	}
}

// within is how many tokens arrived from one instant to before another.
func (c *chunks) within(from, to int64) (sum int64) {
	for k, t := range c.at {
		if t >= from && t < to {
			sum += c.n[k]
		}
	}
	return sum
}

// stay adds to area, for each token that arrived before an end, the time from its arrival, or
// from the begin if that is later, to that end.
func (c *chunks) stay(area *stats.Sum, begin, end int64) {
	if end <= begin {
		return
	}
	for k, t := range c.at {
		if t < end {
			area.AddProduct(c.n[k], end-max(t, begin))
		}
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
