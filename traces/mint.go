package traces

import (
	"hydrant/formats"
	"hydrant/formats/schedule"
)

// minter gives block ids to prompts of which only the length is known: a prompt at least
// as long as the one before it in its session begins with it, any other shares nothing.
// Ids are numbered from 0 and stand for full blocks. A nil minter gives none.
type minter struct {
	size   int64 // tokens of a block
	scope  string
	fresh  int64 // the next id
	blocks schedule.Blocks
}

func newMinter(size int64, scope string) *minter { return &minter{size: size, scope: scope} }

// minted is the latest prompt of a session that had a length.
type minted struct {
	tokens int64
	runs   []schedule.Run
}

// fits reports whether a prompt of n tokens has no more ids than a schedule takes.
func (m *minter) fits(n int64) bool { return m == nil || n/m.size <= schedule.MaxIDs }

// next returns the ids of the next prompt of a session, valid until the next call: nil
// where it has none.
func (m *minter) next(p *minted, input formats.Int) *schedule.Blocks {
	if m == nil || !input.Valid {
		return nil
	}
	have := p.tokens / m.size
	if input.V < p.tokens {
		have, p.runs = 0, p.runs[:0]
	}
	p.tokens = input.V
	if n := input.V/m.size - have; n > 0 {
		p.runs = appendRun(p.runs, schedule.Run{m.fresh, n})
		m.fresh += n
	}
	if len(p.runs) == 0 {
		return nil
	}
	m.blocks = schedule.Blocks{Scope: m.scope, Add: p.runs}
	return &m.blocks
}

// appendRun appends a run of ids, to the last one where it continues it.
func appendRun(runs []schedule.Run, r schedule.Run) []schedule.Run {
	if n := len(runs); n > 0 && runs[n-1][0]+runs[n-1][1] == r[0] {
		runs[n-1][1] += r[1]
		return runs
	}
	return append(runs, r)
}
