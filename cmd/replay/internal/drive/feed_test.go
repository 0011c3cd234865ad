package drive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// plan writes a schedule of requests and returns its reader.
func plan(t *testing.T, requests ...schedule.Request) *schedule.Reader {
	t.Helper()
	var buf bytes.Buffer
	w, err := schedule.NewWriter(&buf, schedule.Header{Block: &schedule.Block{Tokens: 32, Last: schedule.Partial}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		r := &requests[i]
		if r.Context == "" {
			r.Context = schedule.Whole
		}
		if r.Stream == "" {
			r.Stream = "0"
		}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(schedule.Trailer{}); err != nil {
		t.Fatal(err)
	}
	r, err := schedule.NewReader(&buf, "plan")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func blocks(keep int64, add ...schedule.Run) *schedule.Blocks {
	return &schedule.Blocks{Scope: "x", Keep: keep, Add: add}
}

func some(v int64) formats.Int { return formats.Some(v) }

// all reads the plan to its end.
func all(t *testing.T, f *feeder) (jobs []*link.Job, err error) {
	t.Helper()
	for {
		l, err := f.next()
		if err != nil {
			return jobs, err
		}
		j, err := link.DecodeJob(l.job)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
}

func TestExpectedCachedTokens(t *testing.T) {
	r := plan(t,
		schedule.Request{ID: 0, AtNS: some(0), Session: "a", InputTokens: some(80), Blocks: blocks(0, schedule.Run{0, 3})},
		schedule.Request{ID: 1, AtNS: some(0), Session: "a", Turn: 1, InputTokens: some(128), Blocks: blocks(2, schedule.Run{7, 2})}, // 64 of 128 seen
		schedule.Request{ID: 2, AtNS: some(0), Session: "b", InputTokens: some(80), Blocks: blocks(0, schedule.Run{0, 3})},           // all seen: 80, less a part block of 16
		schedule.Request{ID: 3, AtNS: some(0), Session: "c", InputTokens: some(50), Blocks: blocks(0, schedule.Run{1, 1})},           // 32 seen: less than one block of 48
		schedule.Request{ID: 4, AtNS: some(0), Session: "d", InputTokens: some(50)},
		schedule.Request{ID: 5, AtNS: some(0), Session: "e", InputTokens: some(64), Context: schedule.Delta, Blocks: blocks(0, schedule.Run{0, 2})},
	)
	f := &feeder{r: r, workers: 3, serverBlock: 48}
	jobs, err := all(t, f)
	if err != io.EOF || !f.whole || f.planEnd {
		t.Fatalf("ends with %v, whole %v", err, f.whole)
	}
	var got []formats.Int
	for _, j := range jobs {
		got = append(got, j.Expected)
	}
	if d := cmp.Diff([]formats.Int{some(0), some(48), some(48), {V: 0, Valid: true}, {}, {}}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][2]int64{{0, 2}, {7, 2}}, jobs[1].Request.Blocks.Add); d != "" {
		t.Errorf("ids of the whole prompt: %s", d)
	}
}

func TestThePlanEnds(t *testing.T) {
	requests := make([]schedule.Request, 10)
	for i := range requests {
		requests[i] = schedule.Request{ID: int64(i), AtNS: some(int64(i) * int64(time.Second)), Session: fmt.Sprint(i)}
	}
	for _, c := range []struct {
		requests int64
		duration time.Duration
		want     int
	}{{0, 0, 10}, {4, 0, 4}, {0, 4 * time.Second, 4}, {3, 9 * time.Second, 3}, {20, time.Hour, 10}} {
		f := &feeder{r: plan(t, requests...), workers: 1, serverBlock: 1, requests: c.requests, duration: c.duration}
		jobs, err := all(t, f)
		if err != io.EOF || len(jobs) != c.want || f.planEnd != (c.want < 10) {
			t.Errorf("--requests %d --duration %s: %d lines, %v, plan ended %v; want %d", c.requests, c.duration, len(jobs), err, f.planEnd, c.want)
		}
	}
}

// reduce would refuse the rows of a line beyond all runs.
func TestLinesBeyondAllRuns(t *testing.T) {
	for what, r := range map[string]schedule.Request{
		"":         {ID: 1, AtNS: some(farthest), After: []int64{0}, DelayNS: some(farthest), Session: "a", Turn: 1},
		"at_ns":    {ID: 1, AtNS: some(farthest + 1), Session: "a", Turn: 1},
		"delay_ns": {ID: 1, After: []int64{0}, DelayNS: some(math.MaxInt64), Session: "a", Turn: 1},
	} {
		jobs, err := all(t, &feeder{r: plan(t, schedule.Request{ID: 0, AtNS: some(0), Session: "a"}, r), workers: 1, serverBlock: 16})
		var se *formats.SyntaxError
		switch {
		case what == "" && (err != io.EOF || len(jobs) != 2):
			t.Errorf("%d jobs, then %v; want both", len(jobs), err)
		case what != "" && (!errors.As(err, &se) || se.What != what || se.Place != "schedule request 1"):
			t.Errorf("error %v; want one about %s of request 1", err, what)
		}
	}
}

func TestSessionsStayTogetherAndSpread(t *testing.T) {
	for _, workers := range []int{1, 2, 5, 7} {
		f := &feeder{workers: workers}
		n := make([]int, workers)
		for i := range 1000 {
			w := WorkerOf(fmt.Sprint("session-", i), f.workers)
			if w != WorkerOf(fmt.Sprint("session-", i), f.workers) {
				t.Fatal("a session changes its worker")
			}
			n[w]++
		}
		for w, k := range n {
			if k < 1000/workers*7/10 || k > 1000/workers*13/10 {
				t.Errorf("worker %d of %d gets %d of 1,000 sessions", w, workers, k)
			}
		}
	}
}

func TestDependenciesStayInTheirSession(t *testing.T) {
	f := &feeder{workers: 1, serverBlock: 1, r: plan(t,
		schedule.Request{ID: 0, AtNS: some(0), Session: "a"},
		schedule.Request{ID: 1, AtNS: some(0), Session: "a", After: []int64{0}},
		schedule.Request{ID: 2, AtNS: some(0), Session: "b", After: []int64{1}})}
	jobs, err := all(t, f)
	var syntax *formats.SyntaxError
	if len(jobs) != 2 || !errors.As(err, &syntax) || !strings.Contains(err.Error(), `got "1", want requests of its own session "b"`) {
		t.Errorf("reads %d lines, then %v", len(jobs), err)
	}
	var k kin
	for id := range int64(3 * kinLines) {
		if err := k.add(&schedule.Request{ID: 2 * id, Session: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		id int64
		ok bool
	}{{2 * (2*kinLines - 1), false}, {2 * 2 * kinLines, true}, {2*2*kinLines + 1, false}, {2 * (3*kinLines - 1), true}} {
		if _, ok := k.find(c.id); ok != c.ok {
			t.Errorf("find(%d) = %v; want %v", c.id, ok, c.ok)
		}
	}
}

func TestLedger(t *testing.T) {
	l := newLedger()
	slim := link.AppendJob(nil, &link.Job{Request: schedule.Request{Session: "s", AtNS: some(9)}})
	for id := range int64(4) {
		l.add(id, &debt{worker: int(id % 2), job: slim, size: 10})
	}
	if !l.sent(link.Stamp{ID: 1, DueNS: 5, DispatchedNS: 6}) || l.sent(link.Stamp{ID: 1}) || l.sent(link.Stamp{ID: 99}) {
		t.Error("a stamp counts once, and only for what is owed")
	}
	if sent, ok := l.settle(0, 0); sent || !ok {
		t.Error("the row of request 0 is not taken")
	}
	if _, ok := l.settle(2, 1); ok {
		t.Error("a row of another worker is taken")
	}
	if l.waiting != 2 || l.bytes != 20 {
		t.Errorf("%d wait with %d bytes; want 2, 20", l.waiting, l.bytes)
	}
	lost := l.writeOff(1)
	if len(lost) != 2 || len(l.owed) != 1 || l.waiting != 1 || l.bytes != 10 {
		t.Fatalf("%d written off, %d owed, %d wait", len(lost), len(l.owed), l.waiting)
	}
	outcomes := map[string]int{}
	for _, d := range lost {
		row, err := d.row("gone", 100)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[row.Outcome]++
		if row.Outcome == run.Truncated && (row.DueNS != some(5) || row.DispatchedNS != some(6) || row.EndNS != some(100)) {
			t.Errorf("row = %+v", row)
		}
		if row.Error != "gone" || row.ScheduledNS != some(9) || row.Worker != some(1) {
			t.Errorf("row = %+v", row)
		}
	}
	if d := cmp.Diff(map[string]int{run.Truncated: 1, run.NotSent: 1}, outcomes); d != "" {
		t.Error(d)
	}
}

func TestLengths(t *testing.T) {
	l := lengths{}
	if got := l.summary(); got != (run.Lengths{}) {
		t.Errorf("summary of none = %+v; want nulls", got)
	}
	l.add(formats.Int{})
	for v := range int64(200) {
		l.add(some(v + 1))
	}
	want := run.Lengths{N: 200, Sum: some(20100), Min: some(1), P50: some(100), P90: some(180), P99: some(198), Max: some(200)}
	if d := cmp.Diff(want, l.summary()); d != "" {
		t.Error(d)
	}
}
