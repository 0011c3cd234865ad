package fold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// A group has the metrics of a run that holds its rows and no others, over the same
// window.
func TestGroupsAreRunsOfTheirOwn(t *testing.T) {
	rows := randomRows(51, 900)
	o := Options{Build: "test", By: []string{"class", "turn"}, Window: &Span{FromNS: 3 * second, ToNS: some(20 * second)}}
	s := reduce(t, o, encode(t, testHeader(), rows, nil, run.End{}, 100))
	if len(s.Groups) != 6 {
		t.Fatalf("%d groups; want 6", len(s.Groups))
	}
	for _, g := range s.Groups {
		var mine []run.Request
		for _, q := range rows {
			if q.Class == g.Keys[0].Value && fmt.Sprint(q.Turn) == g.Keys[1].Value {
				mine = append(mine, q)
			}
		}
		// The window counts from the first row of the run, hence two rows that belong to
		// no metric keep its place.
		f := newFold(Options{Build: "test"})
		if err := f.readRun(context.Background(), Input{"x", bytes.NewReader(encode(t, testHeader(), mine, nil, run.End{}, 100))}); err != nil {
			t.Fatal(err)
		}
		first := s.Window.FromNS - 3*second
		u := either(pack(mine[0].DueNS), pack(mine[0].ScheduledNS))
		for _, q := range mine {
			if v := either(pack(q.DueNS), pack(q.ScheduledNS)); v != null && (u == null || v < u) {
				u = v
			}
		}
		f.o.Window = &Span{FromNS: max(0, 3*second-(u-first)), ToNS: some(20*second - (u - first))}
		if err := f.settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		want, err := f.summary()
		f.close()
		if err != nil {
			t.Fatal(err)
		}
		if want.Window.FromNS != s.Window.FromNS || want.Window.ToNS != s.Window.ToNS {
			t.Fatalf("the windows differ: %+v and %+v", want.Window, s.Window)
		}
		for i := range g.Metrics {
			m := &g.Metrics[i]
			x, y := asJSON(t, m), asJSON(t, metricOf(t, want, m.ID, m.Population))
			if x != y {
				t.Errorf("%v: %s of %s: %s; a run of these rows alone has %s", g.Keys, m.ID, m.Population, x, y)
			}
		}
		for _, id := range []string{"planned_rps", "ok_rps", "out_tps", "failure_share", "sent_share", "cache_reported"} {
			i := slices.IndexFunc(g.Scalars, func(v summary.Scalar) bool { return v.ID == id })
			x, y := g.Scalars[i].Value, scalarOf(t, want, id).Value
			// A run with few rows has no rates; a group in a window with many does.
			if y != nil && (x == nil || *x != *y) {
				t.Errorf("%v: %s = %v; a run of these rows alone has %v", g.Keys, id, g.Scalars[i], *y)
			}
		}
		if g.Rows != want.Plan.Rows || g.InWindow != want.Plan.InWindow || asJSON(t, g.Outcomes) != asJSON(t, want.Outcomes) {
			t.Errorf("%v: %d rows, %d in the window; want %d, %d", g.Keys, g.Rows, g.InWindow, want.Plan.Rows, want.Plan.InWindow)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every key groups, the groups add up to the rows, and a summary gives what its run does.
func TestGroupKeys(t *testing.T) {
	b := encode(t, testHeader(), randomRows(52, 500), nil, run.End{}, 100)
	want := map[string][]string{"class": {"", "chat"}, "model": {"m"}, "turn": {"0", "1", "2"}, "worker": {"0", "1"}, "remote_addr": {"", "127.0.0.1:8000"}, "file": {"in0"},
		"input-bucket": {"", "16-31", "32-63", "64-127", "128-255", "256-511", "512-1023"}}
	for _, k := range GroupKeys {
		s := reduce(t, Options{By: []string{k.Name}}, b)
		var values []string
		var rows int64
		for _, g := range s.Groups {
			values = append(values, g.Keys[0].Value)
			rows += g.Rows
		}
		if rows != s.Plan.Rows {
			t.Errorf("by %s: groups of %d rows; want %d", k.Name, rows, s.Plan.Rows)
		}
		if w, ok := want[k.Name]; ok && !slices.Equal(values, w) {
			t.Errorf("by %s: %q; want %q", k.Name, values, w)
		}
		var text bytes.Buffer
		if err := summary.Write(&text, s); err != nil {
			t.Fatal(err)
		}
		if _, err := summary.Read(&text, "x"); err != nil {
			t.Errorf("by %s: %v", k.Name, err)
		}
	}
}

func TestTooManyGroups(t *testing.T) {
	rows := randomRows(53, MaxGroups+1)
	for i := range rows {
		rows[i].Class = fmt.Sprint("c", i)
	}
	in := func(n int) []Input {
		return []Input{{"a", bytes.NewReader(encode(t, testHeader(), rows[:n], nil, run.End{}, 100))}}
	}
	var syntax *formats.SyntaxError
	if _, err := Run(context.Background(), in(MaxGroups+1), Options{By: []string{"class"}}); !errors.As(err, &syntax) || syntax.Got != "more than 1000" {
		t.Errorf("%v; want an error about the number of groups", err)
	}
	s, err := Run(context.Background(), in(100), Options{By: []string{"class"}})
	if err != nil || len(s.Groups) != 100 || s.Groups[0].Sketches[0].Digits != 2 {
		t.Errorf("%v: want 100 groups with sketches of 2 digits", err)
	}
}

// Slices of whole seconds add up to what the seconds say.
func TestSlices(t *testing.T) {
	b := encode(t, testHeader(), randomRows(54, 900), nil, run.End{}, 100)
	find := func(s *summary.Summary, id string) *summary.Series {
		i := slices.IndexFunc(s.Series, func(x summary.Series) bool { return x.ID == id })
		if i < 0 {
			t.Fatalf("no series %s", id)
		}
		return &s.Series[i]
	}
	for _, width := range []int64{1, 7} {
		s := reduce(t, Options{SliceNS: width * second}, b)
		seconds, slice := find(s, "planned"), find(s, "slice_planned_rps")
		if slice.StepNS != width*second || len(slice.Values) != (len(seconds.Values)+int(width)-1)/int(width) {
			t.Errorf("%d slices of %d ns for %d seconds", len(slice.Values), slice.StepNS, len(seconds.Values))
		}
		for i, v := range slice.Values {
			part := seconds.Values[i*int(width) : min((i+1)*int(width), len(seconds.Values))]
			sum := 0.0
			for _, x := range part {
				sum += *x
			}
			if *v != sum/float64(len(part)) {
				t.Errorf("slice %d of %d s: %v; want %v", i, width, *v, sum/float64(len(part)))
			}
		}
	}
	s := reduce(t, Options{}, b)
	if x := find(s, "slice_ttft_user_p50"); x.StepNS != second {
		t.Errorf("the default step is %d ns for a load of %d s; want a second", x.StepNS, len(x.Values))
	}
	any := false
	for _, v := range find(reduce(t, Options{SliceNS: 20 * second}, b), "slice_ttft_user_p90").Values {
		any = any || v != nil
	}
	if !any {
		t.Error("no slice of 20 s has a p90")
	}
}

// What is whole of a truncated run is counted when that is asked for, and labelled.
func TestPartial(t *testing.T) {
	rows := randomRows(55, 400)
	b := encode(t, testHeader(), rows, clientRows(55, rows, 12), run.End{}, 50)
	whole := reduce(t, Options{}, b)
	last := int64(-1)
	for _, cut := range []int{len(b) / 4, len(b) / 2, len(b) * 4 / 5, len(b) - 1} {
		in := func() []Input { return []Input{{"a", bytes.NewReader(b[:cut])}} }
		if s, err := Run(context.Background(), in(), Options{}); s != nil || err == nil {
			t.Errorf("cut to %d bytes: %v; want an error", cut, err)
		}
		s, err := Run(context.Background(), in(), Options{Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Partial || s.Parts[0].End.Status != run.Failed || s.Plan.Rows < last || s.Plan.Rows > whole.Plan.Rows {
			t.Errorf("cut to %d bytes: partial %v, status %s, %d rows after %d", cut, s.Partial, s.Parts[0].End.Status, s.Plan.Rows, last)
		}
		last = s.Plan.Rows
		for _, m := range s.Metrics {
			if m.Note != "partial" && m.Note[:9] != "partial: " {
				t.Errorf("%s says %q; want partial", m.ID, m.Note)
			}
		}
		for _, v := range s.Scalars {
			if v.Evidence != "partial" && v.Evidence[:9] != "partial: " {
				t.Errorf("%s says %q; want partial", v.ID, v.Evidence)
			}
		}
		if again := written(t, reduce(t, Options{}, written(t, s))); !bytes.Equal(again, written(t, s)) {
			t.Error("the summary changed on its way")
		}
	}
	if last != whole.Plan.Rows {
		t.Errorf("all but the last byte gives %d rows; want %d", last, whole.Plan.Rows)
	}
	if s := reduce(t, Options{Partial: true}, b); s.Partial {
		t.Error("a whole run is called partial")
	}
}

// What the server says of its cache is had of each session, weighted by tokens.
func TestCacheReportedOfEachSession(t *testing.T) {
	rows := randomRows(54, 900)
	s := reduce(t, Options{By: []string{"session"}}, encode(t, testHeader(), rows, nil, run.End{}, 100))
	type sums struct{ cached, in, n int64 }
	want := map[string]sums{}
	for _, q := range rows {
		u := q.DueNS
		if !u.Valid {
			u = q.ScheduledNS
		}
		if u.Valid && u.V >= s.Window.FromNS && u.V < s.Window.ToNS && q.Outcome == run.OK && q.CachedTokens.Valid && q.InputTokens.Valid {
			w := want[q.Session]
			want[q.Session] = sums{w.cached + q.CachedTokens.V, w.in + q.InputTokens.V, w.n + 1}
		}
	}
	compared := 0
	for _, g := range s.Groups {
		i := slices.IndexFunc(g.Scalars, func(v summary.Scalar) bool { return v.ID == "cache_reported" })
		w, v := want[g.Keys[0].Value], g.Scalars[i]
		switch {
		case w.n == 0 && (v.Value != nil || v.Reason == ""):
			t.Errorf("session %s: a value without a count, or no reason", g.Keys[0].Value)
		case w.n > 0 && (v.Value == nil || *v.Value != float64(w.cached)/float64(w.in) || v.N != w.n):
			t.Errorf("session %s: %v over %d; want %d/%d over %d", g.Keys[0].Value, v.Value, v.N, w.cached, w.in, w.n)
		case w.n > 0:
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("compared %d sessions, want at least 50", compared)
	}
}
