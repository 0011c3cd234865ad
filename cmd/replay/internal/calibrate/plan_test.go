package calibrate

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/sim"
)

// text is a schedule of n lines, gap apart, with so many tokens in and out.
func text(t *testing.T, n int, gap time.Duration, in, out int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := schedule.NewWriter(&b, schedule.Header{Build: "test", Block: &schedule.Block{Tokens: 64, Last: schedule.Partial}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := schedule.Request{ID: int64(i), AtNS: formats.Some(int64(i) * int64(gap)), Session: "s", Stream: "0", Turn: int64(i), Context: schedule.Whole,
			InputTokens: formats.Some(in), OutputTokens: formats.Some(out), Blocks: &schedule.Blocks{Scope: "x", Add: []schedule.Run{{int64(10 * i), 2}}}}
		if i > 0 {
			r.After, r.Blocks.Keep = []int64{int64(i - 1)}, 1
		}
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(schedule.Trailer{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sampleOf(t *testing.T, b []byte, requests int64, duration time.Duration) (*Sample, error) {
	t.Helper()
	r, err := schedule.NewReader(bytes.NewReader(b), "plan")
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	s, err := ReadSample(r, requests, duration, func() { begun++ })
	if s.Lines() > 0 && begun != 1 {
		t.Errorf("the first line was told %d times", begun)
	}
	return s, err
}

func TestSample(t *testing.T) {
	whole := text(t, 100, 50*time.Millisecond, 300, 20)
	for _, c := range []struct {
		name     string
		b        []byte
		requests int64
		duration time.Duration
		lines    int
		rate     float64
		fails    bool
	}{
		{"whole", whole, 0, 0, 100, 20, false},
		{"--requests", whole, 10, 0, 10, 20, false},
		{"--duration", whole, 0, time.Second, 20, 20, false},
		{"more than is read ahead", text(t, SampleLines+10, time.Millisecond, 300, 20), 0, 0, SampleLines, 1000, false},
		{"all at once", text(t, 5, 0, 300, 20), 0, 0, 5, 0, false},
		{"one", text(t, 1, time.Second, 300, 20), 0, 0, 1, 0, false},
		{"none", text(t, 0, time.Second, 300, 20), 0, 0, 0, 0, false},
		{"cut", whole[:len(whole)/2], 0, 0, 50, 20, true},
	} {
		s, err := sampleOf(t, c.b, c.requests, c.duration)
		if (err != nil) != c.fails || s.Lines() != c.lines || math.Abs(s.rate-c.rate) > 1e-6 {
			t.Errorf("%s: %d lines, %g requests/s, %v; want %d, %g", c.name, s.Lines(), s.rate, err, c.lines, c.rate)
		}
		if s.Lines() > 1 && (s.input != 300 || s.output != 20) {
			t.Errorf("%s: means of %g and %g tokens; want 300 and 20", c.name, s.input, s.output)
		}
	}
	s, _ := sampleOf(t, whole, 0, 0)
	if d := cmp.Diff([]schedule.Run{{0, 1}, {10, 2}}, s.lines[1].Blocks.Add); d != "" || s.lines[1].Blocks.Keep != 0 || s.lines[1].After != nil {
		t.Errorf("a later turn is not a whole prompt that waits for nothing: %+v\n%s", s.lines[1], d)
	}
}

func TestPlanIsStationary(t *testing.T) {
	s, err := sampleOf(t, text(t, 50, 100*time.Millisecond, 300, 200), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := sessions(3)
	for w, name := range names {
		if got := drive.WorkerOf(name, 3); got != w {
			t.Errorf("session %q goes to worker %d; want %d", name, got, w)
		}
	}
	p := step{rate: 50, gap: 10 * time.Millisecond, per: 1, warm: 300 * time.Millisecond, window: 500 * time.Millisecond, tail: tailTime}
	lines, d := s.plan(p, names)
	again, _ := s.plan(p, names)
	if diff := cmp.Diff(lines, again); diff != "" {
		t.Errorf("the plan is not the same twice:\n%s", diff)
	}
	// 50 requests/s of 200 events: 10,000 events/s of 100 answers open at a time.
	if d.requests != 25 || math.Abs(d.events/0.5-10_000) > 300 {
		t.Errorf("window of %g requests and %g events; want 25 and 5,000 within 3 %%", d.requests, d.events)
	}
	for _, at := range []time.Duration{p.warm, p.warm + p.window/2, p.warm + p.window} {
		open := 0
		for _, r := range lines {
			if from := time.Duration(r.AtNS.V); from <= at && from+p.gap*time.Duration(r.OutputTokens.V) > at {
				open++
			}
		}
		if open < 97 || open > 103 {
			t.Errorf("%d answers are open at %s; want 100 within 3", open, at)
		}
	}
	share := map[string]int{}
	for _, r := range lines {
		share[r.Session]++
	}
	for name, n := range share {
		if n < len(lines)/3-1 || n > len(lines)/3+2 {
			t.Errorf("worker of %s has %d of %d requests; want a third", name, n, len(lines))
		}
	}
	if _, err := s.encode(lines); err != nil {
		t.Error(err)
	}
}

// An answer that comes at once is over before another begins.
func TestPlanAtOnce(t *testing.T) {
	s, _ := sampleOf(t, text(t, 10, 100*time.Millisecond, 300, 200), 0, 0)
	p := step{rate: 40, per: 8, warm: 200 * time.Millisecond, window: 500 * time.Millisecond, tail: tailTime}
	lines, d := s.plan(p, sessions(1))
	if d.requests != 20 || d.events != 20*25 || len(lines) != 28 {
		t.Errorf("%d requests, in the window %g with %g events; want 28, 20, 500", len(lines), d.requests, d.events)
	}
}

func TestProfilePace(t *testing.T) {
	s, _ := sampleOf(t, text(t, 50, 100*time.Millisecond, 300, 200), 0, 0)
	for _, c := range []struct {
		spec   string
		stream bool
		closed int64
		gap    time.Duration
		per    int
	}{
		{"", true, 0, 20 * time.Millisecond, 1},
		{"", false, 0, 0, 1},
		{"null", true, 0, 0, 1},
		{"default,step=5ms,step_per_seq=0s", true, 0, 5 * time.Millisecond, 1},
		{"default,step=5ms,step_per_seq=1ms,slots=8", true, 4, 9 * time.Millisecond, 1},
		{"default,step=5ms,step_per_seq=1ms,slots=8", true, 99, 13 * time.Millisecond, 1},
		{"default,stagger,service=const:2s,tokens_per_event=2", true, 0, 20 * time.Millisecond, 2},
	} {
		var target *sim.Spec
		if c.spec != "" {
			spec, err := sim.ParseSpec(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			target = &spec
		}
		p := ProfileOf(s, link.Setup{Stream: c.stream, Concurrency: c.closed}, nil, target)
		if time.Duration(p.EventGapNS) != c.gap || p.TokensPerEvent != c.per || p.Lines != 50 || p.InputTokens != 300 {
			t.Errorf("%q: %+v; want a gap of %s, %d tokens per event", c.spec, p, c.gap, c.per)
		}
	}
}
