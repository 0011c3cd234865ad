package traces

import (
	"fmt"

	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// ids checks the block ids of a trace: their number against the lengths, and that each
// stands for one size.
func (w *weka) ids() error {
	t := &w.trace
	known := w.global
	if t.scope == localScope {
		known = newBlockIDs(w.block)
		defer known.close()
	} else if known == nil {
		known = newBlockIDs(w.block)
		w.global = known
	}
	breaks := known.breaks
	for i := range t.requests {
		r := &t.requests[i]
		if r.ids <= 0 {
			continue
		}
		if fault := w.length(r); fault != nil {
			fault.What = t.path(r) + ".hash_ids"
			return w.syntax(fault)
		}
		if c := known.add(t.runs[r.from:r.to], r.ids, r.in); c != nil {
			first, err := w.find(c, i)
			if err != nil {
				return err
			}
			return w.syntax(&jsonl.Fault{What: t.path(r) + ".hash_ids", Got: fmt.Sprintf("id %d for %d tokens", c.id, c.is),
				Want: fmt.Sprintf("%d tokens as in %s: an id stands for one size", c.was, first)})
		}
	}
	w.count("chain_breaks", known.breaks-breaks)
	return known.err()
}

// length checks the number of ids of a request against its length. The first request
// whose length is no multiple of the block size shows whether the rest has an id.
func (w *weka) length(r *wekaRequest) *jsonl.Fault {
	full, rest := r.in/w.block, r.in%w.block
	if w.last == "" && rest > 0 {
		switch r.ids {
		case full:
			w.last = schedule.Absent
		case full + 1:
			w.last = schedule.Partial
		}
	}
	fits := full
	if rest > 0 && w.last != schedule.Absent {
		fits++
	}
	switch {
	case r.ids > fits:
		return &jsonl.Fault{Got: fmt.Sprintf("%d ids for in %d", r.ids, r.in), Want: fmt.Sprintf("at most %d of %d tokens", fits, w.block)}
	case r.ids < fits:
		w.counts["ids_short"]++
	}
	return nil
}

// find names the first request in which an id had the size it was seen with: before
// request n of the trace in hand, or in a trace before it.
func (w *weka) find(c *conflict, n int) (string, error) {
	size := func(t *wekaTrace, r *wekaRequest) int64 {
		left := r.ids
		for _, run := range t.runs[r.from:r.to] {
			left -= run[1]
			if c.id < run[0] || c.id-run[0] >= run[1] {
				continue
			}
			if left == 0 && c.id == run[0]+run[1]-1 {
				return min(w.block, r.in-(r.ids-1)*w.block)
			}
			return w.block
		}
		return 0
	}
	if w.trace.scope != localScope {
		var t wekaTrace
		for i := range w.spool.parts {
			b, err := w.spool.get(i, w.buf)
			if err != nil {
				return "", err
			}
			w.buf = b
			if err := t.decode(b); err != nil {
				return "", err
			}
			for j := range t.requests {
				if t.scope != localScope && size(&t, &t.requests[j]) == c.was {
					return fmt.Sprintf("%s of trace %q", t.path(&t.requests[j]), t.id), nil
				}
			}
		}
	}
	for j := range w.trace.requests[:n] {
		if size(&w.trace, &w.trace.requests[j]) == c.was {
			return w.trace.path(&w.trace.requests[j]), nil
		}
	}
	return "this request", nil
}
