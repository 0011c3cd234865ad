package plan

import (
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// thin numbers what is left of the requests from 0 again, and drops waits for requests
// that are gone. Memory is flat: the ids lie in a table.
type thin struct {
	same int64       // ids below are as they were
	ids  spill.Table // old id → new id + 1, from same on
	n    int64
	lost int64 // waits that were dropped
}

// keep gives a request its new id.
func (t *thin) keep(r *schedule.Request) error {
	if r.ID == t.n && t.n == t.same {
		t.same++
	} else if err := t.ids.Set(r.ID-t.same, t.n+1); err != nil {
		return err
	}
	r.ID = t.n
	t.n++
	after := r.After[:0]
	for _, id := range r.After {
		now, err := t.of(id)
		if err != nil {
			return err
		}
		if now >= 0 {
			after = append(after, now)
		}
	}
	if gone := len(r.After) - len(after); gone > 0 {
		// The latest of them may be among those gone: only the order is known now.
		t.lost += int64(gone)
		r.DelayNS = formats.Int{}
	}
	r.After = after
	return nil
}

// of returns the new id of an old one, −1 when it is gone.
func (t *thin) of(id int64) (int64, error) {
	if id < t.same {
		return id, nil
	}
	now, err := t.ids.Get(id - t.same)
	return now - 1, err
}
