package follow

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

func row(i int64, outcome string) *run.Request {
	const ms = 1_000_000
	due := i * 100 * ms
	q := &run.Request{RequestID: i, Session: fmt.Sprint("s", i), DueNS: formats.Some(due), ScheduledNS: formats.Some(due), DispatchedNS: formats.Some(due),
		ConnAskedNS: formats.Some(due + ms), EndNS: formats.Some(due + 80*ms), Outcome: outcome}
	if outcome == run.OK {
		q.FirstTokenNS, q.LastTokenNS, q.OutputTokens = formats.Some(due+20*ms), formats.Some(due+70*ms), formats.Some(11)
		q.TokenSource, q.TokenEvents, q.FirstChunkTokens = run.Usage, formats.Some(11), formats.Some(1)
	}
	return q
}

// Lines come at each interval and hold what is known by then; a percentile with too few
// values is refused.
func TestScreenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Screen{W: &out, Every: 2 * time.Second}
		for i := range int64(30) {
			outcome := run.OK
			if i == 9 {
				outcome = run.HTTPError
			}
			if err := s.Row(row(i, outcome), "run"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			s.Tick()
		}
		// 70.1: the error of a sketch, 0.1 % upward.
		const first = "reduce  00:01  20 ended  10.0 req/s  104 tok/s  ok 19  failed 1  TTFT p50 20.0 p99 – ms  TPOT p50 5.00 ms  E2E p50 70.1 ms  lag p99 – ms\n"
		if got := out.String(); got != first {
			t.Errorf("after 3 s:\n%s; want\n%s", got, first)
		}
		s.Done()
		if out.String() != first {
			t.Error("Done wrote to what is no terminal")
		}
	})
}

// On a terminal a table replaces the one before, and Done removes it.
func TestScreenTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Screen{W: &out, Terminal: true, Every: time.Second}
		for i := range int64(2000) { // beyond a block of rows
			if err := s.Row(row(i, run.OK), "run"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		s.Tick()
		table := out.String()
		for _, want := range []string{"2,000 ended", "TTFT  user", "E2E   user", "so far, ms", "lag  "} {
			if !strings.Contains(table, want) {
				t.Errorf("the table %q lacks %q", table, want)
			}
		}
		if strings.Contains(table, "wire") || strings.Contains(table, "\x1b") {
			t.Errorf("the first table %q has a row without values, or moves the cursor", table)
		}
		clear := fmt.Sprintf("\x1b[%dA\x1b[J", strings.Count(table, "\n"))
		out.Reset()
		time.Sleep(time.Second)
		s.Tick()
		if !strings.HasPrefix(out.String(), clear) {
			t.Errorf("the second table begins %.20q; want %q", out.String(), clear)
		}
		out.Reset()
		s.Done()
		s.Done()
		if out.String() != clear {
			t.Errorf("Done wrote %q; want %q once", out.String(), clear)
		}
	})
}
