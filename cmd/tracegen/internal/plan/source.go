package plan

import (
	"fmt"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// FromSchedule yields the requests of a schedule, or of several in a row, with their
// block ids in full.
func FromSchedule(r *schedule.Reader, place string) func() (*schedule.Request, error) {
	var chains schedule.Chains
	first, part := r.Header().Block, r.Part()
	return func() (*schedule.Request, error) {
		q, err := r.Next()
		if err != nil {
			return nil, err
		}
		if r.Part() != part {
			part = r.Part()
			if b := r.Header().Block; b != nil && (first == nil || *b != *first) {
				return nil, &formats.SyntaxError{Place: fmt.Sprintf("%s: schedule %d of several", place, part),
					What: "block", Got: printBlock(b), Want: printBlock(first) + " as in the first one"}
			}
		}
		runs, err := chains.IDs(q)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", place, q.ID, err)
		}
		if q.Blocks != nil {
			q.Blocks.Keep, q.Blocks.Add = 0, runs
		}
		return q, nil
	}
}

func printBlock(b *schedule.Block) string {
	if b == nil {
		return "no blocks"
	}
	return fmt.Sprintf("%d tokens, last %s", b.Tokens, b.Last)
}
