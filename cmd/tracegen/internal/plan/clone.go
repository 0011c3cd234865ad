package plan

import (
	"io"
	"math"
	"math/bits"
	"strconv"

	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
	"hydrant/internal/cli"
)

// Cloning makes Copies of each session, itself counted.
type Cloning struct {
	Copies int64
	Share  bool // copies keep the scope of their ids, so that everything hits
}

func (c Cloning) params() map[string]string {
	m := map[string]string{"copies": strconv.FormatInt(c.Copies, 10)}
	if c.Share {
		m["share"] = "true"
	}
	return m
}

func (c Cloning) args() []string {
	args := []string{"--clone", strconv.FormatInt(c.Copies, 10)}
	if c.Share {
		args = append(args, "--clone-share")
	}
	return args
}

// clone adds the copies. Copy k of session s is s~k, its scopes end in ~k too, and it
// starts later than s by a uniform share of the mean gap between roots. Where names
// already end in ~ and a number, k counts on from the greatest, so that no two sessions
// meet.
func (p *Pipeline) clone(o Cloning, seed int64, next step) step {
	return deferred(func() (step, error) {
		if o.Share && p.Block == nil {
			return nil, cli.Usagef("--clone-share: has no effect: %s has no block ids", p.Place)
		}
		var all roots
		used := int64(0)
		lines, err := p.spool(next, func(r *schedule.Request) error {
			if _, err := all.look(r); err != nil {
				return err
			}
			used = max(used, suffixOf(r.Session, '~'))
			if r.Blocks != nil {
				used = max(used, suffixOf(r.Blocks.Scope, '~'))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		gap := int64(0)
		if all.n > 1 {
			gap = (all.last - all.first) / (all.n - 1)
		}
		if later(all.most, gap) == math.MaxInt64 {
			return nil, cli.Usagef("--clone: %s: puts requests beyond 292 years", p.Place)
		}
		again, err := lines.read()
		if err != nil {
			return nil, err
		}
		sorted := p.newByTime()
		var after []int64
		for {
			r, err := again()
			if err == io.EOF {
				return sorted.ordered()
			}
			if err != nil {
				return nil, err
			}
			for c := range o.Copies {
				q := *r
				q.ID = r.ID*o.Copies + c
				after = after[:0]
				for _, id := range r.After {
					after = append(after, id*o.Copies+c)
				}
				q.After = after
				if c > 0 {
					p.counts["clone_added"]++
					k := used + c
					if q.AtNS.Valid {
						share, _ := bits.Mul64(arrivals.Uniform(seed, "clone", r.Session, arrivals.Int(k)), uint64(gap))
						q.AtNS.V += int64(share)
					}
					suffix := "~" + strconv.FormatInt(k, 10)
					q.Session += suffix
					if q.Blocks != nil && !o.Share {
						b := *q.Blocks
						b.Scope += suffix
						q.Blocks = &b
					}
				}
				if err := sorted.add(&q); err != nil {
					return nil, err
				}
			}
		}
	})
}

// suffixOf returns the number behind the last mark in a name, 0 when it does not end in
// one. Numbers beyond 18 digits are not met: no suffix grows to them.
func suffixOf(name string, mark byte) int64 {
	n, unit := int64(0), int64(1)
	for i := len(name) - 1; i >= 0; i-- {
		switch c := name[i]; {
		case c == mark:
			return n
		case c < '0' || c > '9' || unit > 1e17:
			return 0
		default:
			n += int64(c-'0') * unit
			unit *= 10
		}
	}
	return 0
}
