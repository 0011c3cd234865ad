package traces

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats"
)

// recorded is a request of a test: start and duration, −1 when it is not known.
type recorded struct{ start, service int64 }

func lines(requests []recorded, grain int64) *lineage {
	l := &lineage{grain: grain}
	var s stream
	for _, r := range requests {
		service := formats.Int{}
		if r.service >= 0 {
			service = formats.Some(r.service)
		}
		after, heir := l.waits(&s, r.start, false, nil)
		l.add(&s, r.start, service, after, heir)
	}
	return l
}

func TestPredecessors(t *testing.T) {
	for name, c := range map[string]struct {
		requests []recorded
		want     string // of each: what it waits for, and the delay
	}{
		"a chain":                       {[]recorded{{0, 5}, {10, 5}, {30, 5}}, "[] – [0] 5 [1] 15"},
		"ended within the grain":        {[]recorded{{0, 11}, {10, 5}, {30, 5}}, "[] – [0] 0 [1] 15"},
		"overlap, and the next":         {[]recorded{{0, 5}, {10, 9}, {12, 3}, {30, 1}}, "[] – [0] 5 [0] 7 [2 1] 11"},
		"both start at once":            {[]recorded{{0, 5}, {10, 1}, {10, 1}, {30, 1}}, "[] – [0] 5 [0] 5 [2 1] 19"},
		"duration not known":            {[]recorded{{0, -1}, {10, 5}}, "[] – [0] –"},
		"the latest end is known":       {[]recorded{{0, 1}, {5, -1}, {5, 2}, {30, 1}}, "[] – [0] 4 [0] 4 [2 1] 23"},
		"two latest, one not known":     {[]recorded{{0, 1}, {7, -1}, {5, 2}, {30, 1}}, "[] – [0] 6 [0] 4 [2 1] –"},
		"one that outlasts the others":  {[]recorded{{0, 100}, {1, 1}, {5, 1}, {9, 1}, {200, 1}}, "[] – [] – [1] 3 [2] 3 [3 0] 100"},
		"listed against time":           {[]recorded{{50, 1}, {10, 1}, {60, 1}}, "[] – [] – [1 0] 9"},
		"an end at the edge of 64 bits": {[]recorded{{1 << 62, 1 << 62}, {1<<62 + 9, 1}}, "[] – [] –"},
	} {
		l := lines(c.requests, 1)
		var got string
		for _, k := range l.kin {
			delay := "–"
			if d := l.delay(k.after, k.start); d.Valid {
				delay = fmt.Sprint(d.V)
			}
			got += fmt.Sprint(" ", k.after, " ", delay)
		}
		if got[1:] != c.want {
			t.Errorf("%s: %s; want %s", name, got[1:], c.want)
		}
	}
}

// The walk that stops early finds what the definition says.
func TestPredecessorsByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		requests := make([]recorded, 1+rng.IntN(40))
		at := int64(0)
		for i := range requests {
			at += rng.Int64N(8) - 1
			requests[i] = recorded{max(at, 0), rng.Int64N(20) - 1}
		}
		l := lines(requests, 2)
		ancestors := make([]map[int]bool, len(requests))
		for k, r := range requests {
			ancestors[k] = map[int]bool{}
			var ended []int
			for j, p := range requests[:k] {
				if p.start < r.start && p.start+max(p.service, 0) <= r.start+2 {
					ended = append(ended, j)
					for a := range ancestors[j] {
						ancestors[k][a] = true
					}
				}
			}
			var want []int
			for _, j := range slices.Backward(ended) {
				if !ancestors[k][j] {
					want = append(want, j)
				}
			}
			for _, j := range ended {
				ancestors[k][j] = true
			}
			if !slices.Equal(l.kin[k].after, want) {
				t.Fatalf("%v: request %d waits for %v; want %v", requests, k, l.kin[k].after, want)
			}
			if l.kin[k].heir != (len(ancestors[k]) == k) {
				t.Fatalf("%v: request %d: heir = %v with ancestors %v", requests, k, l.kin[k].heir, ancestors[k])
			}
		}
	}
}
