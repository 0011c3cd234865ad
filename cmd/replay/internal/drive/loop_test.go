package drive

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats"
	"hydrant/formats/schedule"
)

// looped is a feeder over passes of the same requests.
func looped(t *testing.T, n int64, requests ...schedule.Request) *feeder {
	t.Helper()
	again := func() (*schedule.Reader, error) { return plan(t, requests...), nil }
	r, _ := again()
	return &feeder{r: r, workers: 1, serverBlock: 1, requests: n, timing: worker.Asap, loop: loop{Again: again}}
}

func TestPassesAreApart(t *testing.T) {
	f := looped(t, 7,
		schedule.Request{ID: 0, AtNS: some(10), Session: "a", InputTokens: some(64), Blocks: blocks(0, schedule.Run{0, 2})},
		schedule.Request{ID: 1, AtNS: some(40), Session: "a", Turn: 1, After: []int64{0}, InputTokens: some(96), Blocks: blocks(2, schedule.Run{7, 1})},
		schedule.Request{ID: 2, Session: "a", Turn: 2, After: []int64{0, 1}, DelayNS: some(5), InputTokens: some(1)})
	jobs, err := all(t, f)
	if err != io.EOF || !f.planEnd {
		t.Fatalf("ends with %v, plan ended %v; want the end of the plan", err, f.planEnd)
	}
	var got []string
	for _, j := range jobs {
		r := &j.Request
		scope := "–"
		if r.Blocks != nil {
			scope = r.Blocks.Scope
		}
		got = append(got, fmt.Sprint(r.ID, " ", j.Pass, " ", r.AtNS, " ", r.After, " ", r.Session, " ", scope, " ", j.Expected))
	}
	want := []string{
		"0 0 10 [] a x 0", "1 0 40 [0] a x 64", "2 0 null [0 1] a – null",
		"3 1 50 [] a#1 x#1 0", "4 1 80 [3] a#1 x#1 64", "5 1 null [3 4] a#1 – null",
		"6 2 90 [] a#2 x#2 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("id, pass, at, after, session, scope, expected (-want +got):\n%s", d)
	}
	if f.cache.Distinct != 2 {
		t.Errorf("the cache holds %d blocks; want those of the pass alone, 2", f.cache.Distinct)
	}
	if n := len(f.trailers()); n != 1 {
		t.Errorf("%d trailers; want that of the first pass", n)
	}
}

func TestLoopsThatCannotBe(t *testing.T) {
	still := looped(t, 0, schedule.Request{ID: 0, AtNS: some(0), Session: "a"})
	still.timing, still.duration = worker.Schedule, 1000
	var syntax *formats.SyntaxError
	if _, err := all(t, still); !errors.As(err, &syntax) || syntax.What != "span" {
		t.Errorf("no span: %v; want a syntax error", err)
	}
	if jobs, err := all(t, looped(t, 5)); err != io.EOF || len(jobs) != 0 {
		t.Errorf("an empty schedule: %d lines, %v; want the end", len(jobs), err)
	}
	changed := looped(t, 3, schedule.Request{ID: 0, AtNS: some(0), Session: "a"})
	changed.loop.Again = func() (*schedule.Reader, error) {
		return plan(t, schedule.Request{ID: 0, AtNS: some(0), Session: "b"}), nil
	}
	if jobs, err := all(t, changed); err == nil || !strings.Contains(err.Error(), "has changed since the first pass") || len(jobs) != 2 {
		t.Errorf("another schedule: %d lines, %v; want a refusal at its end", len(jobs), err)
	}
	gone := looped(t, 3, schedule.Request{ID: 0, AtNS: some(0), Session: "a"})
	gone.loop.Again = func() (*schedule.Reader, error) { return nil, io.EOF }
	if _, err := all(t, gone); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an empty second reading: %v; want a truncation, not an end", err)
	}
}

func TestLiteralTextIsNoticed(t *testing.T) {
	f := looped(t, 2, schedule.Request{ID: 0, AtNS: some(0), Session: "a", Body: []byte(`{"prompt":"hello"}`)})
	if _, err := all(t, f); err != io.EOF || !f.loop.literal {
		t.Errorf("%v, literal %v; want the end, and the repeated text noticed", err, f.loop.literal)
	}
}

func TestUntimedLinesUnderStrict(t *testing.T) {
	for what, r := range map[string]schedule.Request{
		"at_ns":   {ID: 1, Session: "a", After: []int64{0}},
		"context": {ID: 1, AtNS: some(5), Session: "a", Context: schedule.Delta},
	} {
		f := &feeder{workers: 1, serverBlock: 1, timing: worker.Strict, r: plan(t, schedule.Request{ID: 0, AtNS: some(0), Session: "a"}, r)}
		var syntax *formats.SyntaxError
		if jobs, err := all(t, f); len(jobs) != 1 || !errors.As(err, &syntax) || syntax.What != what {
			t.Errorf("%s: %d lines, then %v", what, len(jobs), err)
		}
	}
}
