package schedule

import (
	"hash/maphash"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// tally checks each line against those before it and keeps the counts that the
// trailer repeats. Reader and Writer share it, so that nobody can write what
// nobody can read. Memory grows with the sessions that are open, not with lines.
type tally struct {
	block *Block

	requests, sessions, input, output, span, blocks int64

	loose   bool  // hand-edited: references to lines that are gone are dropped
	dropped int64 // such references

	lastAt int64
	ids    idSet
	seeds  [2]maphash.Seed
	open   map[key]session
	scopes map[string]int32
}

// key is a session's name as 128 bits of hash: names can be long, collisions need
// some 10^19 open sessions.
type key [2]uint64

// session is what later lines of a session are checked against.
type session struct {
	main    tail
	streams map[string]tail // streams other than "0"
}

// tail describes the latest line of a stream.
type tail struct {
	ids   int64
	scope int32
}

func newTally(block *Block) *tally {
	return &tally{
		block:  block,
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		open:   map[key]session{},
		scopes: map[string]int32{},
	}
}

// add checks r and counts it. A line that is refused is not counted.
func (t *tally) add(r *Request) *jsonl.Fault {
	if f := t.order(r); f != nil {
		return f
	}
	m, f := t.size(r)
	if f != nil {
		return f
	}
	if f := t.chain(r, m); f != nil {
		return f
	}
	in, out := t.input+r.InputTokens.V, t.output+r.OutputTokens.V
	if in < 0 || out < 0 || t.blocks+m < 0 {
		return &jsonl.Fault{What: "input_tokens", Got: strconv.FormatInt(r.InputTokens.V, 10), Want: "sums of 63 bits"}
	}
	t.input, t.output, t.blocks = in, out, t.blocks+m
	t.requests++
	t.ids.add(r.ID)
	if r.AtNS.Valid {
		t.lastAt = r.AtNS.V
		t.span = r.AtNS.V
	}
	return nil
}

// order checks ids, times and what the line waits for.
func (t *tally) order(r *Request) *jsonl.Fault {
	if t.loose {
		t.drop(r)
	}
	last, any := t.ids.last()
	switch {
	case r.ID < 0:
		return natFault("id", r.ID)
	case any && r.ID <= last:
		return &jsonl.Fault{What: "id", Got: strconv.FormatInt(r.ID, 10), Want: "more than " + strconv.FormatInt(last, 10) + ", the id of the line before"}
	case r.AtNS.Valid && r.AtNS.V < 0:
		return natFault("at_ns", r.AtNS.V)
	case r.AtNS.Valid && r.AtNS.V < t.lastAt:
		return &jsonl.Fault{What: "at_ns", Got: strconv.FormatInt(r.AtNS.V, 10), Want: "at least " + strconv.FormatInt(t.lastAt, 10) + ", the time of a line before"}
	case !r.AtNS.Valid && len(r.After) == 0:
		return &jsonl.Fault{What: "at_ns", Got: "null", Want: "a time on a line that waits for no other"}
	case r.DelayNS.Valid && len(r.After) == 0:
		return &jsonl.Fault{What: "delay_ns", Got: strconv.FormatInt(r.DelayNS.V, 10), Want: "null on a line that waits for no other"}
	case r.DelayNS.Valid && r.DelayNS.V < 0:
		return natFault("delay_ns", r.DelayNS.V)
	}
	for _, id := range r.After {
		if !t.ids.has(id) {
			return &jsonl.Fault{What: "after", Got: strconv.FormatInt(id, 10), Want: "ids of earlier lines"}
		}
	}
	return nil
}

// drop takes out references to lines that are not there. Without the latest of its
// predecessors a line's wait is not known.
func (t *tally) drop(r *Request) {
	n := len(r.After)
	r.After = slices.DeleteFunc(r.After, func(id int64) bool { return !t.ids.has(id) })
	if len(r.After) < n {
		t.dropped += int64(n - len(r.After))
		r.DelayNS = formats.Int{}
	}
}

// size counts the ids of a line and compares them with its length.
func (t *tally) size(r *Request) (m int64, _ *jsonl.Fault) {
	if n := min(r.InputTokens.V, r.OutputTokens.V, r.Turn, r.Recorded.TTFTNS.V, r.Recorded.E2ENS.V, r.Recorded.CachedTokens.V); n < 0 {
		return 0, natFault("length", n)
	}
	b := r.Blocks
	if b == nil {
		return 0, nil
	}
	if t.block == nil {
		return 0, &jsonl.Fault{What: "blocks", Got: "block ids", Want: "null, since the header's block is null"}
	}
	if m = b.Keep; m > MaxIDs {
		return 0, tooMany(m)
	}
	for _, run := range b.Add {
		if m += min(run[1], MaxIDs+1); m > MaxIDs { // run[1] could carry m past 63 bits
			return 0, tooMany(max(m, run[1]))
		}
	}
	most := FullIDs(r.InputTokens.V, t.block)
	if m > most {
		return 0, &jsonl.Fault{What: "blocks", Got: strconv.FormatInt(m, 10) + " ids for input_tokens " + r.InputTokens.String(),
			Want: "at most " + strconv.FormatInt(most, 10)}
	}
	return m, nil
}

// MaxIDs caps the block ids of one prompt: a run of two numbers may claim any count,
// and whoever counts hits walks over all of them. 4 M ids are more than a prompt of
// the longest context in use has with one token per block.
const MaxIDs = 1 << 22

func tooMany(n int64) *jsonl.Fault {
	return &jsonl.Fault{What: "blocks", Got: strconv.FormatInt(n, 10) + " ids", Want: "at most " + strconv.Itoa(MaxIDs)}
}

// FullIDs returns how many block ids a prompt of n tokens has: its full blocks, and
// one more for the rest when the source gives the rest an id.
func FullIDs(n int64, b *Block) int64 {
	if n <= 0 {
		return 0
	}
	if b.Last == Partial {
		return (n-1)/b.Tokens + 1
	}
	return n / b.Tokens
}

// chain checks keep against the line before in the same session and stream.
func (t *tally) chain(r *Request, m int64) *jsonl.Fault {
	if r.Context == Delta && r.Blocks != nil && r.Blocks.Keep != 0 {
		return &jsonl.Fault{What: "blocks.keep", Got: strconv.FormatInt(r.Blocks.Keep, 10), Want: "0 on a line of context delta"}
	}
	k := key{maphash.String(t.seeds[0], r.Session), maphash.String(t.seeds[1], r.Session)}
	s, known := t.open[k]
	now, before := tail{ids: m}, s.main
	if r.Stream != "0" {
		before = s.streams[r.Stream]
	}
	if r.Blocks != nil {
		now.scope = t.scope(r.Blocks.Scope)
		if keep := r.Blocks.Keep; keep > 0 && (keep > before.ids || now.scope != before.scope) {
			return &jsonl.Fault{What: "blocks.keep", Got: strconv.FormatInt(keep, 10),
				Want: "at most " + strconv.FormatInt(before.ids, 10) + ", the ids of the stream's line before in the same scope"}
		}
	}
	if !known {
		t.sessions++
	}
	switch {
	case r.Last:
		delete(t.open, k)
		return nil
	case r.Stream == "0":
		s.main = now
	default:
		if s.streams == nil {
			s.streams = map[string]tail{}
		}
		s.streams[r.Stream] = now
	}
	t.open[k] = s
	return nil
}

// scope numbers the scopes, from 1.
func (t *tally) scope(s string) int32 {
	n, ok := t.scopes[s]
	if !ok {
		n = int32(len(t.scopes) + 1)
		t.scopes[s] = n
	}
	return n
}

func natFault(what string, v int64) *jsonl.Fault {
	return &jsonl.Fault{What: what, Got: strconv.FormatInt(v, 10), Want: "a whole number of at least 0"}
}
