package plan

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

var block = schedule.Block{Tokens: 64, Last: schedule.Partial}

// from yields copies of requests, as a source does.
func from(reqs []*schedule.Request) step {
	i := 0
	return func() (*schedule.Request, error) {
		if i == len(reqs) {
			return nil, io.EOF
		}
		i++
		return reqs[i-1].Clone(), nil
	}
}

// sent is what comes out of a pipeline, with block ids in full, and its counts.
func sent(t testing.TB, reqs []*schedule.Request, o Options) ([]*schedule.Request, map[string]int64) {
	t.Helper()
	out, counts, err := try(reqs, o)
	if err != nil {
		t.Fatalf("%v: %v", o.Args(), err)
	}
	return out, counts
}

func try(reqs []*schedule.Request, o Options, earlier ...schedule.Transform) ([]*schedule.Request, map[string]int64, error) {
	p, err := New(from(reqs), earlier, o)
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	p.Place, p.Block = "test", &block
	var out []*schedule.Request
	var chains schedule.Chains
	for {
		r, err := p.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return out, nil, err
		}
		r = r.Clone()
		runs, err := chains.IDs(r)
		if err != nil {
			return out, nil, err
		}
		if r.Blocks != nil {
			r.Blocks.Keep, r.Blocks.Add = 0, slices.Clone(runs)
		}
		out = append(out, r)
	}
	counts := map[string]int64{}
	for _, c := range p.Counts() {
		if c.N != 0 {
			counts[c.Name] += c.N
		}
	}
	return out, counts, nil
}

const ms, sec = 1_000_000, 1_000_000_000

// line is a request of one stream with a time.
func line(id, at int64, session string, turn int64) *schedule.Request {
	return &schedule.Request{ID: id, AtNS: formats.Some(at), Session: session, Stream: "0", Turn: turn, Context: schedule.Whole,
		InputTokens: formats.Some(100), OutputTokens: formats.Some(10)}
}

// waits makes a request follow another by a delay.
func waits(r *schedule.Request, delay int64, after ...int64) *schedule.Request {
	r.After, r.DelayNS = after, formats.Some(delay)
	return r
}

func took(r *schedule.Request, service int64) *schedule.Request {
	r.Recorded.E2ENS = formats.Some(service)
	return r
}

// chat is a random schedule: sessions that overlap, with one or several turns, some of
// them with two streams, and single requests; times tie often.
func chat(r *rand.Rand) []*schedule.Request {
	type talk struct {
		name  string
		turns int64
		prev  []int64 // ids
		end   int64
		delta bool
		ids   int64
		timed bool
	}
	var reqs []*schedule.Request
	var open []*talk
	at, n := int64(r.IntN(5))*sec, int64(10+r.IntN(60))
	for id := range n {
		if r.IntN(3) > 0 {
			at += int64(r.IntN(4)) * sec / 2
		}
		if r.IntN(30) == 0 {
			at += 100 * sec
		}
		var s *talk
		if len(open) > 0 && r.IntN(2) == 0 {
			s = open[r.IntN(len(open))]
		} else {
			s = &talk{name: fmt.Sprintf("s%d", id), turns: int64(r.IntN(4)), delta: r.IntN(4) == 0, ids: id * 100, timed: r.IntN(4) > 0}
			open = append(open, s)
		}
		q := line(id, at, s.name, int64(len(s.prev)))
		q.InputTokens, q.OutputTokens = formats.Some(int64(1+r.IntN(1000))), formats.Some(int64(r.IntN(100)))
		if s.delta {
			q.Context = schedule.Delta
		}
		if k := q.InputTokens.V / block.Tokens; k > 0 {
			q.Blocks = &schedule.Blocks{Scope: "t", Add: []schedule.Run{{s.ids, k}}}
		}
		if len(s.prev) > 0 {
			last := s.prev[len(s.prev)-1]
			q.After = []int64{last}
			if d := at - s.end; d >= 0 {
				q.DelayNS = formats.Some(d)
			}
			if !s.timed {
				q.AtNS = formats.Int{}
			}
		}
		service := int64(r.IntN(5)) * sec / 2
		took(q, service)
		s.end = max(s.end, at+service)
		s.prev = append(s.prev, id)
		if s.turns--; s.turns < 0 {
			q.Last = true
			open = slices.DeleteFunc(open, func(o *talk) bool { return o == s })
		}
		reqs = append(reqs, q)
	}
	return reqs
}

// write writes requests as a schedule, which checks them; no line may stand behind the
// last one of its session.
func write(reqs []*schedule.Request) (schedule.Trailer, error) {
	w, err := schedule.NewWriter(io.Discard, schedule.Header{Block: &block})
	if err != nil {
		return schedule.Trailer{}, err
	}
	over := map[string]bool{}
	for i, r := range reqs {
		if over[r.Session] {
			return schedule.Trailer{}, fmt.Errorf("line %d stands behind the last one of its session %s", i, r.Session)
		}
		over[r.Session] = r.Last
		if err := w.Write(r); err != nil {
			return schedule.Trailer{}, fmt.Errorf("line %d: %w", i, err)
		}
	}
	return w.Close(schedule.Trailer{})
}

// property checks something on random schedules.
func property(t *testing.T, check func(t *testing.T, r *rand.Rand, reqs []*schedule.Request)) {
	t.Helper()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		reqs := chat(r)
		if _, err := write(reqs); err != nil {
			t.Fatalf("seed %d: the generator's schedule: %v", seed, err)
		}
		check(t, r, reqs)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func text(reqs []*schedule.Request) string {
	var b strings.Builder
	for _, r := range reqs {
		b.Write(schedule.AppendRequest(nil, r))
		b.WriteByte('\n')
	}
	return b.String()
}

func times(reqs []*schedule.Request) (ats []int64) {
	for _, r := range reqs {
		ats = append(ats, r.AtNS.Or(-1))
	}
	return ats
}
