package plan

import (
	"math"
	"math/rand/v2"

	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
	"hydrant/internal/cli"
)

// Retiming gives roots other gaps. Their number and order stay, and without a rate the
// time from the first to the last.
type Retiming struct {
	Process arrivals.Process
	Rate    Ratio // of roots, per second; the zero Ratio keeps the mean rate
}

func (t Retiming) params() map[string]string {
	m := map[string]string{"process": t.Process.String()}
	if t.Rate != (Ratio{}) {
		m["rate"] = t.Rate.String()
	}
	return m
}

func (t Retiming) args() []string {
	args := []string{"--arrivals", t.Process.String()}
	if t.Rate != (Ratio{}) {
		args = append(args, "--rate", t.Rate.String())
	}
	return args
}

const second = 1_000_000_000 // ns

// span returns the time from the first root to the last.
func (t Retiming) span(all *roots) (int64, bool) {
	if t.Rate == (Ratio{}) || all.n < 2 {
		return all.last - all.first, true
	}
	gaps := all.n - 1
	if gaps > math.MaxInt64/second {
		return 0, false
	}
	return t.Rate.Divide(gaps * second)
}

// retime moves roots. The first stays.
func (p *Pipeline) retime(t Retiming, seed int64, next step) step {
	return deferred(func() (step, error) {
		var all roots
		lines, err := p.spool(next, func(r *schedule.Request) error {
			_, err := all.look(r)
			return err
		})
		if err != nil {
			return nil, err
		}
		span, ok := t.span(&all)
		switch {
		case !ok || later(later(all.most, all.first), span) == math.MaxInt64:
			return nil, cli.Usagef("--rate: got %q, which puts requests beyond 292 years", t.Rate)
		case all.n > 1 && span == 0 && t.Rate == (Ratio{}):
			return nil, cli.WithHint(cli.Usagef("--arrivals: %s: all sessions start at one instant, which is no rate to keep", p.Place), "--rate gives one")
		}
		at := arrivals.Spread(func() *rand.Rand { return arrivals.Stream(seed, "arrivals", "roots") }, t.Process, max(all.n-1, 0), span)
		moves := shifts{}
		again, err := lines.read()
		if err != nil {
			return nil, err
		}
		return p.moved(again, func(r *schedule.Request) error {
			return moves.move(r, func(r *schedule.Request) (int64, error) {
				by := all.first + at() - r.AtNS.V
				if by != 0 {
					p.counts["arrivals_moved"]++
				}
				return by, nil
			})
		}), nil
	})
}
