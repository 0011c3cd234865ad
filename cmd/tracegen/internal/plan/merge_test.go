package plan

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats/schedule"
)

func merged(t testing.TB, shared bool, o Options, parts ...[]*schedule.Request) ([]*schedule.Request, map[string]int64) {
	t.Helper()
	var sources []Part
	for _, reqs := range parts {
		sources = append(sources, from(reqs))
	}
	p, err := NewMerged(sources, shared, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Place, p.Block = "test", &block
	var out []*schedule.Request
	for {
		r, err := p.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Clone())
	}
	counts := map[string]int64{}
	for _, c := range p.Counts() {
		counts[c.Name] += c.N
	}
	return out, counts
}

func scoped(r *schedule.Request, scope string) *schedule.Request {
	r.Blocks = &schedule.Blocks{Scope: scope, Add: []schedule.Run{{1, 1}}}
	return r
}

func TestMergeNames(t *testing.T) {
	last := func(r *schedule.Request) *schedule.Request { r.Last = true; return r }
	a := []*schedule.Request{scoped(last(line(0, 0, "r1", 0)), "x"), scoped(line(1, 5, "chat", 0), "x")}
	b := []*schedule.Request{scoped(last(line(0, 0, "r1", 0)), "x"), scoped(last(line(1, 3, "talk", 0)), "y")}
	c := []*schedule.Request{scoped(line(0, 1, "chat", 0), "y"), waits(scoped(last(line(1, 9, "chat", 1)), "z"), 2, 0)}
	for _, tt := range []struct {
		name   string
		shared bool
		a      []*schedule.Request
		want   []string
	}{
		{"scopes told apart", false, a, []string{"0 r1 x", "0 r1@2 x@2", "1 chat@3 y@3", "3 talk y", "5 chat x", "9 chat@3 z"}},
		{"scopes shared", true, a, []string{"0 r1 x", "0 r1@2 x", "1 chat@3 y", "3 talk y", "5 chat x", "9 chat@3 z"}},
		{"a name that ends in a number", true, append(slices.Clone(a), scoped(last(line(2, 7, "r9@4", 0)), "x")),
			[]string{"0 r1 x", "0 r1@5 x", "1 chat@6 y", "3 talk y", "5 chat x", "7 r9@4 x", "9 chat@6 z"}},
		{"a part of nothing", true, nil, []string{"0 r1 x", "1 chat y", "3 talk y", "9 chat z"}},
	} {
		out, counts := merged(t, tt.shared, Options{}, tt.a, b, c)
		var got []string
		for i, r := range out {
			got = append(got, fmt.Sprint(r.AtNS.V, " ", r.Session, " ", r.Blocks.Scope))
			if r.ID != int64(i) || r.Turn > 0 && !slices.Equal(r.After, []int64{int64(slices.IndexFunc(out, func(q *schedule.Request) bool { return q.Session == r.Session }))}) {
				t.Errorf("%s: line %d has id %d, after %v", tt.name, i, r.ID, r.After)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
		if renamed := int64(2); tt.a != nil && counts["merge_renamed"] != renamed {
			t.Errorf("%s: %v; want %d renamed", tt.name, counts, renamed)
		}
	}
}

// Nothing is lost, each part keeps its own order, and what comes out is a schedule.
func TestMergeOnRandomSchedules(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, first []*schedule.Request) {
		parts := [][]*schedule.Request{first, chat(r), chat(r)}
		out, _ := merged(t, r.IntN(2) == 0, Options{}, parts...)
		end, err := write(out)
		if err != nil {
			t.Error(err)
			return
		}
		var requests, sessions, input int64
		for _, reqs := range parts {
			one, _ := write(reqs)
			requests, sessions, input = requests+one.Requests, sessions+one.Sessions, input+one.InputTokens
		}
		if end.Requests != requests || end.Sessions != sessions || end.InputTokens != input {
			t.Errorf("%d requests, %d sessions, %d tokens; want %d, %d, %d", end.Requests, end.Sessions, end.InputTokens, requests, sessions, input)
		}
		// What a window takes of the whole is what it takes of the parts.
		w := &Window{From: out[len(out)/2].AtNS}
		if w.From.V == 0 {
			return
		}
		late, _ := merged(t, true, Options{Window: w}, parts...)
		n := 0
		for _, reqs := range parts {
			one, _ := sent(t, reqs, Options{Window: w})
			n += len(one)
		}
		if len(late) != n {
			t.Errorf("%d requests in the window of the whole; want %d", len(late), n)
		}
	})
}
