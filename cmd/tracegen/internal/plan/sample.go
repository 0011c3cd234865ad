package plan

import (
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
)

// sample keeps each session with probability share, by a hash of its name, as a whole.
// So a smaller sample is part of a larger one with the same seed.
func (p *Pipeline) sample(share Ratio, seed int64, next step) step {
	below, all := share.of64()
	var sessions roster
	name, kept := "", false
	return p.filter(next, func(r *schedule.Request) (bool, error) {
		if name != r.Session {
			name, kept = r.Session, all || arrivals.Uniform(seed, "sample", r.Session) < below
		}
		if _, first := sessions.of(r); first && !kept {
			p.counts["sample_sessions"]++
		}
		if !kept {
			p.counts["sample_dropped"]++
		}
		return kept, nil
	})
}
