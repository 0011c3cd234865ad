package schedule

import (
	"math/rand/v2"
	"testing"
)

// A set says of every id what a map says, however the ids lie.
func TestBlockSet(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	for name, draw := range map[string]func() int64{
		"from 0 on":         func() int64 { return r.Int64N(3000) },
		"far from 0":        func() int64 { return 1<<40 + r.Int64N(3000) },
		"apart":             func() int64 { return r.Int64N(1 << 62) },
		"here and there":    func() int64 { return r.Int64N(1<<r.IntN(62) + 1) },
		"pages":             func() int64 { return r.Int64N(64 * pageWords * 5) },
		"around the border": func() int64 { return r.Int64N(64*20) + r.Int64N(2)*r.Int64N(64*400) },
	} {
		var s BlockSet
		all := map[int64]bool{}
		for range 4000 {
			run := Run{draw(), 1 + r.Int64N(200)}
			lead, fresh := int64(0), int64(0)
			for id := run[0]; id < run[0]+run[1] && all[id]; id++ {
				lead++
			}
			if got := s.Leading(run); got != lead {
				t.Fatalf("%s: Leading(%v) = %d; want %d", name, run, got, lead)
			}
			for id := run[0]; id < run[0]+run[1]; id++ {
				if !all[id] {
					all[id] = true
					fresh++
				}
			}
			if got := s.Insert(run); got != fresh {
				t.Fatalf("%s: Insert(%v) = %d; want %d", name, run, got, fresh)
			}
			if id := draw(); s.Has(id) != all[id] {
				t.Fatalf("%s: Has(%d) = %t", name, id, s.Has(id))
			}
		}
	}
}

// No order of ids makes the set much larger than what it holds.
func TestBlockSetStaysSmall(t *testing.T) {
	var s BlockSet
	for id := int64(1); id > 0; id *= 2 {
		s.Insert(Run{id, 1})
		words := 0
		for _, p := range s.pages {
			words += len(p)
		}
		if held := s.used + int64(len(s.sparse)); int64(words) > 10*(held+2)+pageWords {
			t.Fatalf("%d words for %d that hold an id", words, held)
		}
	}
	if !s.Has(1<<62) || s.Has(1<<61+1) {
		t.Error("the set does not hold what it was given")
	}
}
