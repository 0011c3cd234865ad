package synth

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"
)

const mix = `
version: 1
seed: 7
duration: 10m
rate: 4
block: {tokens: 16, last: absent}
classes:
  - name: chat
    weight: 3
    model: small
    priority: 2
    input: lognormal:400:1
    output: geometric:100
    prefix: {pool: 20, tokens: uniform:30:300, zipf: 1, share: 0.7}
    session: {turns: geometric:5, think: lognormal:20:2, new: uniform:5:80, max_context: 2000}
  - name: batch
    weight: 1
    arrivals: gamma:0.25
    input: histogram:1000-2000=3,8000=1
    output: "50"
  - name: burst
    rate: 0/2m,1..10/3m
    arrivals: constant
    grid: 3s
    input: quantiles:1,10,1000
    output: normal:50:20:1:100
    ranks: [[3, 1], [1, 3]]
    reuse:
      blocks: ["0", "quantiles:0,5,60"]
      age: [uniform:1:3, uniform:1:50]
`

func parse(t testing.TB, text string) *Spec {
	t.Helper()
	s, err := Parse([]byte(text), "mix.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// requests makes a workload and checks every line against the format, the schedule
// against its rules of order, and the ids against the lengths.
func requests(t testing.TB, s *Spec, seed int64) (out []*schedule.Request, end schedule.Trailer) {
	t.Helper()
	g, err := New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := schedule.NewWriter(io.Discard, schedule.Header{Block: s.Block, QuantumNS: 1})
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := g.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n := r.InputTokens.V / s.Block.Tokens
		if s.Block.Last == schedule.Partial && r.InputTokens.V%s.Block.Tokens > 0 {
			n++
		}
		if got := count(r.Blocks.Add); got != n {
			t.Fatalf("request %d of %d tokens has %d ids; want %d", r.ID, r.InputTokens.V, got, n)
		}
		out = append(out, r.Clone())
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if end, err = w.Close(schedule.Trailer{}); err != nil {
		t.Fatal(err)
	}
	return out, end
}

func TestGeneratorMakesSchedules(t *testing.T) {
	s := parse(t, mix)
	all, end := requests(t, s, 1)
	turns := map[string]int64{}
	key := map[int64]int64{}
	last := int64(0)
	classes := map[string]int{}
	for i, r := range all {
		if r.ID != int64(i) {
			t.Fatalf("request %d has id %d", i, r.ID)
		}
		if r.Turn != turns[r.Session] {
			t.Fatalf("%s: turn %d; want %d", r.Session, r.Turn, turns[r.Session])
		}
		turns[r.Session]++
		at := r.AtNS.V
		if r.Turn > 0 {
			if r.AtNS.Valid || len(r.After) != 1 || !r.DelayNS.Valid || all[r.After[0]].Session != r.Session {
				t.Fatalf("%s turn %d: at %v, after %v, delay %v; want to wait for the turn before", r.Session, r.Turn, r.AtNS, r.After, r.DelayNS)
			}
			before := all[r.After[0]]
			if r.InputTokens.V < before.InputTokens.V+before.OutputTokens.V+5 || r.InputTokens.V+r.OutputTokens.V > 2000 {
				t.Fatalf("%s turn %d: %d tokens after %d and %d", r.Session, r.Turn, r.InputTokens.V, before.InputTokens.V, before.OutputTokens.V)
			}
			at = key[r.After[0]] + r.DelayNS.V
		}
		if at < last {
			t.Fatalf("request %d comes at %d after %d", i, at, last)
		}
		last = at
		key[r.ID] = at
		classes[r.Class]++
		if r.Class == "burst" && (r.AtNS.V%3e9 != 0 || r.AtNS.V < 117e9) {
			t.Fatalf("burst: at %d; want multiples of 3 s from 2 minutes on", r.AtNS.V)
		}
		if r.Turn == 0 && r.AtNS.V >= 600e9 {
			t.Fatalf("%s begins at %d; the duration is 10 minutes", r.Session, r.AtNS.V)
		}
	}
	// 4 sessions/s for 600 s in shares of 3 and 1, and a ramp of 990; chat has 5 turns
	// at most on average.
	sessions := map[string]int{}
	for s := range turns {
		class, _, _ := strings.Cut(s, "-")
		sessions[class]++
	}
	for class, want := range map[string]float64{"chat": 1800, "batch": 600, "burst": 990} {
		if got := float64(sessions[class]); math.Abs(got-want) > 5*math.Sqrt(want)*2 {
			t.Errorf("%s: %g sessions; want about %g", class, got, want)
		}
	}
	if mean := float64(classes["chat"]) / float64(sessions["chat"]); mean < 3 || mean > 5 {
		t.Errorf("chat has %.2f turns a session; want somewhat below 5, since contexts end", mean)
	}
	if end.HitBlocks == 0 || end.Requests != int64(len(all)) {
		t.Errorf("trailer %+v", end)
	}
}

// The same description and seed give the same requests, for ever: other bytes here are
// a change of what every checked-in description means.
func TestGolden(t *testing.T) {
	sum := func(seed int64) string {
		g, err := New(parse(t, strings.Replace(mix, "seed: 7\n", "", 1)), seed)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		var line []byte
		for range 3000 {
			r, err := g.Next()
			if err != nil {
				t.Fatal(err)
			}
			line = append(schedule.AppendRequest(line[:0], r), '\n')
			h.Write(line)
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	const want = "0ae263f0fc2ca2ce16721a3a17d5934bc42b785b89c2b32b278d95e2fc2b19ad"
	if got := sum(7); got != want {
		t.Errorf("requests have SHA-256 %s; want %s", got, want)
	}
	if sum(8) == sum(7) {
		t.Error("two seeds give the same requests")
	}
}

// ofClass are the requests of one class as they are without the others.
func ofClass(all []*schedule.Request, class string) (lines []string) {
	index := map[int64]int64{}
	for _, r := range all {
		if r.Class != class {
			continue
		}
		r = r.Clone()
		index[r.ID] = int64(len(index))
		r.ID = index[r.ID]
		for i, id := range r.After {
			r.After[i] = index[id]
		}
		lines = append(lines, string(schedule.AppendRequest(nil, r)))
	}
	return lines
}

// Another class, in front of the others, moves nothing in them.
func TestClassesAreIndependent(t *testing.T) {
	one, _ := requests(t, parse(t, strings.Replace(mix, "    weight: 3\n", "    rate: 3\n", 1)), 1)
	more := strings.Replace(mix, "    weight: 3\n", "    rate: 3\n", 1)
	more = strings.Replace(more, "classes:\n", "classes:\n  - {name: new, rate: 2, input: '10', output: '10', session: {turns: '3', think: '1', new: '1'}}\n", 1)
	two, _ := requests(t, parse(t, more), 1)
	for _, class := range []string{"chat", "burst"} {
		if a, b := ofClass(one, class), ofClass(two, class); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s has changed: %d requests, then %d", class, len(a), len(b))
		}
	}
	if len(ofClass(two, "new")) == 0 {
		t.Error("the new class is not there")
	}
}

// Another distribution of one thing moves no draw of another.
func TestPurposesAreIndependent(t *testing.T) {
	column := func(text string, of func(*schedule.Request) int64) (v []int64) {
		all, _ := requests(t, parse(t, text), 1)
		for _, r := range all {
			if r.Class == "chat" && r.Turn == 0 {
				v = append(v, of(r))
			}
		}
		return v
	}
	at := func(r *schedule.Request) int64 { return r.AtNS.V }
	input := func(r *schedule.Request) int64 { return r.InputTokens.V }
	slow := strings.Replace(mix, "think: lognormal:20:2", "think: exponential:500", 1)
	long := strings.Replace(mix, "input: lognormal:400:1", "input: '5'", 1)
	if a, b := column(mix, input), column(slow, input); !slices.Equal(a, b) {
		t.Error("another think time has moved the lengths")
	}
	if a, b := column(mix, at), column(long, at); !slices.Equal(a, b) {
		t.Error("another length has moved the arrivals")
	}
}

// No state goes from one stage of the rate to the next (kubernetes-sigs/inference-perf#459
// and #572 had such): another first stage moves when sessions begin, and nothing in them.
func TestStagesAreIndependent(t *testing.T) {
	const text = "version: 1\nclasses: [{name: a, rate: '%s/1m,0/1m,5/2m', input: 'lognormal:300:1', output: 'geometric:9', prefix: {pool: 9, tokens: '70'}, session: {turns: 'geometric:3', think: 'exponential:5', new: '7'}}]"
	rows := func(rate string) (out []string) {
		all, _ := requests(t, parse(t, strings.Replace(text, "%s", rate, 1)), 1)
		for _, r := range all {
			out = append(out, fmt.Sprint(r.Session, r.Turn, r.InputTokens, r.OutputTokens, r.DelayNS, r.Last))
		}
		slices.Sort(out)
		return out
	}
	slow, fast := rows("2"), rows("20")
	for _, row := range slow {
		if _, found := slices.BinarySearch(fast, row); !found {
			t.Fatalf("%s is gone when the first stage is faster", row)
		}
	}
	if len(fast) < 2*len(slow) {
		t.Errorf("%d requests, of a faster first stage %d", len(slow), len(fast))
	}
}

func TestRequestsBound(t *testing.T) {
	s := parse(t, strings.Replace(mix, "duration: 10m", "requests: 1001", 1))
	all, end := requests(t, s, 1)
	if len(all) != 1001 || end.Requests != 1001 {
		t.Errorf("%d requests; want 1001", len(all))
	}
	open := map[string]bool{}
	for _, r := range all {
		open[r.Session] = !r.Last
	}
	for name, o := range open {
		if o {
			t.Errorf("session %s has no last line", name)
		}
	}
}

func TestRatesEndTooEarly(t *testing.T) {
	s := parse(t, "version: 1\nrequests: 1000\nclasses: [{name: a, rate: 1/10s, input: '1', output: '1'}]")
	g, err := New(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = g.Next()
	}
	if err != io.EOF || !g.Ended() || g.Made() < 1 || g.Made() > 30 {
		t.Errorf("%v after %d requests, ended %v; want the end of the rate to show", err, g.Made(), g.Ended())
	}
}

// What waits in memory are the open sessions and one arrival of each class.
func TestMemoryIsThatOfOpenSessions(t *testing.T) {
	s := parse(t, "version: 1\nrequests: 200000\nclasses: [{name: a, rate: 100, input: '1', output: '1', session: {turns: '2', think: '0.5', new: '1'}}]")
	g, err := New(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for {
		if _, err := g.Next(); err != nil {
			break
		}
		most = max(most, len(g.open))
	}
	if most > 120 { // 50 open on average
		t.Errorf("up to %d sessions wait; want about 50", most)
	}
}

// The front of a prompt that a recorded one shared is shared here: hits are what was
// drawn, and only whole blocks are.
func TestReuseHits(t *testing.T) {
	s := parse(t, `
version: 1
requests: 20000
block: {tokens: 16, last: partial}
classes:
  - name: a
    rate: 10
    input: uniform:100:1000
    output: "10"
    reuse: {blocks: ["2", "2", "20"], age: ["1", uniform:1:100]}
`)
	_, end := requests(t, s, 1)
	// A third of the prompts have 20 blocks (700 tokens and more), the others 2.
	want := float64(end.Requests) * (2 + 2 + 20) / 3
	if got := float64(end.HitBlocks); math.Abs(got-want) > 0.02*want {
		t.Errorf("%g hit blocks; want about %g", got, want)
	}
}

// Lengths are exact although a shared text is no whole number of blocks.
func TestPrefixTailCounts(t *testing.T) {
	s := parse(t, "version: 1\nrequests: 500\nblock: {tokens: 64, last: absent}\nclasses: [{name: a, rate: 1, input: '100', output: '1', prefix: {pool: 1, tokens: '700'}}]")
	all, end := requests(t, s, 1)
	for _, r := range all {
		if r.InputTokens.V != 800 || count(r.Blocks.Add) != 12 || r.Blocks.Add[0] != (schedule.Run{0, 10}) && r.Blocks.Add[0][0] != 0 {
			t.Fatalf("request %d: %d tokens, ids %v; want 800 tokens and ids 0 to 9 in front", r.ID, r.InputTokens.V, r.Blocks.Add)
		}
	}
	if end.HitBlocks != 10*499 {
		t.Errorf("%d hit blocks; want 4,990", end.HitBlocks)
	}
}

// What a turn adds follows the size of the context before it.
func TestGrowthBySize(t *testing.T) {
	s := parse(t, `
version: 1
requests: 2000
classes:
  - name: a
    rate: 1
    input: uniform:100:3000
    output: "10"
    session: {turns: "6", think: "1", new: ["100", "200", "-10", "-1500"]}
`)
	all, _ := requests(t, s, 1)
	inputs := map[string]int64{}
	for _, r := range all {
		if r.Turn > 0 {
			context := inputs[r.Session] + 10
			want := int64(100)
			switch {
			case context >= 4096:
				want = -1500
			case context >= 2048:
				want = -10
			case context >= 1024:
				want = 200
			}
			if got := r.InputTokens.V - context; got != want {
				t.Fatalf("%s turn %d: %d tokens beyond %d; want %d", r.Session, r.Turn, got, context, want)
			}
		}
		inputs[r.Session] = r.InputTokens.V
	}
	if text := s.YAML(); !bytes.Equal(parse(t, string(text)).YAML(), text) {
		t.Errorf("does not print as it is read:\n%s", text)
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	s := parse(t, mix)
	text := s.YAML()
	again := parse(t, string(text))
	if b := again.YAML(); !bytes.Equal(text, b) {
		t.Errorf("printed again:\n%s\nwant\n%s", b, text)
	}
	a, _ := requests(t, s, 1)
	b, _ := requests(t, again, 1)
	if len(a) != len(b) {
		t.Fatalf("%d requests, and %d of the printed description", len(a), len(b))
	}
	for i := range a {
		if x, y := string(schedule.AppendRequest(nil, a[i])), string(schedule.AppendRequest(nil, b[i])); x != y {
			t.Fatalf("request %d:\n%s\nof the printed description:\n%s", i, x, y)
		}
	}
}
