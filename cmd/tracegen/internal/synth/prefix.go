package synth

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"

	"hydrant/formats/schedule"
)

// prefixes is a pool of shared texts. Their ids come first in the scope. A text shares
// its whole blocks; what is left of it counts in the length and has an id of its own in
// each prompt.
type prefixes struct {
	size    int64 // tokens per block
	share   float64
	tokens  []int64
	first   []int64   // id of each, and one more: the ids of all
	popular []float64 // running sums
}

func newPrefixes(p *Prefix, size int64, r *rand.Rand) (prefixes, error) {
	s := prefixes{size: size, share: p.Share, tokens: make([]int64, p.Pool), first: make([]int64, p.Pool+1), popular: make([]float64, p.Pool)}
	total := 0.0
	for i := range s.tokens {
		s.tokens[i] = p.Tokens.Whole(r.Float64())
		if s.tokens[i] > MaxTokens {
			return s, fmt.Errorf("prefix.tokens: drew %d, want at most %d", s.tokens[i], MaxTokens)
		}
		s.first[i+1] = s.first[i] + s.tokens[i]/size
		total += math.Pow(float64(i+1), -p.Zipf)
		s.popular[i] = total
	}
	return s, nil
}

// ids is how many the pool takes.
func (s *prefixes) ids() int64 { return s.first[len(s.first)-1] }

// draw chooses a prefix by popularity, or -1 for none. It takes two numbers in either
// case, so that another share moves no other choice.
func (s *prefixes) draw(r *rand.Rand) int64 {
	u, x := r.Float64(), r.Float64()*s.popular[len(s.popular)-1]
	if u >= s.share {
		return -1
	}
	return int64(min(sort.Search(len(s.popular), func(i int) bool { return s.popular[i] > x }), len(s.popular)-1))
}

func (s *prefixes) blocks(i int64) int64     { return s.tokens[i] / s.size }
func (s *prefixes) run(i int64) schedule.Run { return schedule.Run{s.first[i], s.blocks(i)} }

// draw returns how many leading blocks an earlier prompt has shared with one whose
// length has the rank u.
func (r *Reuse) draw(rng *rand.Rand, u float64) int64 {
	return max(0, share(r.Blocks, u).Whole(rng.Float64()))
}

// age returns how many requests ago the earlier prompt was.
func (r *Reuse) age(rng *rand.Rand, blocks int64) int64 {
	i := min(bits.Len64(uint64(blocks))-1, len(r.Age)-1)
	return max(1, r.Age[i].Whole(rng.Float64()))
}

// maxRecent is how many prompts a later one may begin like. It bounds memory.
const maxRecent = 1 << 13

// recent are the fronts of the latest prompts of a class, a ring.
type recent struct {
	fronts []front
	n      int64 // prompts so far
	blocks int64 // of these prompts
	shared int64 // of these blocks
}

type front struct {
	runs   []schedule.Run
	blocks int64
}

func (p *recent) add(runs []schedule.Run, blocks int64) {
	f := front{runs, blocks}
	if len(p.fronts) < maxRecent {
		p.fronts = append(p.fronts, f)
	} else {
		p.fronts[p.n%maxRecent] = f
	}
	p.n++
}

// lead returns the front of an earlier prompt, the one whose age is nearest to the one
// drawn of those that are long enough: n blocks, or fewer where there are none, for a
// prompt of all blocks of which whole ones can be shared.
//
// With a share to keep, n is drawn towards it by an eighth of what is missing or too
// much so far: by at most half of itself down or all of itself up, and a prompt that
// would share nothing shares all when it is less than that eighth. A single block stays
// single, since it is mostly what all prompts begin with.
func (p *recent) lead(r *Reuse, rng *rand.Rand, n, whole, all int64) []schedule.Run {
	if r.Share > 0 {
		missing := int64(math.Round((r.Share*float64(p.blocks) - float64(p.shared)) / 8))
		switch {
		case n > 1:
			n += min(max(missing, -n/2), n)
		case n == 0 && missing > whole:
			n = whole
		}
	}
	p.blocks += all
	if n = min(n, whole); n == 0 {
		return nil
	}
	f := p.near(r.age(rng, n), n)
	n = min(n, f.blocks)
	p.shared += n
	return leading(f.runs, n)
}

// near finds a prompt of at least n blocks, or the longest.
func (p *recent) near(age, n int64) (best front) {
	held := int64(len(p.fronts))
	age = min(age, max(held, 1))
	for d := int64(0); d < held; d++ {
		for _, a := range [2]int64{age - d, age + d} {
			if a < 1 || a > held {
				continue
			}
			f := p.fronts[(p.n-a)%maxRecent]
			if f.blocks >= n {
				return f
			}
			if f.blocks > best.blocks {
				best = f
			}
		}
	}
	return best
}
