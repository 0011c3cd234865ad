package fold

// arrival is how tokens came: who knows what of when.
//
//	per chunk known     as they are
//	chunk times only    the first event brought first_chunk_tokens or 1, the rest
//	                    is spread evenly over the later events, in whole tokens
//	neither             the same over equal steps from first to last token
//
// Without a count of tokens each token event counts as one.

// total is the number of tokens of an answer, 0 when nothing is known.
func (r *rec) total() int64 { return max(0, either(r.out, either(r.tokens, 0))) }

// opening is how many of total came with the first event.
func (r *rec) opening(total int64) int64 { return min(total, max(0, either(r.firstChunk, 1))) }

// arrive hands out (instant, tokens) in the order of time for a row with chunk lists.
func (c *chunks) arrive(r *rec, do func(t, n int64)) {
	if r.first == null {
		return
	}
	t := r.first
	if known(c.tokens) {
		for i, n := range c.tokens {
			if i > 0 {
				t += 1000 * c.gaps[i-1]
			}
			do(t, n)
		}
		return
	}
	total := max(r.total(), 0)
	later := int64(len(c.gaps))
	if r.out == null {
		total = later + 1
	}
	if later == 0 {
		do(t, total)
		return
	}
	first := r.opening(total)
	do(t, first)
	share := newSteps(total-first, later)
	for _, g := range c.gaps {
		t += 1000 * g
		do(t, share.next())
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

// arrive does the same for a row without chunk lists.
func (r *rec) arrive(do func(t, n int64)) {
	total := r.total()
	if r.first == null {
		// An answer in one piece arrives at its end.
		if r.ok() && r.end != null && total > 0 {
			do(r.end, total)
		}
		return
	}
	first := r.opening(total)
	do(r.first, first)
	last := max(either(r.last, r.first), r.first)
	rest := total - first
	if last == r.first && rest > 0 {
		do(last, rest)
		return
	}
	if rest <= 0 {
		return
	}
	t, apart := r.first, newSteps(last-r.first, rest)
	for range rest {
		t += apart.next()
		do(t, 1)
	}
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

// arrivals walks the tokens of every row, first those with chunk lists in the order
// of the spool. What is done with them must not depend on the order.
func (f *fold) arrivals(do func(i int, r *rec, c *chunks, walk func(func(t, n int64)))) error {
	err := f.chunks.each(func(c *chunks) error {
		c.row = f.placed(c.row)
		r := f.rows.read(c.row)
		do(int(c.row), &r, c, func(each func(t, n int64)) { c.arrive(&r, each) })
		return nil
	})
	if err != nil {
		return err
	}
	rows := f.rows.cursor()
	for i := range f.rows.n {
		if r := rows.row(i); !r.spooled {
			do(i, r, nil, r.arrive)
		}
	}
	return nil
}
