package plan

import (
	"math/bits"

	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
	"hydrant/internal/cli"
	"hydrant/internal/spill"
)

// spread moves each root by a uniform share of the step to the next instant at which a
// root starts, for traces whose arrivals were collected every few seconds. The last
// instant has the step of the one before it.
func (p *Pipeline) spread(seed int64, next step) step {
	return deferred(func() (step, error) {
		var all roots
		var instants spill.Table
		p.closers = append(p.closers, instants.Close)
		n, latest := int64(0), int64(-1)
		lines, err := p.spool(next, func(r *schedule.Request) error {
			if root, err := all.look(r); err != nil || !root || r.AtNS.V == latest {
				return err
			}
			latest = r.AtNS.V
			n++
			return instants.Set(n-1, latest)
		})
		switch {
		case err != nil:
			return nil, err
		case all.n > 0 && n == 1:
			return nil, cli.Usagef("--spread: %s: all sessions start at one instant, which has no next one", p.Place)
		}
		if lines, err := lines.read(); err == nil {
			return p.moved(lines, p.spreading(seed, n, &instants)), nil
		}
		return nil, err
	})
}

// spreading moves lines between n instants.
func (p *Pipeline) spreading(seed, n int64, instants *spill.Table) func(*schedule.Request) error {
	moves := shifts{}
	i, at, step := int64(-1), int64(-1), int64(0)
	return func(r *schedule.Request) error {
		return moves.move(r, func(r *schedule.Request) (int64, error) {
			if r.AtNS.V != at {
				at = r.AtNS.V
				if i++; i+1 < n {
					next, err := instants.Get(i + 1)
					if err != nil {
						return 0, err
					}
					step = next - at
				}
			}
			share, _ := bits.Mul64(arrivals.Uniform(seed, "spread", r.Session), uint64(step))
			if share > 0 {
				p.counts["spread_moved"]++
			}
			return int64(share), nil
		})
	}
}
