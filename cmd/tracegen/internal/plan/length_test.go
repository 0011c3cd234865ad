package plan

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

func sized(r *schedule.Request, in, out int64) *schedule.Request {
	r.InputTokens, r.OutputTokens = formats.Some(in), formats.Some(out)
	return r
}

func TestDropByLength(t *testing.T) {
	delta := func(r *schedule.Request) *schedule.Request { r.Context = schedule.Delta; return r }
	reqs := []*schedule.Request{
		sized(line(0, 0, "a", 0), 50, 50),
		sized(line(1, 1, "b", 0), 90, 10),
		waits(sized(line(2, 2, "a", 1), 95, 6), 0, 0),
		waits(sized(line(3, 3, "b", 1), 40, 1), 0, 1),
		delta(sized(line(4, 4, "d", 0), 30, 20)),
		delta(waits(sized(line(5, 5, "d", 1), 30, 21), 0, 4)), // 101 tokens at its end
	}
	names := func(reqs []*schedule.Request) (ss []string) {
		for _, r := range reqs {
			ss = append(ss, r.Session)
		}
		return ss
	}
	for _, tt := range []struct {
		o    Options
		want []string
	}{
		{Options{MaxContext: formats.Some(101)}, []string{"a", "b", "a", "b", "d", "d"}},
		{Options{MaxContext: formats.Some(100)}, []string{"b", "b"}},
		{Options{MaxInputDrop: formats.Some(94)}, []string{"b", "b", "d", "d"}},
		{Options{MaxInputDrop: formats.Some(79)}, nil},
		{Options{MaxInputDrop: formats.Some(80)}, []string{"d", "d"}},
		{Options{MaxContext: formats.Some(100), MaxInputDrop: formats.Some(89)}, nil},
	} {
		out, counts := sent(t, reqs, tt.o)
		if !slices.Equal(names(out), tt.want) || int(counts["max_context_dropped"]+counts["max_input_drop_dropped"]) != 6-len(tt.want) {
			t.Errorf("%v: %v, %v; want %v", tt.o.Args(), names(out), counts, tt.want)
		}
		for i, r := range out {
			if r.ID != int64(i) || len(r.After) > 0 && r.After[0] >= r.ID {
				t.Errorf("%v: line %d has id %d after %v", tt.o.Args(), i, r.ID, r.After)
			}
		}
	}
	unknown := []*schedule.Request{{Session: "a", Stream: "0", Context: schedule.Whole}}
	for _, o := range []Options{{MaxContext: formats.Some(1)}, {MaxInputDrop: formats.Some(1)}} {
		if _, _, err := try(unknown, o); err == nil || !strings.Contains(err.Error(), "has no ") {
			t.Errorf("%v: a request of unknown length: %v; want an error", o.Args(), err)
		}
	}
}

func TestLengthLimits(t *testing.T) {
	r := sized(line(0, 0, "a", 0), 64*5+10, 300)
	r.Blocks = &schedule.Blocks{Scope: "t", Add: []schedule.Run{{7, 2}, {20, 4}}}
	short := sized(line(1, 0, "b", 0), 200, 256)
	short.Blocks = &schedule.Blocks{Scope: "t", Add: []schedule.Run{{7, 2}, {30, 2}}}
	reqs := []*schedule.Request{r, short}
	for _, tt := range []struct {
		most int64
		add  []schedule.Run
	}{
		{64*5 + 9, []schedule.Run{{7, 2}, {20, 3}}}, {64 * 5, []schedule.Run{{7, 2}, {20, 3}}}, {64*5 - 1, []schedule.Run{{7, 2}, {20, 2}}},
		{201, []schedule.Run{{7, 2}, {20, 1}}},
	} {
		out, counts := sent(t, reqs, Options{MaxInput: formats.Some(tt.most)})
		if out[0].InputTokens.V != tt.most || !slices.Equal(out[0].Blocks.Add, tt.add) || counts["max_input_cut"] != 1 {
			t.Errorf("--max-input %d: %d tokens, ids %v, counts %v; want ids %v", tt.most, out[0].InputTokens.V, out[0].Blocks.Add, counts, tt.add)
		}
		if out[1].InputTokens.V != 200 || !slices.Equal(out[1].Blocks.Add, short.Blocks.Add) {
			t.Errorf("--max-input %d changes a shorter request", tt.most)
		}
	}
	out, _ := sent(t, reqs, Options{MaxInput: formats.Some(63)})
	if len(out[0].Blocks.Add) != 0 {
		t.Errorf("ids %v for 63 tokens", out[0].Blocks.Add)
	}
	out, counts := sent(t, reqs, Options{MaxOutput: formats.Some(256)})
	if out[0].OutputTokens.V != 256 || out[1].OutputTokens.V != 256 || counts["max_output_cut"] != 1 {
		t.Errorf("--max-output 256: %v", counts)
	}
	r.Body = []byte(`{"prompt":"x"}`)
	_, _, err := try(reqs, Options{MaxInput: formats.Some(10_000)})
	if usage := interface{ Usage() bool }(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "literal prompt") {
		t.Errorf("--max-input on a literal prompt: %v; want a usage error", err)
	}
	if _, _, err := try(reqs, Options{MaxOutput: formats.Some(10)}); err != nil {
		t.Errorf("--max-output on a literal prompt: %v", err)
	}
}

// What stays is what the limits let stay, whole sessions, and sums follow.
func TestLengthsOnRandomSchedules(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		n := int64(1 + r.IntN(1100))
		sessions := map[string]int{}
		for _, q := range reqs {
			sessions[q.Session]++
		}
		for _, o := range []Options{{MaxContext: formats.Some(n)}, {MaxInputDrop: formats.Some(n)}} {
			out, counts := sent(t, reqs, o)
			if _, err := write(out); err != nil {
				t.Errorf("%v: %v", o.Args(), err)
			}
			left := map[string]int{}
			for _, q := range out {
				left[q.Session]++
			}
			for s, n := range left {
				if n != sessions[s] {
					t.Errorf("%v: %d of %d lines of session %s", o.Args(), n, sessions[s], s)
				}
			}
			if counts["after_dropped"] != 0 || int(counts["max_context_sessions"]+counts["max_input_drop_sessions"]) != len(sessions)-len(left) {
				t.Errorf("%v: counts %v with %d of %d sessions", o.Args(), counts, len(left), len(sessions))
			}
		}
		out, counts := sent(t, reqs, Options{MaxInput: formats.Some(n), MaxOutput: formats.Some(n / 10)})
		end, err := write(out)
		if err != nil {
			t.Error(err)
		}
		var in, gen, cut int64
		for i, q := range reqs {
			in += min(q.InputTokens.V, n)
			gen += min(q.OutputTokens.V, n/10)
			if q.InputTokens.V > n {
				cut++
			}
			if out[i].AtNS != q.AtNS || out[i].DelayNS != q.DelayNS {
				t.Errorf("request %d moved", i)
			}
		}
		if end.InputTokens != in || end.OutputTokens != gen || counts["max_input_cut"] != cut {
			t.Errorf("sums %d, %d with %v; want %d, %d and %d cut", end.InputTokens, end.OutputTokens, counts, in, gen, cut)
		}
	})
}

// A cut prompt leaves the ids of the line behind it as they were, though a schedule
// gives them as a part of the prompt before.
func TestMaxInputOfASchedule(t *testing.T) {
	first := sized(line(0, 0, "a", 0), 64*8, 1)
	first.Blocks = &schedule.Blocks{Scope: "t", Add: []schedule.Run{{1, 8}}}
	second := waits(sized(line(1, 1, "a", 1), 64*7, 1), 0, 0)
	second.Blocks = &schedule.Blocks{Scope: "t", Keep: 6, Add: []schedule.Run{{30, 1}}}
	third := waits(sized(line(2, 2, "a", 2), 64*2, 1), 0, 1)
	third.Blocks = &schedule.Blocks{Scope: "t", Keep: 2}
	third.Last = true
	var b bytes.Buffer
	w, err := schedule.NewWriter(&b, schedule.Header{Block: &schedule.Block{Tokens: 64, Last: schedule.Absent}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*schedule.Request{first, second, third} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(schedule.Trailer{Status: schedule.Complete}); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64][][]schedule.Run{
		64 * 3: {{{1, 3}}, {{1, 3}}, {{1, 2}}},
		64 * 7: {{{1, 7}}, {{1, 6}, {30, 1}}, {{1, 2}}},
	} {
		r, err := schedule.NewReader(bytes.NewReader(b.Bytes()), "t")
		if err != nil {
			t.Fatal(err)
		}
		next := (&Pipeline{Block: r.Header().Block, counts: map[string]int64{}}).shortInputs(most, FromSchedule(r, "t"))
		for i := range want {
			q, err := next()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(q.Blocks.Add, want[i]) {
				t.Errorf("--max-input %d: ids of line %d: %v; want %v", most, i, q.Blocks.Add, want[i])
			}
		}
	}
}
