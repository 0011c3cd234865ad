package analyze

import (
	"io"
	"math/rand/v2"
	"slices"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// A second implementation of the figures of reuse: lists and maps of single ids, the
// obvious way, slowly.

// id is a block id with its scope.
type id struct {
	scope string
	n     int64
}

// flat lists the ids of a request.
func flat(r *schedule.Request) (all []id) {
	if r.Blocks == nil {
		return nil
	}
	for _, run := range r.Blocks.Add {
		for j := range run[1] {
			all = append(all, id{r.Blocks.Scope, run[0] + j})
		}
	}
	return all
}

// prefix is how many leading ids are in a cache.
func prefix(all []id, has func(id) bool) int64 {
	for i, x := range all {
		if !has(x) {
			return int64(i)
		}
	}
	return int64(len(all))
}

// sum adds up what was found.
func sum(reqs []*schedule.Request, b schedule.Block, found func(i int, r *schedule.Request, all []id) int64) (t tally) {
	for i, r := range reqs {
		all := flat(r)
		n := found(i, r, all)
		t.blocks += n
		t.tokens += min(n*b.Tokens, r.InputTokens.V)
		if n > 0 && n == int64(len(all)) {
			t.wholly++
		}
	}
	return t
}

// naiveInfinite keeps a set of ids for each name that split gives.
func naiveInfinite(reqs []*schedule.Request, b schedule.Block, split func(*schedule.Request) string) tally {
	seen := map[string]map[id]bool{}
	return sum(reqs, b, func(_ int, r *schedule.Request, all []id) int64 {
		set := seen[split(r)]
		if set == nil {
			set = map[id]bool{}
			seen[split(r)] = set
		}
		n := prefix(all, func(x id) bool { return set[x] })
		for _, x := range all {
			set[x] = true
		}
		return n
	})
}

func together(*schedule.Request) string { return "" }

func apart(r *schedule.Request) string {
	if r.Stream == mainStream {
		return ""
	}
	return r.Session + " " + r.Stream
}

// naiveLRU keeps a list of ids, the latest in front.
func naiveLRU(reqs []*schedule.Request, b schedule.Block, blocks int) tally {
	var list []id
	return sum(reqs, b, func(_ int, _ *schedule.Request, all []id) int64 {
		n := prefix(all, func(x id) bool { return slices.Contains(list, x) })
		for _, x := range slices.Backward(all) {
			if i := slices.Index(list, x); i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
			list = slices.Insert(list, 0, x)
			if len(list) > blocks {
				list = list[:blocks]
			}
		}
		return n
	})
}

// naiveChain counts ids that follow another id than at first.
func naiveChain(reqs []*schedule.Request) (breaks int64) {
	first := map[id]id{}
	for _, r := range reqs {
		before := id{n: noID}
		for _, x := range flat(r) {
			if was, ok := first[x]; !ok {
				first[x] = before
			} else if was != before {
				breaks++
			}
			before = x
		}
	}
	return breaks
}

// naiveUses counts ids, those used at least twice and their uses.
func naiveUses(reqs []*schedule.Request) (distinct, reused, uses int64) {
	n := map[id]int64{}
	for _, r := range reqs {
		for _, x := range flat(r) {
			n[x]++
		}
	}
	for _, k := range n {
		if distinct++; k > 1 {
			reused++
			uses += k
		}
	}
	return distinct, reused, uses
}

// joined makes runs of ids.
func joined(ids []int64) (runs []schedule.Run) {
	for _, n := range ids {
		if k := len(runs); k > 0 && runs[k-1][0]+runs[k-1][1] == n {
			runs[k-1][1]++
		} else {
			runs = append(runs, schedule.Run{n, 1})
		}
	}
	return runs
}

// workload draws requests: prompts that grow, share prefixes or follow no order at all,
// in several scopes, sessions and streams, some without ids. In a tree every id keeps
// the id before it.
func drawn(rng *rand.Rand, b schedule.Block, n int, tree bool) (reqs []*schedule.Request) {
	next := int64(0)
	type prompt struct {
		scope string
		ids   []int64
	}
	var prompts []prompt
	at := int64(0)
	for i := range n {
		p := prompt{scope: []string{"a", "b"}[rng.IntN(2)]}
		if len(prompts) > 0 && rng.IntN(4) > 0 {
			from := prompts[rng.IntN(len(prompts))]
			p.scope, p.ids = from.scope, slices.Clone(from.ids[:rng.IntN(len(from.ids)+1)])
		}
		for range rng.IntN(70) {
			switch {
			case !tree && rng.IntN(10) == 0 && next > 0:
				p.ids = append(p.ids, rng.Int64N(next))
			case rng.IntN(15) == 0:
				next += rng.Int64N(200) // a hole
				fallthrough
			default:
				p.ids = append(p.ids, next)
				next++
			}
		}
		prompts = append(prompts, p)
		at += rng.Int64N(3e9)
		r := &schedule.Request{ID: int64(i), AtNS: formats.Some(at), Session: string(rune('A' + rng.IntN(3))), Stream: []string{"0", "0", "x", "y"}[rng.IntN(4)], Context: schedule.Whole, Last: i == n-1}
		length := int64(len(p.ids)) * b.Tokens
		switch {
		case rng.IntN(20) == 0:
			r.InputTokens = formats.Some(rng.Int64N(100))
			reqs = append(reqs, r)
			continue
		case b.Last == schedule.Partial && length > 0:
			length -= rng.Int64N(b.Tokens)
		case b.Last == schedule.Absent:
			length += rng.Int64N(b.Tokens)
		}
		r.InputTokens = formats.Some(length)
		r.Blocks = &schedule.Blocks{Scope: p.scope, Add: joined(p.ids)}
		reqs = append(reqs, r)
	}
	return reqs
}

// list yields requests.
func stream(reqs []*schedule.Request) func() (*schedule.Request, error) {
	return func() (*schedule.Request, error) {
		if len(reqs) == 0 {
			return nil, io.EOF
		}
		r := reqs[0]
		reqs = reqs[1:]
		return r, nil
	}
}
