package fold

import "hydrant/formats/run"

// Fluidity holds the deadlines of the fluidity index. A request misses a deadline when a
// token comes later than the reader of a steady stream would wait; a token that is early
// lends the time it saved to those after it. The index is the share of deadlines that were
// kept. The rule is that of Etalon's code (project-etalon/etalon, metric_utils.py).
type Fluidity struct {
	FirstNS    int64 // for the first token
	PerInputNS int64 // added to it for each input token
	GapNS      int64 // for each later token; positive
}

// fluidityUnit is what an index of 1 is stored as.
const fluidityUnit = 1_000_000

// fluid is the index in millionths.
func (x *frame) fluid() *column { return x.orNull(cFluid, x.col(cFluidity)) }

// index is the index of one row in millionths, −1 when its tokens have no times. A chunk
// of k tokens is one gap and k − 1 gaps of 0; where the server does not count them a chunk
// is one token.
func (l *Fluidity) index(ttft, input, events int64, q *run.Request) int64 {
	if ttft == null || events == null || events != int64(len(q.ChunkGapUS))+1 || l.PerInputNS > 0 && input == null {
		return -1
	}
	first := l.FirstNS + l.PerInputNS*max(0, either(input, 0))
	if first <= 0 {
		return -1
	}
	counted := len(q.ChunkTokens) == len(q.ChunkGapUS)+1
	for _, n := range q.ChunkTokens {
		counted = counted && n.Valid
	}
	var missed, total, slack int64
	late := func(n int64) {
		missed += n
		total += n
	}
	if ttft <= first {
		total++
		slack = first - ttft
	} else {
		late(1 + (ttft-first)/l.GapNS)
	}
	// A gap of 0 is always in time and lends a whole deadline.
	more := func(tokens int64) {
		if tokens > 1 {
			total += tokens - 1
			slack += (tokens - 1) * l.GapNS
		}
	}
	if counted {
		more(q.ChunkTokens[0].V)
	}
	var waited int64 // a chunk that brought no token adds its gap to the next
	for i, us := range q.ChunkGapUS {
		if waited += 1000 * us; counted && q.ChunkTokens[i+1].V == 0 {
			continue
		}
		if waited <= l.GapNS+slack {
			total++
			slack += l.GapNS - waited
		} else {
			late((waited - slack) / l.GapNS)
			slack = 0
		}
		if waited = 0; counted {
			more(q.ChunkTokens[i+1].V)
		}
	}
	return roundDiv(total-missed, fluidityUnit, total)
}
