package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

func ratio(t testing.TB, text string) Ratio {
	t.Helper()
	r, err := ParseRatio(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// twoSessions are those of the Baseten oracle: A starts at 1, 3 and 6 s and runs 800 and
// 700 ms, B at 1.5 and 9 s and runs 600 ms.
func twoSessions() []*schedule.Request {
	return []*schedule.Request{
		took(line(0, 0, "a", 0), 800*ms), took(line(1, 500*ms, "b", 0), 600*ms),
		waits(took(line(2, 2000*ms, "a", 1), 700*ms), 1200*ms, 0), waits(line(3, 5000*ms, "a", 2), 2300*ms, 2),
		waits(line(4, 8000*ms, "b", 1), 6900*ms, 1),
	}
}

func delays(reqs []*schedule.Request) (ds []int64) {
	for _, r := range reqs {
		if len(r.After) > 0 {
			ds = append(ds, r.DelayNS.Or(-1))
		}
	}
	return ds
}

func TestSpeedOfSessions(t *testing.T) {
	out, _ := sent(t, twoSessions(), Options{Speed: ratio(t, "2")})
	if got, want := times(out), []int64{0, 250 * ms, 1000 * ms, 2500 * ms, 4000 * ms}; !slices.Equal(got, want) {
		t.Errorf("at %v; want %v", got, want)
	}
	if got, want := delays(out), []int64{600 * ms, 1150 * ms, 3450 * ms}; !slices.Equal(got, want) {
		t.Errorf("delays %v; want %v", got, want)
	}
	if out[0].Recorded.E2ENS.V != 800*ms {
		t.Error("a recorded time was scaled")
	}
}

func TestIdleCaps(t *testing.T) {
	for _, tt := range []struct {
		name          string
		reqs          []*schedule.Request
		o             Options
		times, delays []int64
		count         string
		cuts          int64
	}{
		{
			"two sessions far apart", []*schedule.Request{line(0, 0, "a", 0), line(1, 200*sec, "b", 0)},
			Options{GapCap: formats.Some(30 * sec)}, []int64{0, 30 * sec}, nil, "gap_cap_cuts", 1,
		},
		{
			"the service time is no silence", []*schedule.Request{took(line(0, 0, "a", 0), 120*sec), waits(line(1, 150*sec, "a", 1), 30*sec, 0)},
			Options{GapCap: formats.Some(30 * sec)}, []int64{0, 150 * sec}, []int64{30 * sec}, "gap_cap_cuts", 0,
		},
		{
			"the cap is in replay time", []*schedule.Request{took(line(0, 0, "a", 0), 0), waits(line(1, 6000*sec, "a", 1), 6000*sec, 0)},
			Options{GapCap: formats.Some(60 * sec), Speed: Ratio{10, 1}}, []int64{0, 60 * sec}, []int64{60 * sec}, "gap_cap_cuts", 1,
		},
		{
			"and so is the service time", []*schedule.Request{took(line(0, 0, "a", 0), 100*sec), waits(line(1, 200*sec, "a", 1), 100*sec, 0)},
			Options{GapCap: formats.Some(4 * sec), Speed: Ratio{10, 1}}, []int64{0, 14 * sec}, []int64{4 * sec}, "gap_cap_cuts", 1,
		},
		{
			"a short silence stays", []*schedule.Request{took(line(0, 5*sec, "a", 0), sec), waits(line(1, 10*sec, "a", 1), 4*sec, 0)},
			Options{GapCap: formats.Some(4 * sec)}, []int64{5 * sec, 10 * sec}, []int64{4 * sec}, "gap_cap_cuts", 0,
		},
		{
			"another session runs on", []*schedule.Request{took(line(0, 0, "a", 0), sec), took(line(1, 0, "b", 0), 50*sec), waits(line(2, 60*sec, "a", 1), 59*sec, 0)},
			Options{GapCap: formats.Some(4 * sec)}, []int64{0, 0, 54 * sec}, []int64{53 * sec}, "gap_cap_cuts", 1,
		},
		{
			"each session by itself", []*schedule.Request{took(line(0, 0, "a", 0), sec), took(line(1, 0, "b", 0), 50*sec), waits(line(2, 60*sec, "a", 1), 59*sec, 0), waits(line(3, 60*sec, "b", 1), 10*sec, 1)},
			Options{ThinkCap: formats.Some(4 * sec)}, []int64{0, 0, 5 * sec, 54 * sec}, []int64{4 * sec, 4 * sec}, "think_cap_cuts", 2,
		},
		{
			"sessions move against each other", []*schedule.Request{line(0, 0, "a", 0), line(1, 10*sec, "b", 0), waits(line(2, 100*sec, "a", 1), 100*sec, 0), line(3, 101*sec, "a", 2)},
			Options{ThinkCap: formats.Some(4 * sec)}, []int64{0, 4 * sec, 5 * sec, 10 * sec}, []int64{4 * sec}, "think_cap_cuts", 1,
		},
		{
			"without a time the wait is the silence", []*schedule.Request{line(0, 0, "a", 0), waits(&schedule.Request{ID: 1, Session: "a", Stream: "0", Turn: 1, Context: schedule.Whole}, 90*sec, 0), waits(&schedule.Request{ID: 2, Session: "a", Stream: "0", Turn: 2, Context: schedule.Whole}, 3*sec, 1)},
			Options{ThinkCap: formats.Some(60 * sec)}, []int64{0, -1, -1}, []int64{60 * sec, 3 * sec}, "think_cap_delays", 1,
		},
		{
			"unknown stays unknown", []*schedule.Request{line(0, 0, "a", 0), {ID: 1, AtNS: formats.Some(90 * sec), After: []int64{0}, Session: "a", Stream: "0", Turn: 1, Context: schedule.Whole}},
			Options{ThinkCap: formats.Some(60 * sec)}, []int64{0, 60 * sec}, []int64{-1}, "think_cap_cuts", 1,
		},
	} {
		out, counts := sent(t, tt.reqs, tt.o)
		if !slices.Equal(times(out), tt.times) || !slices.Equal(delays(out), tt.delays) || counts[tt.count] != tt.cuts {
			t.Errorf("%s: at %v, delays %v, counts %v; want %v, %v, %d %s", tt.name, times(out), delays(out), counts, tt.times, tt.delays, tt.cuts, tt.count)
		}
	}
}

// An earlier speed-up, of which only the header tells, makes recorded times shorter.
func TestIdleCapKnowsEarlierSpeed(t *testing.T) {
	p, err := New(from([]*schedule.Request{took(line(0, 0, "a", 0), 100*sec), waits(line(1, 20*sec, "a", 1), 10*sec, 0)}),
		[]schedule.Transform{{Name: "speed", Params: map[string]string{"factor": "5"}}, {Name: "speed", Params: map[string]string{"factor": "2"}}}, Options{GapCap: formats.Some(4 * sec)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Next()
	r, err := p.Next()
	if err != nil || r.AtNS.V != 14*sec || r.DelayNS.V != 4*sec {
		t.Errorf("second request = %+v, %v; want at 14 s, 4 s after the first ended", r, err)
	}
	for _, params := range []map[string]string{nil, {"factor": "2", "input": "1"}} {
		if _, err := New(nil, []schedule.Transform{{Name: "speed", Params: params}}, Options{GapCap: formats.Some(1)}); err == nil {
			t.Errorf("a header with a speed-up %v passes", params)
		}
	}
}

// A wait that is capped moves the last line of a session before another one, which has no
// mark: a reader may not forget the session too early.
func TestLastLineMoves(t *testing.T) {
	reqs := []*schedule.Request{line(0, 0, "a", 0), took(line(1, 1*sec, "a", 1), 49*sec), waits(line(2, 50*sec, "a", 2), 0, 1), waits(line(3, 0, "a", 3), 90*sec, 0)}
	reqs[3].AtNS, reqs[3].Last, reqs[3].Stream = formats.Int{}, true, "b"
	out, _ := sent(t, reqs, Options{ThinkCap: formats.Some(10 * sec)})
	if out[1].Turn != 1 || out[2].Turn != 3 || out[2].Last || out[3].Turn != 2 {
		t.Errorf("lines\n%s\nwant turns 0, 1, 3, 2 and no last line", text(out))
	}
}

// Many silences lie on disk, and waits reach back over all of them.
func TestManyCuts(t *testing.T) {
	var s silence
	defer s.cuts.close()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 5 * cutsInMemory
	var starts, moved []int64
	at, to := int64(0), int64(0)
	for i := range n {
		if i > 0 {
			step := int64(1 + r.IntN(10)) // of which nothing is left but the second in which the request runs
			at, to = at+1+step, to+1
		}
		starts, moved = append(starts, at), append(moved, to)
		if shorter, err := s.start(at, 1); err != nil || shorter != (i > 0) {
			t.Fatalf("start %d: %v, %v", i, shorter, err)
		}
		for range 3 {
			k := r.IntN(i + 1)
			if got, err := s.moved(starts[k]); err != nil || got != moved[k] {
				t.Fatalf("after %d starts: %d moved to %d, %v; want %d", i+1, starts[k], got, err, moved[k])
			}
			if got, err := s.moved(starts[k] + 1); k < i && (err != nil || got != moved[k]+1) { // where the cut begins
				t.Fatalf("after %d starts: the end of request %d moved to %d, %v; want %d", i+1, k, got, err, moved[k]+1)
			}
		}
	}
	if len(s.cuts.latest) >= cutsInMemory || s.cuts.others == 0 {
		t.Errorf("%d cuts in memory, %d on disk", len(s.cuts.latest), s.cuts.others)
	}
}

// No silence is longer than the cap, none that was shorter has changed, sums and order
// stay.
func TestCapsHoldOnRandomSchedules(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		most := int64(r.IntN(8)) * sec / 2
		before, err := write(reqs)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{GapCap: formats.Some(most)}, {ThinkCap: formats.Some(most)}, {GapCap: formats.Some(most), ThinkCap: formats.Some(most)}} {
			out, _ := sent(t, reqs, o)
			after, err := write(out)
			if err != nil {
				t.Errorf("%v: %v", o.Args(), err)
				return
			}
			if after.Requests != before.Requests || after.InputTokens != before.InputTokens || after.OutputTokens != before.OutputTokens || after.Sessions != before.Sessions {
				t.Errorf("%v: totals %+v; want %+v", o.Args(), after, before)
			}
			busy := map[string]int64{}
			for _, q := range out {
				scope := ""
				if o.ThinkCap.Valid && !o.GapCap.Valid {
					scope = q.Session
				}
				if !q.AtNS.Valid {
					if q.DelayNS.V > most {
						t.Errorf("%v: a wait of %d", o.Args(), q.DelayNS.V)
					}
					continue
				}
				if end, any := busy[scope]; any && q.AtNS.V-end > most {
					t.Errorf("%v: a silence of %d before request %d", o.Args(), q.AtNS.V-end, q.ID)
				}
				busy[scope] = max(busy[scope], q.AtNS.V+q.Recorded.E2ENS.V)
			}
			again, counts := sent(t, out, o)
			if text(again) != text(out) || counts["gap_cap_cuts"]+counts["think_cap_cuts"] != 0 {
				t.Errorf("%v: the second time changes something: %v", o.Args(), counts)
			}
		}
	})
}

// The definition, written down without any streaming: merge the intervals of all lines
// in scope, cut what is longer than the cap, and map both ends of each wait.
func TestCapsByDefinition(t *testing.T) {
	by := func(reqs []*schedule.Request, most int64, speed Ratio) func(int64) int64 {
		type interval struct{ from, to int64 }
		var busy []interval
		for _, r := range reqs {
			if !r.AtNS.Valid {
				continue
			}
			service, _ := speed.Divide(r.Recorded.E2ENS.V)
			busy = append(busy, interval{r.AtNS.V, r.AtNS.V + service})
		}
		slices.SortFunc(busy, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
		var gaps []interval
		for i, end := 0, int64(-1); i < len(busy); i++ {
			if end >= 0 && busy[i].from-end > most {
				gaps = append(gaps, interval{end, busy[i].from - most})
			}
			end = max(end, busy[i].to)
		}
		return func(t int64) (m int64) {
			m = t
			for _, g := range gaps {
				m -= max(0, min(t, g.to)-g.from)
			}
			return m
		}
	}
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		most := int64(r.IntN(6)) * sec / 2
		speed := ratio(t, []string{"1", "2", "0.5", "3"}[r.IntN(4)])
		fast, _ := sent(t, reqs, Options{Speed: speed})
		all := map[string]func(int64) int64{}
		for s, lines := range bySession(fast) {
			all[s] = by(lines, most, speed)
		}
		one := by(fast, most, speed)
		for _, tt := range []struct {
			o  Options
			of func(session string) func(int64) int64
		}{
			{Options{Speed: speed, GapCap: formats.Some(most)}, func(string) func(int64) int64 { return one }},
			{Options{Speed: speed, ThinkCap: formats.Some(most)}, func(s string) func(int64) int64 { return all[s] }},
		} {
			out, _ := sent(t, reqs, tt.o)
			got := bySession(out)
			for s, lines := range bySession(fast) {
				m := tt.of(s)
				for i, b := range lines {
					at, delay := b.AtNS, b.DelayNS
					switch {
					case !at.Valid:
						delay.V = min(delay.V, most)
					default:
						at.V = m(b.AtNS.V)
						if delay.Valid {
							delay.V = at.V - m(max(0, b.AtNS.V-b.DelayNS.V))
						}
					}
					if a := got[s][i]; a.AtNS != at || a.DelayNS != delay {
						t.Errorf("%v: session %s, line %d: at %v, delay %v; want %v, %v", tt.o.Args(), s, i, a.AtNS, a.DelayNS, at, delay)
					}
				}
			}
		}
	})
}
