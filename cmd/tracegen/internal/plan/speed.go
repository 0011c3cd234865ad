package plan

import (
	"fmt"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// faster divides times and waits by r; recorded times stay.
func (p *Pipeline) faster(r Ratio, next step) step {
	p.speeds = append(p.speeds, r)
	return func() (*schedule.Request, error) {
		q, err := next()
		if err != nil {
			return nil, err
		}
		for _, v := range []*formats.Int{&q.AtNS, &q.DelayNS} {
			slow, ok := r.Divide(v.V)
			if !ok {
				return nil, fmt.Errorf("--speed: got %q, which puts request %d beyond 292 years", r, q.ID)
			}
			v.V = slow
		}
		return q, nil
	}
}
