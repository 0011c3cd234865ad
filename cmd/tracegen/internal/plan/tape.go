package plan

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// tape keeps requests in a temporary file, for transforms that have to know all of them
// before the first goes on.
type tape struct {
	p    *Pipeline
	rows *spill.Sorter
	n    int64
	buf  []byte
}

func (p *Pipeline) newTape() *tape {
	t := &tape{p: p, rows: spill.NewSorter()}
	p.closers = append(p.closers, t.rows.Close)
	return t
}

// put stores a request under a sort key, behind those of the same key.
func (t *tape) put(key int64, r *schedule.Request) error {
	t.n++
	t.buf = schedule.AppendRequest(t.buf[:0], r)
	return t.rows.Add(key, t.buf)
}

// read returns a step that yields the requests by key. It may be called several times,
// but no put may follow.
func (t *tape) read() (step, error) {
	next, err := t.rows.Sorted()
	if err != nil {
		return nil, err
	}
	var parser schedule.Parser
	return t.p.until(func() (*schedule.Request, error) {
		b, err := next()
		if err != nil {
			return nil, err
		}
		r, err := parser.Parse(b)
		if err != nil {
			return nil, fmt.Errorf("temporary file: %w", err)
		}
		return r, nil
	}), nil
}

// spool puts everything that next yields on a tape, in its order, and shows each
// request to look.
func (p *Pipeline) spool(next step, look func(*schedule.Request) error) (*tape, error) {
	t := p.newTape()
	for {
		r, err := next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		if err := look(r); err != nil {
			return nil, err
		}
		if err := t.put(t.n, r); err != nil {
			return nil, err
		}
	}
}

// byTime puts requests in order again after a transform has moved them. They go in with
// ids that are unique, each behind what it waits for; they come out by time, in the
// order of add on ties, numbered from 0.
type byTime struct {
	*tape
	keys spill.Table      // id → sort key
	ids  spill.Table      // id → new id + 1
	open map[string]int64 // open session → its greatest key
}

func (p *Pipeline) newByTime() *byTime {
	b := &byTime{tape: p.newTape(), open: map[string]int64{}}
	p.closers = append(p.closers, b.keys.Close, b.ids.Close)
	return b
}

// add stores a request at its time, or where it could start at the earliest.
func (b *byTime) add(r *schedule.Request) error {
	key := r.AtNS.V
	if !r.AtNS.Valid {
		for _, id := range r.After {
			before, err := b.keys.Get(id)
			if err != nil {
				return err
			}
			key = max(key, before)
		}
		key = later(key, r.DelayNS.V)
	}
	if err := b.keys.Set(r.ID, key); err != nil {
		return err
	}
	most, known := b.open[r.Session]
	switch {
	case !r.Last:
		if !known || key > most {
			b.open[r.Session] = key
		}
	case known:
		// A line without a time may come to stand before others of its session. Then the
		// last line is another one, and that none is marked is allowed.
		r.Last = key >= most
		delete(b.open, r.Session)
	}
	return b.put(key, r)
}

// ordered returns the requests in their new order.
func (b *byTime) ordered() (step, error) {
	next, err := b.read()
	if err != nil {
		return nil, err
	}
	id := int64(0)
	return func() (*schedule.Request, error) {
		r, err := next()
		if err != nil {
			return nil, err
		}
		for i, old := range r.After {
			now, err := b.ids.Get(old)
			if err != nil {
				return nil, err
			}
			if now == 0 {
				return nil, &formats.SyntaxError{Place: fmt.Sprintf("%s: turn %d of session %s", b.p.Place, r.Turn, strconv.Quote(r.Session)), What: "after",
					Got: "a wait for a request that comes later, now that times have moved", Want: "waits within a session, in the order of its times"}
			}
			r.After[i] = now - 1
		}
		slices.Sort(r.After)
		if err := b.ids.Set(r.ID, id+1); err != nil {
			return nil, err
		}
		r.ID = id
		id++
		return r, nil
	}, nil
}

// moved passes all requests through move, which may change their times, and puts them in
// order again.
func (p *Pipeline) moved(next step, move func(*schedule.Request) error) step {
	return deferred(func() (step, error) {
		sorted := p.newByTime()
		for {
			r, err := next()
			if err == io.EOF {
				return sorted.ordered()
			}
			if err != nil {
				return nil, err
			}
			if err := move(r); err != nil {
				return nil, err
			}
			if err := sorted.add(r); err != nil {
				return nil, err
			}
		}
	})
}

// later adds a wait to a time, capped.
func later(t, wait int64) int64 {
	if t > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return t + wait
}

// deferred is a step whose source is made at the first call.
func deferred(start func() (step, error)) step {
	var next step
	return func() (*schedule.Request, error) {
		if next == nil {
			var err error
			if next, err = start(); err != nil {
				return nil, err
			}
		}
		return next()
	}
}
