package plan

import (
	"fmt"
	"slices"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// FromSchedule yields the requests of a schedule, or of several in a row, with ids from
// 0 and their block ids in full.
func FromSchedule(r *schedule.Reader, place string) func() (*schedule.Request, error) {
	var chains schedule.Chains
	var ids renumber
	first, part := r.Header(), r.Part()
	return func() (*schedule.Request, error) {
		q, err := r.Next()
		if err != nil {
			return nil, err
		}
		if r.Part() != part {
			part = r.Part()
			at := fmt.Sprintf("%s: schedule %d of several", place, part)
			if err := sameBlock(at, r.Header(), first); err != nil {
				return nil, err
			}
		}
		runs, err := chains.IDs(q)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", place, q.ID, err)
		}
		if q.Blocks != nil {
			q.Blocks.Keep, q.Blocks.Add = 0, runs
		}
		// A schedule that was edited may have gaps in its ids.
		q.ID = ids.add(q.ID)
		for i, id := range q.After {
			q.After[i], _ = ids.of(id) // the reader has seen it
		}
		return q, nil
	}
}

// sameBlock refuses a schedule whose block ids are of another kind than those of the
// first. One without ids goes with all.
func sameBlock(place string, h, first schedule.Header) error {
	if b := h.Block; b != nil && (first.Block == nil || *b != *first.Block) {
		return &formats.SyntaxError{Place: place, What: "block", Got: PrintBlock(b), Want: PrintBlock(first.Block) + " as in the first one"}
	}
	return nil
}

// SameSpeed is next, which reads from r, while all schedules in a row were made faster by
// the same factors. What shortens silences needs that.
func SameSpeed(r *schedule.Reader, place string, next func() (*schedule.Request, error)) func() (*schedule.Request, error) {
	first, part := r.Header().Transforms, r.Part()
	return func() (*schedule.Request, error) {
		q, err := next()
		if err != nil || r.Part() == part {
			return q, err
		}
		part = r.Part()
		want, err := speedsOf(first)
		if err != nil {
			return nil, err
		}
		got, err := speedsOf(r.Header().Transforms)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(got, want) {
			return nil, &formats.SyntaxError{Place: fmt.Sprintf("%s: schedule %d of several", place, part),
				What: "transforms", Got: fmt.Sprint("speed-ups ", got), Want: fmt.Sprint(want, " as in the first one"),
				Help: "shorten the silences of each by itself, and join what comes out"}
		}
		return q, nil
	}
}

// PrintBlock prints how block ids map to tokens, for errors.
func PrintBlock(b *schedule.Block) string {
	if b == nil {
		return "no blocks"
	}
	return fmt.Sprintf("%d tokens, last %s", b.Tokens, b.Last)
}
