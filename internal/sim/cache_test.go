package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// plainCache is the obvious version: one list of prefixes as texts, the most
// recent first.
type plainCache struct {
	limit int
	list  []string
}

func (c *plainCache) admit(prompt []int, block int) (hits int) {
	var prefixes []string
	text := ""
	for i, v := range prompt {
		text += strconv.Itoa(v) + " "
		if (i+1)%block == 0 {
			prefixes = append(prefixes, text)
		}
	}
	for hits < len(prefixes) && slices.Contains(c.list, prefixes[hits]) {
		hits++
	}
	if c.limit >= 0 && len(prefixes) > c.limit {
		prefixes = prefixes[:c.limit]
	}
	for i := len(prefixes) - 1; i >= 0; i-- {
		c.list = slices.DeleteFunc(c.list, func(s string) bool { return s == prefixes[i] })
		c.list = append([]string{prefixes[i]}, c.list...)
		if c.limit >= 0 && len(c.list) > c.limit {
			c.list = c.list[:c.limit]
		}
	}
	return hits
}

func TestCacheAgreesWithTheObviousOne(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 5, 17, 60, Unbounded} {
		spec := parse(t, "default,block=3")
		spec.Cache = int64(limit)
		s := New(spec)
		fast, slow := newCache(int64(limit)), &plainCache{limit: limit}
		r := rand.New(rand.NewPCG(uint64(limit+1), 7))
		var old [][]int
		total := 0
		for i := range 1500 {
			var prompt []int
			if len(old) > 0 && r.IntN(3) > 0 { // the beginning of an earlier prompt
				p := old[r.IntN(len(old))]
				prompt = slices.Clone(p[:r.IntN(len(p)+1)])
			}
			for range r.IntN(20) {
				prompt = append(prompt, r.IntN(4))
			}
			old = append(old, prompt)
			if len(old) > 30 {
				old = old[1:]
			}
			raw := []byte(`{"prompt":[`)
			for k, v := range prompt {
				if k > 0 {
					raw = append(raw, ',')
				}
				raw = strconv.AppendInt(raw, int64(v), 10)
			}
			a, err := s.spec.parseAsk(append(raw, "]}"...), false, s.hash)
			if err != nil {
				t.Fatal(err)
			}
			got, want := fast.admit(a.blocks), slow.admit(prompt, 3)
			if limit == 0 {
				want = 0
			}
			if a.tokens != len(prompt) || got != want {
				t.Fatalf("limit %d, prompt %d: %d tokens, %d hits; want %d, %d", limit, i, a.tokens, got, len(prompt), want)
			}
			total += got
			if limit > 0 && fast.size() > limit {
				t.Fatalf("limit %d: %d blocks held", limit, fast.size())
			}
			// A block never stays without the one before it: after a look-up of all old
			// prompts the hits are all that is there of them. (Checked by equality above.)
		}
		if limit > 2 && total == 0 {
			t.Errorf("limit %d: no hit at all, the test says nothing", limit)
		}
	}
}

// With an unbounded cache the hits add up to the same whatever the order: every
// distinct block is missed exactly once.
func TestUnboundedHitsDoNotDependOnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var prompts [][]uint64
	for range 300 {
		var p []uint64
		h := uint64(0)
		for range 1 + r.IntN(12) {
			h = h*4 + 1 + r.Uint64N(3) // chained: the block stands for all before it
			p = append(p, h)
		}
		prompts = append(prompts, p)
	}
	sum := func() (n int) {
		c := newCache(Unbounded)
		for _, p := range prompts {
			n += c.admit(p)
		}
		return n
	}
	want := sum()
	for range 5 {
		r.Shuffle(len(prompts), func(i, k int) { prompts[i], prompts[k] = prompts[k], prompts[i] })
		if got := sum(); got != want {
			t.Errorf("hits = %d in another order; want %d", got, want)
		}
	}
}
