package analyze

import (
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Sessions end at their last request or with the input; streams, waits and prompts that
// shrink are counted; what an ended session held is forgotten.
func TestSessions(t *testing.T) {
	some, null := formats.Some, formats.Int{}
	line := func(session, stream string, in, out int64, after []int64, delay formats.Int, last bool) *schedule.Request {
		return &schedule.Request{AtNS: some(0), Session: session, Stream: stream, Context: schedule.Whole, InputTokens: some(in), OutputTokens: some(out), After: after, DelayNS: delay, Last: last}
	}
	reqs := []*schedule.Request{
		line("a", "0", 100, 1, nil, null, false),
		line("a", "0", 90, 1, []int64{0}, some(5), false), // shrinks
		line("a", "x", 10, 2, []int64{1}, some(0), false),
		line("a", "x", 20, 2, []int64{2}, null, false),
		line("a", "y", 5, 2, []int64{1}, some(7), false),
		line("a", "0", 95, 1, []int64{3, 4}, some(9), true),
		line("b", "0", 50, 3, nil, null, true),
		line("a", "0", 10, 1, nil, null, false), // a new session of an old name
		line("c", "z", 10, 1, nil, null, true),
	}
	reqs = append(reqs, line("a", "0", 9, 1, []int64{7}, null, false))
	reqs[9].Context = schedule.Delta // not a shorter prompt
	var a sessions
	for _, r := range reqs {
		a.add(r)
	}
	if len(a.open) != 1 || a.open["a"].requests != 2 {
		t.Errorf("open sessions = %v; want the second a", a.open)
	}
	f, d := a.figures(), a.delays()
	if f.N != 4 || f.Requests.N != 4 || f.Requests.Max.V != 6 || f.Requests.Sum.V != 10 || f.SideStreams != 3 || f.Shrunk != 1 {
		t.Errorf("sessions = %+v; want 4 with 10 requests, 3 side streams, 1 shrunk", f)
	}
	if f.Main != (Share{6, 354, 8}) || f.Side != (Share{4, 45, 7}) {
		t.Errorf("main %+v, side %+v; want 6 requests of 354 and 8 tokens, 4 of 45 and 7", f.Main, f.Side)
	}
	if d.Free != 4 || d.Waiting != 6 || d.Several != 1 || d.Entries != 7 {
		t.Errorf("delays = %+v; want 4 free, 6 waiting, 1 of them for 2", d)
	}
	if w := d.DelayNS; w.N != 4 || w.Nulls != 2 || w.Zeros != 1 || w.Sum.V != 21 || w.P50.V != 5 {
		t.Errorf("delay = %+v; want 4 of 21 ns, 2 unknown", w)
	}
}

// Ties are requests at the time of the one before; the rate has no window behind the
// last request.
func TestTiesAndRate(t *testing.T) {
	report, err := Analyze(stream(timed(7, 7, 7, 60e9+7, 60e9+7, 119e9)), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tm := report.Time
	if tm.Ties != 3 || tm.Instants != 3 || tm.Timed != 6 || tm.FirstNS.V != 7 || tm.SpanNS.V != 119e9-7 || !slices.Equal(tm.Rate.Counts, []int64{3, 3}) {
		t.Errorf("time = %+v; want 3 ties, 3 instants, a rate of 3 and 3", tm)
	}
}

// Lengths that are not known are null, zeros are zeros, and both are counted.
func TestLengths(t *testing.T) {
	reqs := timed(1, 2, 3)
	reqs[0].InputTokens, reqs[0].OutputTokens = formats.Some(10), formats.Some(0)
	reqs[1].InputTokens = formats.Some(30)
	reqs[2].Recorded = schedule.Recorded{TTFTNS: formats.Some(5), E2ENS: formats.Some(6), CachedTokens: formats.Some(7)}
	report, err := Analyze(stream(reqs), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := report.InputTokens; d.N != 2 || d.Nulls != 1 || *d.Mean != 20 || d.P50.V != 10 || d.P90.V != 30 || d.Sum.V != 40 {
		t.Errorf("input = %+v", d)
	}
	if d := report.OutputTokens; d.N != 1 || d.Nulls != 2 || d.Zeros != 1 || d.Max != formats.Some(0) {
		t.Errorf("output = %+v", d)
	}
	if d := report.TotalTokens; d.N != 1 || d.Max.V != 10 {
		t.Errorf("total = %+v", d)
	}
	if r := report.Recorded; r.TTFTNS.Max.V != 5 || r.E2ENS.Max.V != 6 || r.CachedTokens.Max.V != 7 || r.E2ENS.Nulls != 2 {
		t.Errorf("recorded = %+v", r)
	}
	reqs[0].InputTokens, reqs[1].InputTokens = formats.Some(1<<62), formats.Some(1<<62)
	if _, err := Analyze(stream(reqs), nil, Options{}); err == nil || !strings.Contains(err.Error(), "want sums of 63 bits") {
		t.Errorf("a sum of 64 bits: %v; want an error", err)
	}
	none, err := Analyze(stream(nil), nil, Options{})
	if err != nil || none.InputTokens.Mean != nil || none.InputTokens.Sum.Valid || none.InputTokens.P50.Valid {
		t.Errorf("of nothing: %+v, %v; want nulls", none.InputTokens, err)
	}
}
