package schedule

import (
	"strconv"

	"hydrant/formats/jsonl"
)

// Chains turns the keep/add form of block ids into the whole prompt's ids, and
// back. It remembers the latest ids of each stream of each open session, and
// forgets a session at its line marked last. The zero value is ready.
type Chains struct {
	open    map[string]*chains // by session; those without ids are not in it
	scope   string             // the latest, so that equal ones share their bytes
	scratch []Run
}

// chains are those of a session. Nearly every session has one stream.
type chains struct {
	first  chain
	others map[string]*chain
}

// chain is the latest prompt of one stream.
type chain struct {
	stream string
	scope  string
	runs   []Run
	spare  []Run // memory of the prompt before
}

// IDs returns the ids of r's whole prompt as runs, neighbours joined; nil when r
// has no ids. On a line of context delta these are the ids of the new text alone.
// The runs are valid until the next call. Every line must pass through, in order.
func (c *Chains) IDs(r *Request) ([]Run, error) {
	b := r.Blocks
	ch := c.chain(r, b != nil && len(b.Add) > 0)
	if b == nil {
		c.keepRuns(r, ch, "", nil)
		return nil, nil
	}
	var before []Run
	if b.Keep > 0 {
		if ch != nil && ch.scope == b.Scope {
			before = ch.runs
		}
		if have := total(before); have < b.Keep {
			return nil, &jsonl.Fault{What: "blocks.keep", Got: strconv.FormatInt(b.Keep, 10),
				Want: "at most " + strconv.FormatInt(have, 10) + ", the ids of the stream's line before in the same scope"}
		}
	}
	var out []Run
	if ch != nil {
		out = ch.spare[:0]
	} else {
		out = c.scratch[:0]
	}
	left := b.Keep
	for _, run := range before {
		if left == 0 {
			break
		}
		n := min(left, run[1])
		out = appendRun(out, Run{run[0], n})
		left -= n
	}
	for _, run := range b.Add {
		out = appendRun(out, run)
	}
	if ch == nil {
		c.scratch = out
	}
	c.keepRuns(r, ch, b.Scope, out)
	return out, nil
}

// Encode returns runs, the ids of r's whole prompt, in the keep/add form and
// remembers them. Add may alias runs. Every line must pass through, in order.
func (c *Chains) Encode(r *Request, scope string, runs []Run) (keep int64, add []Run) {
	ch := c.chain(r, len(runs) > 0)
	add = runs
	if ch != nil && ch.scope == scope && r.Context != Delta {
		keep, add = split(ch.runs, runs)
	}
	if ch != nil {
		ch.spare = append(ch.spare[:0], runs...)
		c.keepRuns(r, ch, scope, ch.spare)
	} else {
		c.keepRuns(r, nil, scope, nil)
	}
	return keep, add
}

// chain returns the state of r's stream, a new one when its line is the first that has
// ids, nil when there is nothing to remember.
func (c *Chains) chain(r *Request, ids bool) *chain {
	all := c.open[r.Session]
	switch {
	case all == nil && (!ids || r.Last):
		return nil
	case all == nil:
		if c.open == nil {
			c.open = map[string]*chains{}
		}
		all = &chains{first: chain{stream: r.Stream}}
		c.open[r.Session] = all
		return &all.first
	case all.first.stream == r.Stream:
		return &all.first
	}
	ch := all.others[r.Stream]
	if ch == nil && ids && !r.Last {
		if all.others == nil {
			all.others = map[string]*chain{}
		}
		ch = &chain{stream: r.Stream}
		all.others[r.Stream] = ch
	}
	return ch
}

// keepRuns makes runs the latest of the stream, or forgets the session.
func (c *Chains) keepRuns(r *Request, ch *chain, scope string, runs []Run) {
	switch {
	case r.Last:
		delete(c.open, r.Session)
	case ch != nil:
		if c.scope != scope {
			c.scope = scope
		}
		ch.scope = c.scope
		ch.runs, ch.spare = runs, ch.runs
	}
}

// appendRun appends a run, joined to the last one when it continues it.
func appendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1][0]+runs[n-1][1] == r[0] {
		runs[n-1][1] += r[1]
		return runs
	}
	return append(runs, r)
}

func total(runs []Run) (n int64) {
	for _, r := range runs {
		n += r[1]
	}
	return n
}

// split returns the length of the common prefix of two lists of ids and what b has
// after it. Neighbouring runs must be joined.
func split(a, b []Run) (keep int64, rest []Run) {
	for i := range b {
		if i == len(a) || a[i][0] != b[i][0] {
			return keep, b[i:]
		}
		n := min(a[i][1], b[i][1])
		keep += n
		if n < b[i][1] {
			rest = append(rest, Run{b[i][0] + n, b[i][1] - n})
			return keep, append(rest, b[i+1:]...)
		}
		if n < a[i][1] {
			return keep, b[i+1:]
		}
	}
	return keep, nil
}
