package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
)

func process(t testing.TB, text string) arrivals.Process {
	t.Helper()
	p, err := arrivals.ParseProcess(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bySession groups lines.
func bySession(reqs []*schedule.Request) map[string][]*schedule.Request {
	m := map[string][]*schedule.Request{}
	for _, r := range reqs {
		m[r.Session] = append(m[r.Session], r)
	}
	return m
}

// distances fails where a line of a session has another distance to the first one than
// before, or another length. It returns by how much the session moved.
func distances(t *testing.T, what string, before, after []*schedule.Request) (by int64) {
	t.Helper()
	if len(before) != len(after) {
		t.Fatalf("%s: session %s has %d lines; want %d", what, before[0].Session, len(after), len(before))
	}
	by = after[0].AtNS.V - before[0].AtNS.V
	for i, a := range after {
		b := before[i]
		if a.AtNS.Valid != b.AtNS.Valid || a.AtNS.Valid && a.AtNS.V-b.AtNS.V != by || a.DelayNS != b.DelayNS || a.Turn != b.Turn || a.InputTokens != b.InputTokens || len(a.After) != len(b.After) {
			t.Errorf("%s: session %s, line %d: %s; want %s, moved by %d", what, b.Session, i, schedule.AppendRequest(nil, a), schedule.AppendRequest(nil, b), by)
		}
	}
	return by
}

func TestSampleIsNested(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		seed := r.Int64()
		whole := bySession(reqs)
		var smaller map[string][]*schedule.Request
		for _, share := range []string{"0.05", "0.3", "0.7", "0.999", "1"} {
			out, counts := sent(t, reqs, Options{Sample: ratio(t, share), Seed: seed})
			if _, err := write(out); err != nil {
				t.Error(err)
			}
			kept := bySession(out)
			for s, lines := range kept {
				if by := distances(t, "--sample "+share, whole[s], lines); by != 0 {
					t.Errorf("--sample %s moves session %s by %d", share, s, by)
				}
			}
			for s := range smaller {
				if kept[s] == nil {
					t.Errorf("--sample %s has lost session %s of a smaller sample", share, s)
				}
			}
			if int(counts["sample_dropped"]) != len(reqs)-len(out) || int(counts["sample_sessions"]) != len(whole)-len(kept) {
				t.Errorf("--sample %s: %v; %d of %d requests left", share, counts, len(out), len(reqs))
			}
			smaller = kept
		}
		if len(smaller) != len(whole) {
			t.Errorf("--sample 1 drops sessions")
		}
	})
	var many []*schedule.Request
	for i := range int64(20_000) {
		q := line(i, i, "r"+string(rune('a'+i%26))+formats.Some(i).String(), 0)
		q.Last = true
		many = append(many, q)
	}
	for _, share := range []float64{0.01, 0.25, 0.5} {
		out, _ := sent(t, many, Options{Sample: ratio(t, strconv.FormatFloat(share, 'f', -1, 64)), Seed: 3})
		if got, dev := float64(len(out)), 4*math.Sqrt(20_000*share*(1-share)); math.Abs(got-20_000*share) > dev {
			t.Errorf("--sample %g keeps %g of 20,000 sessions", share, got)
		}
	}
	a, _ := sent(t, many, Options{Sample: ratio(t, "0.5"), Seed: 3})
	b, _ := sent(t, many, Options{Sample: ratio(t, "0.5"), Seed: 4})
	if text(a) == text(b) {
		t.Error("the seed has no say")
	}
}

// What a sample holds follows from the published encoding alone: the hash of seed, purpose
// and session, each behind its length in eight bytes.
func TestSampleByHash(t *testing.T) {
	const seed = 11
	var reqs []*schedule.Request
	want := map[string]bool{}
	for i := range int64(2000) {
		name := "session " + strconv.FormatInt(i, 10)
		q := line(i, i, name, 0)
		q.Last = true
		reqs = append(reqs, q)
		h := sha256.New()
		for _, field := range []string{string(binary.BigEndian.AppendUint64(nil, seed)), "sample", name} {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
			h.Write([]byte(field))
		}
		if binary.BigEndian.Uint64(h.Sum(nil)) < 1<<62 {
			want[name] = true
		}
	}
	out, _ := sent(t, reqs, Options{Sample: ratio(t, "0.25"), Seed: seed})
	for _, r := range out {
		if !want[r.Session] {
			t.Errorf("%q is in the sample", r.Session)
		}
	}
	if len(out) != len(want) {
		t.Errorf("%d sessions in the sample; want %d", len(out), len(want))
	}
}

// A wait for another session cannot follow when sessions move against each other, unless
// the order happens to stay.
func TestWaitsAcrossSessions(t *testing.T) {
	reqs := []*schedule.Request{line(0, 0, "a", 0), line(1, 0, "b", 0), line(2, 100*sec, "b", 1), line(3, 101*sec, "a", 1)}
	waits(reqs[3], 0, 2)
	var fault *formats.SyntaxError
	if _, _, err := try(reqs, Options{ThinkCap: formats.Some(200 * sec)}); err != nil {
		t.Errorf("nothing moves: %v", err)
	}
	reqs[0].Recorded.E2ENS = formats.Some(0)
	reqs[1].Recorded.E2ENS = formats.Some(60 * sec) // so that b loses less time than a
	if _, _, err := try(reqs, Options{ThinkCap: formats.Some(10 * sec)}); !errors.As(err, &fault) || fault.What != "after" {
		t.Errorf("a line that moved before the one it waits for: %v; want a SyntaxError on after", err)
	}
	child := &schedule.Request{ID: 1, After: []int64{0}, Session: "b", Stream: "0", Context: schedule.Whole}
	for _, o := range []Options{{Spread: true}, {Retime: &Retiming{Process: process(t, "poisson")}}, {Clone: Cloning{Copies: 2}}} {
		if _, _, err := try([]*schedule.Request{line(0, 0, "a", 0), child}, o); !errors.As(err, &fault) || fault.What != "at_ns" {
			t.Errorf("%v: a session without a start: %v; want a SyntaxError on at_ns", o.Args(), err)
		}
	}
}

func TestSpreadStaysWithinTheStep(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		o := Options{Spread: true, Seed: r.Int64()}
		out, counts, err := try(reqs, o)
		before := bySession(reqs)
		var instants []int64
		for _, lines := range before {
			instants = append(instants, lines[0].AtNS.V)
		}
		slices.Sort(instants)
		instants = slices.Compact(instants)
		if len(instants) == 1 {
			if err == nil || !strings.Contains(err.Error(), "start at one instant") {
				t.Errorf("one instant: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write(out); err != nil {
			t.Error(err)
		}
		moved := int64(0)
		for s, lines := range bySession(out) {
			by := distances(t, "--spread", before[s], lines)
			i, _ := slices.BinarySearch(instants, before[s][0].AtNS.V)
			i = min(i, len(instants)-2)
			if by < 0 || by >= instants[i+1]-instants[i] {
				t.Errorf("session %s moved by %d; want less than a step of %d", s, by, instants[i+1]-instants[i])
			}
			if by > 0 {
				moved++
			}
		}
		if moved != counts["spread_moved"] {
			t.Errorf("%d sessions moved; counted %v", moved, counts)
		}
	})
}

func TestRetiming(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		before := bySession(reqs)
		first := func(m map[string][]*schedule.Request) (ats []int64) {
			for _, lines := range m {
				ats = append(ats, lines[0].AtNS.V)
			}
			slices.Sort(ats)
			return ats
		}
		was := first(before)
		n, span := int64(len(was)), was[len(was)-1]-was[0]
		for _, p := range []string{"constant", "poisson", "gamma:0.25", "weibull:2", "lognormal:1"} {
			for _, rate := range []string{"", "0.5"} {
				o := Options{Retime: &Retiming{Process: process(t, p)}, Seed: 7}
				want := span
				if rate != "" {
					o.Retime.Rate = ratio(t, rate)
					want = (n - 1) * 2 * sec
				}
				out, _, err := try(reqs, o)
				if rate == "" && span == 0 && n > 1 {
					if err == nil || !strings.Contains(err.Error(), "start at one instant") {
						t.Errorf("one instant: %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%v: %v", o.Args(), err)
				}
				if _, err := write(out); err != nil {
					t.Errorf("%v: %v", o.Args(), err)
				}
				after := bySession(out)
				for s := range before {
					distances(t, p, before[s], after[s])
				}
				is := first(after)
				if is[0] != was[0] || is[n-1]-is[0] != want {
					t.Errorf("%v: roots from %d for %d; want from %d for %d", o.Args(), is[0], is[n-1]-is[0], was[0], want)
				}
				var order []string
				for _, q := range out {
					if q == after[q.Session][0] {
						order = append(order, q.Session)
					}
				}
				for i, k := 0, 0; i < len(reqs); i++ {
					if s := reqs[i].Session; reqs[i] == before[s][0] {
						if p == "constant" && order[k] != s {
							t.Errorf("%v: root %d is of session %s; want %s", o.Args(), k, order[k], s)
						}
						k++
					}
				}
			}
		}
	})
}

// The gaps have the CV of their process, and no rounding gathers.
func TestRetimingHasTheShape(t *testing.T) {
	const n = 100_000
	var reqs []*schedule.Request
	for i := range int64(n) {
		q := line(i, i*i*1000, "s"+formats.Some(i).String(), 0)
		q.Last = true
		reqs = append(reqs, q)
	}
	end := reqs[n-1].AtNS.V
	for text, cv := range map[string]float64{"constant": 0, "poisson": 1, "gamma:0.25": 2, "gamma:4": 0.5} {
		out, counts := sent(t, reqs, Options{Retime: &Retiming{Process: process(t, text)}, Seed: 5})
		if out[0].AtNS.V != 0 || out[n-1].AtNS.V != end || counts["arrivals_moved"] < n/2 {
			t.Errorf("%s: from %d to %d, %v; want to %d", text, out[0].AtNS.V, out[n-1].AtNS.V, counts, end)
		}
		mean, square := float64(end)/(n-1), 0.0
		for i := 1; i < n; i++ {
			d := float64(out[i].AtNS.V-out[i-1].AtNS.V) - mean
			square += d * d
			if text == "constant" && math.Abs(float64(out[i].AtNS.V)-float64(i)*mean) > 1 {
				t.Fatalf("constant: arrival %d at %d; want %f", i, out[i].AtNS.V, float64(i)*mean)
			}
		}
		if got := math.Sqrt(square/(n-1)) / mean; math.Abs(got-cv) > 0.03*cv+1e-4 {
			t.Errorf("%s: CV %.4f; want %.4f", text, got, cv)
		}
	}
}

func TestClone(t *testing.T) {
	property(t, func(t *testing.T, r *rand.Rand, reqs []*schedule.Request) {
		was, err := write(reqs)
		if err != nil {
			t.Fatal(err)
		}
		before := bySession(reqs)
		var ats []int64
		for _, lines := range before {
			ats = append(ats, lines[0].AtNS.V)
		}
		gap := int64(0)
		if n := int64(len(ats)); n > 1 {
			gap = (slices.Max(ats) - slices.Min(ats)) / (n - 1)
		}
		for _, share := range []bool{false, true} {
			copies := int64(2 + r.IntN(3))
			out, counts := sent(t, reqs, Options{Clone: Cloning{copies, share}, Seed: 7})
			end, err := write(out)
			if err != nil {
				t.Error(err)
				return
			}
			distinct := was.DistinctBlocks * copies
			if share {
				distinct = was.DistinctBlocks
			}
			if end.Requests != was.Requests*copies || end.Sessions != was.Sessions*copies || end.InputTokens != was.InputTokens*copies ||
				end.Blocks != was.Blocks*copies || end.DistinctBlocks != distinct || counts["clone_added"] != was.Requests*(copies-1) {
				t.Errorf("%d copies, shared %v: %+v, %v; from %+v", copies, share, end, counts, was)
			}
			for s, lines := range bySession(out) {
				original, _, copied := strings.Cut(s, "~")
				by := distances(t, "--clone", before[original], lines)
				if copied && (by < 0 || gap > 0 && by >= gap) || !copied && by != 0 {
					t.Errorf("session %s moved by %d; want less than %d", s, by, gap)
				}
			}
		}
	})
}

// Copies of copies have names of their own.
func TestCloneTwice(t *testing.T) {
	reqs := []*schedule.Request{line(0, 0, "a", 0), line(1, sec, "b", 0)}
	reqs[0].Blocks = &schedule.Blocks{Scope: "t", Add: []schedule.Run{{1, 1}}}
	twice, _ := sent(t, reqs, Options{Clone: Cloning{Copies: 2}})
	four, _ := sent(t, twice, Options{Clone: Cloning{Copies: 2}})
	var names, scopes []string
	for _, r := range four {
		names = append(names, r.Session)
		if r.Blocks != nil {
			scopes = append(scopes, r.Blocks.Scope)
		}
	}
	slices.Sort(names)
	slices.Sort(scopes)
	if want := []string{"a", "a~1", "a~1~2", "a~2", "b", "b~1", "b~1~2", "b~2"}; !slices.Equal(names, want) {
		t.Errorf("sessions %v; want %v", names, want)
	}
	if want := []string{"t", "t~1", "t~1~2", "t~2"}; !slices.Equal(scopes, want) {
		t.Errorf("scopes %v; want %v", scopes, want)
	}
}
