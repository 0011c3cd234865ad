package rule

import (
	"errors"
	"io"

	"hydrant/formats/schedule"
)

// ReadPlan reads a schedule to its end, or several in a row, and returns what it
// plans. The reader compares every line with the trailers on the way. r yields
// uncompressed bytes; place names it in errors.
func ReadPlan(r io.Reader, place string) (*Plan, error) {
	in, err := schedule.NewReader(r, place)
	if err != nil {
		return nil, err
	}
	p := &Plan{Place: place}
	var first, last int64
	timed := false
	for {
		q, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		p.Requests++
		p.InputTokens += q.InputTokens.Or(0)
		p.OutputTokens += q.OutputTokens.Or(0)
		if q.AtNS.Valid {
			if !timed {
				first = q.AtNS.V
			}
			timed, last = true, q.AtNS.V
		}
	}
	p.SpanNS = last - first
	for _, t := range in.Trailers() {
		p.SHA256 = append(p.SHA256, t.SHA256)
	}
	return p, nil
}
