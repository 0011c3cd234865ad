package traces

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// anyRequest is a request with any of its fields.
func anyRequest(r *rand.Rand) *schedule.Request {
	number := func() int64 { return r.Int64() >> r.IntN(64) }
	maybe := func() formats.Int {
		if r.IntN(2) == 0 {
			return formats.Int{}
		}
		return formats.Some(number())
	}
	name := func() string {
		if r.IntN(3) == 0 {
			return fmt.Sprint("name ", r.IntN(5000))
		}
		return []string{"", "0", "a\"é"}[r.IntN(3)]
	}
	q := &schedule.Request{ID: number(), AtNS: maybe(), DelayNS: maybe(), Session: name(), Stream: name(), Turn: number(), Context: []string{schedule.Whole, schedule.Delta}[r.IntN(2)],
		InputTokens: maybe(), OutputTokens: maybe(), Model: name(), Class: name(), Priority: maybe(),
		Recorded: schedule.Recorded{TTFTNS: maybe(), E2ENS: maybe(), CachedTokens: maybe()}}
	for range r.IntN(3) {
		q.After = append(q.After, number())
	}
	if r.IntN(2) == 0 {
		q.Blocks = &schedule.Blocks{Scope: name(), Add: []schedule.Run{}, System: r.Int64N(3)}
		for range r.IntN(4) {
			q.Blocks.Add = append(q.Blocks.Add, schedule.Run{[]int64{r.Int64(), 0, math.MaxInt64}[r.IntN(3)], 1 + r.Int64N(9)})
		}
	}
	if r.IntN(3) == 0 {
		q.Body, q.Extra = json.RawMessage(`{"prompt":"`+name()+`"}`), json.RawMessage(`{}`)
	}
	return q
}

// A request comes out of a record as it went in, and a record that is not whole is an error.
func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var c packer
	var all [][]byte
	var want []*schedule.Request
	for range 4000 {
		q := anyRequest(r)
		all, want = append(all, c.append(nil, q)), append(want, q)
	}
	for _, i := range r.Perm(len(all)) {
		got, err := c.decode(all[i])
		if err != nil {
			t.Fatalf("record of %+v: %v", want[i], err)
		}
		if diff := cmp.Diff(want[i], got.Clone()); diff != "" {
			t.Fatalf("request (-want +got):\n%s", diff)
		}
		if _, err := c.decode(all[i][:r.IntN(len(all[i]))]); err == nil {
			t.Fatal("a record cut short is decoded")
		}
		if _, err := c.decode(append(slices.Clone(all[i]), 0)); err == nil {
			t.Fatal("a record with a byte behind it is decoded")
		}
	}
}

// What two records say besides the id is equal when the requests are.
func TestPackedBody(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var c packer
	body := func(q *schedule.Request) string {
		b := c.append(nil, q)
		if _, err := c.decode(b); err != nil {
			t.Fatal(err)
		}
		return string(c.body(b))
	}
	for range 2000 {
		q := anyRequest(r)
		one := body(q)
		q.ID++
		if body(q) != one {
			t.Fatalf("the id is in the body of %+v", q)
		}
		q.Turn++
		if body(q) == one {
			t.Fatalf("the turn is not in the body of %+v", q)
		}
	}
}
