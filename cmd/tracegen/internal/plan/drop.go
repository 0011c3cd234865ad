package plan

import (
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// tooLong is what a line has to be under for its session to stay.
type tooLong struct {
	flag  string // and its name in the header
	count string // of the trailer
	most  int64
	// of returns the length that is held to most; before are the tokens in front of a
	// line of context delta.
	of func(r *schedule.Request, before int64) (formats.Int, string)
}

func contextLimit(most int64) tooLong {
	return tooLong{"max-context", "max_context", most, func(r *schedule.Request, before int64) (formats.Int, string) {
		if !r.OutputTokens.Valid {
			return r.OutputTokens, "output_tokens"
		}
		return formats.Int{V: later(later(before, r.InputTokens.V), r.OutputTokens.V), Valid: r.InputTokens.Valid}, "input_tokens"
	}}
}

func inputLimit(most int64) tooLong {
	return tooLong{"max-input-drop", "max_input_drop", most, func(r *schedule.Request, before int64) (formats.Int, string) {
		return formats.Int{V: later(before, r.InputTokens.V), Valid: r.InputTokens.Valid}, "input_tokens"
	}}
}

// drop leaves out each session that has a line above the limit, as a whole, so that
// nothing waits for what is gone. It reads everything before it lets the first request
// pass; what it keeps meanwhile is a bit for each session.
func (p *Pipeline) drop(limit tooLong, next step) step {
	return deferred(func() (step, error) {
		var sessions roster
		var long marks
		var deltas history
		all, err := p.spool(next, func(r *schedule.Request) error {
			number, _ := sessions.of(r)
			length, key := limit.of(r, deltas.before(r))
			if !length.Valid {
				return cli.Usagef("--%s: %s: request %d has no %s", limit.flag, p.Place, r.ID, key)
			}
			if length.V > limit.most && !long.has(number) {
				long.add(number)
				p.counts[limit.count+"_sessions"]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		again, err := all.read()
		if err != nil {
			return nil, err
		}
		sessions = roster{}
		return p.filter(again, func(r *schedule.Request) (bool, error) {
			number, _ := sessions.of(r)
			if long.has(number) {
				p.counts[limit.count+"_dropped"]++
				return false, nil
			}
			return true, nil
		}), nil
	})
}

// filter lets pass what keep says, numbered from 0 again.
func (p *Pipeline) filter(next step, keep func(*schedule.Request) (bool, error)) step {
	left := p.newThin()
	return func() (*schedule.Request, error) {
		for {
			r, err := next()
			if err != nil {
				return nil, err
			}
			switch ok, err := keep(r); {
			case err != nil:
				return nil, err
			case ok:
				return r, left.keep(r)
			}
		}
	}
}

// history is how many tokens the streams of deltas have gathered, those of open
// sessions.
type history struct{ tokens map[[2]string]int64 }

// before returns the tokens that stand in front of a line: all of its stream so far,
// and the replies to them, when it is a delta.
func (h *history) before(r *schedule.Request) int64 {
	if r.Context != schedule.Delta {
		return 0
	}
	k := [2]string{r.Session, r.Stream}
	n := h.tokens[k]
	if r.Last {
		delete(h.tokens, k)
		return n
	}
	if h.tokens == nil {
		h.tokens = map[[2]string]int64{}
	}
	h.tokens[k] = later(later(n, r.InputTokens.V), r.OutputTokens.V)
	return n
}
