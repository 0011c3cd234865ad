package fold

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// steadyRows sends n requests per second; each takes the time that the server needs
// at that second.
func steadyRows(seconds, perSecond int, takes func(s int) int64) []run.Request {
	var rows []run.Request
	r := rand.New(rand.NewPCG(1, 1))
	for s := range seconds {
		for k := range perSecond {
			due := int64(s)*second + int64(k)*second/int64(perSecond) + 7_000_000
			ttft := takes(s) + int64(r.IntN(1_000_000))
			rows = append(rows, run.Request{RequestID: int64(len(rows)), Session: fmt.Sprint(s), ScheduledNS: some(due), DueNS: some(due), DispatchedNS: some(due),
				ConnAskedNS: some(due), ConnReadyNS: some(due), WriteDoneNS: some(due), FirstTokenNS: some(due + ttft), LastTokenNS: some(due + 2*ttft), EndNS: some(due + 2*ttft),
				OutputTokens: some(10), TokenEvents: some(10), TokenSource: run.Usage, Outcome: run.OK, Worker: some(0), PlannedInputTokens: some(1), PlannedOutputTokens: some(10)})
		}
	}
	return rows
}

func TestWindowCutsWarmUp(t *testing.T) {
	// The first 12 seconds are slow: the cut lies at whole batches of five seconds after them.
	rows := steadyRows(100, 10, func(s int) int64 {
		if s < 12 {
			return int64(12-s) * 200_000_000
		}
		return 50_000_000
	})
	s := reduce(t, Options{}, encode(t, testHeader(), rows, nil, run.End{}, 500))
	w := s.Window
	if !w.MSERCutNS.Valid || w.MSERCutNS.V != 15*second || w.FromNS != w.LoadFrom+15*second || w.ToNS != w.LoadTo+1 || w.MSERNote != "" {
		t.Errorf("window %+v; want a cut of 15 s", w)
	}
	if s.Plan.InWindow != 850 || s.Plan.Rows != 1000 {
		t.Errorf("%d of %d rows in the window; want 850 of 1000", s.Plan.InWindow, s.Plan.Rows)
	}
	if m := metricOf(t, s, "ttft_user", popOK); m.N != 850 || m.Max.V > 60_000_000 {
		t.Errorf("%d values up to %v: the warm-up is among them", m.N, m.Max)
	}
	for _, id := range []string{"mser_in_flight", "mser_ttft", "mser_out_tps"} {
		if v := scalarOf(t, s, id); v.Value == nil || *v.Value > 3 {
			t.Errorf("%s = %v; want at most 3 batches", id, value(v.Value))
		}
	}
}

func TestWindowWarmUpIsAFloor(t *testing.T) {
	rows := steadyRows(60, 10, func(int) int64 { return 50_000_000 })
	h := testHeader()
	h.WarmupNS = 20 * second
	s := reduce(t, Options{}, encode(t, h, rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.LoadFrom+20*second || w.WarmupNS != 20*second {
		t.Errorf("window %+v; want the header's warm-up of 20 s", w)
	}
	s = reduce(t, Options{WarmupNS: some(30 * second)}, encode(t, h, rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.LoadFrom+30*second {
		t.Errorf("window %+v; want the given warm-up of 30 s", w)
	}
	s = reduce(t, Options{WarmupNS: some(90 * second)}, encode(t, h, rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.ToNS || s.Plan.InWindow != 0 || !strings.Contains(strings.Join(s.Notes, "\n"), "empty") {
		t.Errorf("window %+v, notes %v; want an empty one that says so", w, s.Notes)
	}
}

// The caps of a closed loop grow from the epoch on: the window waits for their end.
func TestWindowBeginsAfterTheRamp(t *testing.T) {
	rows := steadyRows(60, 10, func(int) int64 { return 50_000_000 })
	h := testHeader()
	h.Timing, h.RampNS, h.WarmupNS = "asap", 20*second, 5*second
	s := reduce(t, Options{}, encode(t, h, rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != 20*second || w.RampNS != 20*second || w.LoadFrom == 0 {
		t.Errorf("window %+v; want it to begin with the end of the ramp, 20 s after the epoch", w)
	}
	h.WarmupNS = 30 * second
	s = reduce(t, Options{}, encode(t, h, rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.LoadFrom+30*second {
		t.Errorf("window %+v; want the warm-up, which is longer", w)
	}
}

// Under asap the schedule's times plan nothing: what was never released has no time.
func TestUnreleasedRowsOfAClosedLoopHaveNoTime(t *testing.T) {
	rows := steadyRows(20, 10, func(int) int64 { return 50_000_000 })
	rows = append(rows, run.Request{RequestID: 1000, ScheduledNS: some(int64(3600) * second), Outcome: run.NotSent})
	for timing, want := range map[string]int64{"asap": 0, "schedule": 3600} {
		h := testHeader()
		h.Timing = timing
		s := reduce(t, Options{}, encode(t, h, rows, nil, run.End{}, 500))
		if got := s.Window.LoadTo / second; got < want || want == 0 && got > 20 {
			t.Errorf("%s: the load ends at %d s", timing, got)
		}
	}
}

// A warm-up longer than any load makes an empty window, not one from before the load.
func TestWarmupWithoutEnd(t *testing.T) {
	s := reduce(t, Options{WarmupNS: some(1<<63 - 1)}, encode(t, testHeader(), steadyRows(20, 10, func(int) int64 { return 50_000_000 }), nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.ToNS || w.ToNS != w.LoadTo+1 {
		t.Errorf("window %+v; want an empty one at the end", w)
	}
}

func TestWindowUnsteady(t *testing.T) {
	rows := steadyRows(60, 10, func(s int) int64 { return int64(s+1) * 20_000_000 })
	s := reduce(t, Options{}, encode(t, testHeader(), rows, nil, run.End{}, 500))
	if w := s.Window; w.MSERCutNS.Valid || !strings.Contains(w.MSERNote, "no steady tail") || w.FromNS != w.LoadFrom {
		t.Errorf("window %+v; want no cut and the reason", w)
	}
	short := steadyRows(40, 10, func(int) int64 { return 50_000_000 })
	s = reduce(t, Options{}, encode(t, testHeader(), short, nil, run.End{}, 500))
	if w := s.Window; w.MSERCutNS.Valid || !strings.Contains(w.MSERNote, "at least 10") {
		t.Errorf("window %+v; want too few batches", w)
	}
}

func TestWindowGiven(t *testing.T) {
	rows := steadyRows(60, 10, func(int) int64 { return 50_000_000 })
	s := reduce(t, Options{Window: &Span{FromNS: 10 * second, ToNS: some(20 * second)}}, encode(t, testHeader(), rows, nil, run.End{}, 500))
	if w := s.Window; w.FromNS != w.LoadFrom+10*second || w.ToNS != w.LoadFrom+20*second || s.Plan.InWindow != 100 {
		t.Errorf("window %+v with %d rows; want 10 s to 20 s with 100", w, s.Plan.InWindow)
	}
	if v := scalarOf(t, s, "ok_rps"); value(v.Value) != 10 {
		t.Errorf("ok_rps = %v; want 10", value(v.Value))
	}
}

// A window without a planned request says nothing, and one without an end in sight
// must cost neither memory nor time.
func TestWindowGivenRefused(t *testing.T) {
	b := encode(t, testHeader(), steadyRows(60, 10, func(int) int64 { return 50_000_000 }), nil, run.End{}, 500)
	for _, w := range []Span{
		{FromNS: 3600 * second},
		{FromNS: 60 * second, ToNS: some(90 * second)},
		{FromNS: 1, ToNS: some(2)},
		{ToNS: some(MaxSpanNS + 1)},
		{ToNS: some(1<<63 - 1)},
		{FromNS: 1<<63 - 1},
	} {
		err := fails(t, Options{Window: &w}, b)
		if bad := new(formats.SyntaxError); !errors.As(err, &bad) || bad.What != "window" {
			t.Errorf("window %+v: %v; want a SyntaxError about the window", w, err)
		}
	}
	s := reduce(t, Options{Window: &Span{ToNS: some(MaxSpanNS)}}, b)
	if s.Plan.InWindow != 600 {
		t.Errorf("%d rows in the longest window; want 600", s.Plan.InWindow)
	}
	// Idle time behind the load is not measured time: no rate is diluted by it and no
	// duration claimed.
	if w := s.Window; w.ToNS != w.LoadTo+1 {
		t.Errorf("window ends at %d; want it to end with the load, at %d", w.ToNS, w.LoadTo+1)
	}
}

// One request is a window of its own; no request is none.
func TestWindowOfOne(t *testing.T) {
	rows := steadyRows(1, 1, func(int) int64 { return 50_000_000 })
	s := reduce(t, Options{}, encode(t, testHeader(), rows, nil, run.End{}, 500))
	if s.Plan.InWindow != 1 || metricOf(t, s, "ttft_user", popOK).N != 1 {
		t.Errorf("%d rows in the window; want 1", s.Plan.InWindow)
	}
	s = reduce(t, Options{}, encode(t, testHeader(), nil, nil, run.End{}, 500))
	if s.Plan.InWindow != 0 || s.Window != (summary.Window{MSERNote: "no planned times"}) {
		t.Errorf("window of nothing: %+v", s.Window)
	}
}

// The sums of the plan count every row, whatever became of it and wherever it lies.
func TestPlan(t *testing.T) {
	rows := randomRows(31, 500)
	rows[7].DueNS, rows[7].ScheduledNS = rows[499].DueNS, rows[499].DueNS
	var in, out, expected int64
	for _, q := range rows {
		in += q.PlannedInputTokens.Or(0)
		out += q.PlannedOutputTokens.Or(0)
		expected += q.ExpectedCachedTokens.Or(0)
	}
	s := reduce(t, Options{Window: &Span{FromNS: second, ToNS: some(2 * second)}}, encode(t, testHeader(), rows, nil, run.End{Status: run.Failed, Planned: 501, Detail: run.Detail{Reason: "worker 1 died"}}, 50))
	p := s.Plan
	if p.Requests != 501 || p.Rows != 500 || p.InputTokens != in || p.OutputTokens != out || p.ExpectedCachedTokens != some(expected) || p.Distinct != 500 {
		t.Errorf("plan %+v; want 501 requests, 500 rows, %d, %d, %d tokens", p, in, out, expected)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), "the run is failed: worker 1 died") {
		t.Errorf("notes %v; want the run's status", s.Notes)
	}
	again := reduce(t, Options{}, encode(t, testHeader(), rows, nil, run.End{Status: run.Interrupted, Planned: 500, Detail: run.Detail{Reason: run.Interrupted}}, 50))
	if !slices.Contains(again.Notes, "the run is interrupted") {
		t.Errorf("notes %v; want the run's status, once", again.Notes)
	}
	var n int64
	for _, o := range s.Outcomes {
		n += o.N
	}
	if n != 500 || len(s.Outcomes) != len(run.Outcomes) {
		t.Errorf("%d rows in %d outcomes", n, len(s.Outcomes))
	}
}

func TestRoundDiv(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for range 20_000 {
		a, b, c := r.Int64N(1<<30)-1<<29, r.Int64N(1000), 1+r.Int64N(2000)
		want := int64(math.Floor(float64(2*a*b+c) / float64(2*c)))
		if got := roundDiv(a, b, c); got != want {
			t.Fatalf("roundDiv(%d, %d, %d) = %d; want %d", a, b, c, got, want)
		}
	}
	if got := roundDiv(1<<62, 1<<40, 1<<41); got != maxTime {
		t.Errorf("a quotient of 2^61 = %d; want the cap", got)
	}
	if got := roundDiv(-1<<62, 1<<62, 1); got != -maxTime {
		t.Errorf("a quotient of -2^124 = %d; want the cap", got)
	}
}
