package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// served holds each answer for exactly so long.
func served(d time.Duration) string {
	return fmt.Sprintf("default,stagger,service=const:%s,cache=0", d)
}

// most returns how many of the spans [from, to) that pick yields overlap at once.
func (r *result) most(pick func(q format.Request) (from, to formats.Int)) int {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	for _, q := range r.rows {
		if from, to := pick(q); from.Valid && to.Valid {
			edges = append(edges, edge{from.V, 1}, edge{to.V, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(max(-1, min(1, a.at-b.at)))
		}
		return a.step - b.step // an end makes room for a start at the same instant
	})
	n, most := 0, 0
	for _, e := range edges {
		n += e.step
		most = max(most, n)
	}
	return most
}

func inFlight(q format.Request) (from, to formats.Int) { return q.DispatchedNS, q.EndNS }

// conversations are n sessions of three turns: the second a stated think time after the
// first, the third at the recorded distance to the second. The schedule's times lie
// hours ahead.
func conversations(n int) []schedule.Request {
	var all []schedule.Request
	id := 0
	for i := range n {
		root := request(id, time.Duration(i)*10*time.Millisecond)
		root.Last = false
		second := request(id+1, time.Hour+time.Duration(i)*time.Millisecond)
		second.Last, second.Turn, second.After, second.DelayNS = false, 1, []int64{int64(id)}, formats.Some(int64(30*time.Millisecond))
		third := request(id+2, time.Hour+time.Duration(i)*time.Millisecond+60*time.Millisecond)
		third.Turn, third.After = 2, []int64{int64(id + 1)}
		for _, q := range []*schedule.Request{&root, &second, &third} {
			q.Session = fmt.Sprint("c", i)
		}
		all = append(all, root, second, third)
		id += 3
	}
	slices.SortStableFunc(all, func(a, b schedule.Request) int { return int(max(-1, min(1, a.AtNS.V-b.AtNS.V))) })
	return renumber(all)
}

// renumber gives ids in the order of the lines.
func renumber(all []schedule.Request) []schedule.Request {
	to := map[int64]int64{}
	for i := range all {
		to[all[i].ID] = int64(i)
	}
	for i := range all {
		all[i].ID = int64(i)
		for k, id := range all[i].After {
			all[i].After[k] = to[id]
		}
	}
	return all
}

func TestThinkKeepsDependenciesAndDelays(t *testing.T) {
	requests := conversations(20)
	p := replay(t, 0, planFile(t, requests), "--sim", served(40*time.Millisecond), "--timing", "think", "--workers", "2")
	run := read(t, p.out.Bytes())
	if run.header.Timing != "think" || len(run.rows) != 60 {
		t.Fatalf("timing %s, %d rows; want think, 60", run.header.Timing, len(run.rows))
	}
	for _, q := range requests {
		row := run.rows[q.ID]
		want := q.AtNS.V // roots keep their time
		if len(q.After) > 0 {
			before := run.rows[q.After[0]]
			if want = before.EndNS.V + q.DelayNS.V; !q.DelayNS.Valid {
				want = max(before.EndNS.V, before.DispatchedNS.V+q.AtNS.V-before.ScheduledNS.V)
			}
		}
		if row.Outcome != format.OK || row.DueNS.V != want || row.ScheduledNS != q.AtNS {
			t.Errorf("request %d (turn %d): %s, due %v, scheduled %v; want due %d", q.ID, q.Turn, row.Outcome, row.DueNS, row.ScheduledNS, want)
		}
	}
}

func TestStrictIgnoresDependencies(t *testing.T) {
	var requests []schedule.Request
	for i := range 20 {
		q := request(i, time.Duration(i)*10*time.Millisecond)
		q.Session = "one"
		if q.Last = i == 19; i > 0 {
			q.Turn, q.After, q.DelayNS = int64(i), []int64{int64(i - 1)}, formats.Some(int64(time.Hour))
		}
		requests = append(requests, q)
	}
	p := replay(t, 0, planFile(t, requests), "--sim", served(200*time.Millisecond), "--timing", "strict", "--workers", "1")
	run := read(t, p.out.Bytes())
	for id, row := range run.rows {
		if row.DueNS != row.ScheduledNS || row.Outcome != format.OK {
			t.Errorf("request %d: %s, due %v; want at_ns %v alone", id, row.Outcome, row.DueNS, row.ScheduledNS)
		}
	}
	if run.most(inFlight) < 2 {
		t.Error("turns waited for each other")
	}
	untimed := request(1, 0)
	untimed.AtNS, untimed.After, untimed.Session = formats.Int{}, []int64{0}, "s0"
	first := request(0, 0)
	first.Last = false
	p = replay(t, 3, planFile(t, []schedule.Request{first, untimed}), "--null", "--timing", "strict")
	if !strings.Contains(p.said(), `schedule request 1: at_ns: got "null", want a time on every line under --timing strict`) {
		t.Error(p.said())
	}
}

func TestClosedLoopHoldsItsNumber(t *testing.T) {
	var requests []schedule.Request
	for i := range 300 {
		requests = append(requests, request(i, time.Duration(i)*time.Hour)) // of no consequence
	}
	p := replay(t, 0, planFile(t, requests), "--sim", served(5*time.Millisecond), "--closed", "7", "--workers", "3")
	run := read(t, p.out.Bytes())
	if n := run.most(inFlight); n != 7 || len(run.rows) != 300 {
		t.Errorf("%d in flight at most, %d rows; want 7, 300", n, len(run.rows))
	}
	if h := run.header; h.Timing != "asap" || h.Flags["concurrency"] != "7" || h.Flags["timing"] != "asap" {
		t.Errorf("header: timing %s, flags %v", h.Timing, h.Flags)
	}
	workers := map[int64]int{}
	for id, row := range run.rows {
		workers[row.Worker.V]++
		if row.ScheduledNS.V != id*int64(time.Hour) || row.CapWaitNS.Valid {
			t.Errorf("request %d: scheduled %v, cap_wait %v; want its time in the schedule, and no wait before it is due", id, row.ScheduledNS, row.CapWaitNS)
		}
	}
	if len(workers) != 3 {
		t.Errorf("by worker: %v; want all three at work", workers)
	}
}

// One slot for three workers: every one of them has its turn.
func TestOneSlotForAllWorkers(t *testing.T) {
	var requests []schedule.Request
	for i := range 30 {
		requests = append(requests, request(i, 0))
	}
	run := read(t, replay(t, 0, planFile(t, requests), "--null", "--closed", "1", "--workers", "3").out.Bytes())
	if n := run.most(inFlight); n != 1 || run.outcomes()[format.OK] != 30 {
		t.Errorf("%d in flight at most, outcomes %v; want 1, 30 ok", n, run.outcomes())
	}
}

// The set-up of vllm#54101: 40 requests/s, at most 4 in flight, a server of 190 ms. The
// tool there started its clock behind the gate and reported 196 ms.
func TestTheWaitForASlotIsLatency(t *testing.T) {
	var requests []schedule.Request
	for i := range 80 {
		requests = append(requests, request(i, time.Duration(i)*25*time.Millisecond))
	}
	p := replay(t, 0, planFile(t, requests), "--sim", served(190*time.Millisecond), "--concurrency", "4", "--workers", "2")
	run := read(t, p.out.Bytes())
	if n := run.most(inFlight); n != 4 {
		t.Errorf("%d in flight at most; want 4", n)
	}
	var delayed, user int64
	for id, row := range run.rows {
		lag, wait := row.DispatchedNS.V-row.DueNS.V, row.CapWaitNS
		if row.DueNS != row.ScheduledNS {
			t.Errorf("request %d is due at %v; want its time in the schedule, %v", id, row.DueNS, row.ScheduledNS)
		}
		if !wait.Valid || wait.V < 0 || wait.V > lag {
			t.Errorf("request %d: waited %v for its slot; want a part of its lag %d", id, wait, lag)
		}
		if wait.V > 0 {
			delayed++
		}
		user += row.LastTokenNS.V - row.DueNS.V
		if wire := row.LastTokenNS.V - row.WriteDoneNS.V; wire < int64(185*time.Millisecond) {
			t.Errorf("request %d: %d ns on the wire; want the server's 190 ms", id, wire)
		}
	}
	// 80 requests at 4 per 190 ms take 3.8 s, and are planned for 2 s: the mean waits 0.9 s.
	if mean := time.Duration(user / 80); delayed < 60 || mean < 700*time.Millisecond {
		t.Errorf("%d rows were delayed, mean latency %s; want most, and the wait in it", delayed, mean)
	}
}

func TestSessionsCountWholeTrees(t *testing.T) {
	var requests []schedule.Request
	for i := range 30 { // a root and two branches, then a turn that joins them
		for k, at := range []int{0, 1, 1, 2} {
			q := request(4*i+k, time.Duration(30*at+i)*time.Millisecond)
			q.Session, q.Stream, q.Turn = fmt.Sprint("tree", i), fmt.Sprint(k%3), int64(at)
			q.Last = k == 3
			switch k {
			case 1, 2:
				q.After = []int64{int64(4 * i)}
			case 3:
				q.After = []int64{int64(4*i + 1), int64(4*i + 2)}
			}
			requests = append(requests, q)
		}
	}
	slices.SortStableFunc(requests, func(a, b schedule.Request) int { return int(max(-1, min(1, a.AtNS.V-b.AtNS.V))) })
	last := map[string]int{}
	for i := range requests {
		requests[i].Last, last[requests[i].Session] = false, i
	}
	for _, i := range last {
		requests[i].Last = true
	}
	requests = renumber(requests)
	for _, args := range [][]string{{"--sessions", "3"}, {"--timing", "asap", "--sessions", "3"}, {"--sessions", "3", "--concurrency", "2"}, {"--timing", "think", "--sessions", "3", "--requests", "100"}} {
		p := replay(t, 0, append(args, planFile(t, requests), "--sim", served(5*time.Millisecond), "--workers", "2")...)
		run := read(t, p.out.Bytes())
		sessions := map[string]*format.Request{}
		for _, row := range run.rows {
			s := sessions[row.Session]
			if s == nil {
				s = &format.Request{RequestID: row.RequestID, DispatchedNS: row.DispatchedNS, EndNS: row.EndNS}
				sessions[row.Session] = s
			}
			s.DispatchedNS.V, s.EndNS.V = min(s.DispatchedNS.V, row.DispatchedNS.V), max(s.EndNS.V, row.EndNS.V)
		}
		open := &result{rows: map[int64]format.Request{}}
		for _, s := range sessions {
			open.rows[s.RequestID] = *s
		}
		if n := open.most(inFlight); n != 3 || run.outcomes()[format.OK] != len(run.rows) {
			t.Errorf("%v: %d sessions open at most, outcomes %v; want 3, all ok", args, n, run.outcomes())
		}
	}
}

func TestRampGrowsTheCaps(t *testing.T) {
	var requests []schedule.Request
	for i := range 400 {
		requests = append(requests, request(i, 0))
	}
	const slots, ramp = 20, int64(600 * time.Millisecond)
	p := replay(t, 0, planFile(t, requests), "--sim", served(20*time.Millisecond), "--closed", "20", "--ramp", "600ms", "--workers", "2")
	run := read(t, p.out.Bytes())
	if n := run.most(inFlight); n != slots || run.header.RampNS != ramp {
		t.Errorf("%d in flight at most, ramp %d; want %d, %d", n, run.header.RampNS, slots, ramp)
	}
	for id, row := range run.rows {
		at, n := row.DispatchedNS.V, int64(1)
		for other, o := range run.rows {
			if other != id && o.DispatchedNS.V <= at && o.EndNS.V > at {
				n++
			}
		}
		if most := 1 + (slots-1)*at/ramp; n > most {
			t.Errorf("request %d is one of %d in flight at %d ns; want at most %d", id, n, at, most)
		}
	}
}

func TestDurationEndsAClosedLoop(t *testing.T) {
	var requests []schedule.Request
	for i := range 5000 {
		requests = append(requests, request(i, 0))
	}
	p := replay(t, 0, planFile(t, requests), "--sim", served(50*time.Millisecond), "--closed", "4", "--duration", "500ms", "--workers", "2")
	run := read(t, p.out.Bytes())
	if n := len(run.rows); n == 0 || n > 80 || run.end.Status != format.Complete {
		t.Errorf("%d rows, %s; want those that were released by then, complete", n, run.end.Status)
	}
	for id, row := range run.rows {
		if row.Outcome == format.OK && row.DispatchedNS.V >= int64(500*time.Millisecond) || row.DueNS.V >= int64(500*time.Millisecond) {
			t.Errorf("request %d: due %v, dispatched %v; want before the end of --duration", id, row.DueNS, row.DispatchedNS)
		}
	}
	if sum := run.end.Detail.PlannedTokens.Input.Sum.V; sum != 20*int64(len(run.rows)) {
		t.Errorf("%d tokens planned; want those of %d requests", sum, len(run.rows))
	}
}

func TestLoopSendsFreshPrompts(t *testing.T) {
	plan := planFile(t, sharedPlan())
	whole, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "hashes")
	url, _ := server(t, "--sim", "default,cache=unbounded,step=200us,step_per_seq=0s", "--hash-log", log)
	loop := []string{"--url", url, "--loop", "--requests", "150", "--closed", "8", "--workers", "2"}
	run := read(t, replay(t, 0, append(loop, plan)...).out.Bytes())
	if run.end.Planned != 150 || len(run.end.Detail.ScheduleSHA256) != 1 {
		t.Fatalf("%d planned, schedules %v; want 150, one", run.end.Planned, run.end.Detail.ScheduleSHA256)
	}
	var cached [3]int64
	for id, row := range run.rows {
		pass := id / 60
		first := run.rows[id%60]
		if row.Pass != pass || row.ExpectedCachedTokens != first.ExpectedCachedTokens || row.PlannedInputTokens != first.PlannedInputTokens {
			t.Errorf("request %d: pass %d, expected %v; want pass %d and what pass 0 has, %v", id, row.Pass, row.ExpectedCachedTokens, pass, first.ExpectedCachedTokens)
		}
		if want := first.Session + map[bool]string{true: fmt.Sprint("#", pass)}[pass > 0]; row.Session != want {
			t.Errorf("request %d: session %q; want %q", id, row.Session, want)
		}
		if want := first.ScheduledNS.V + pass*885e6; row.ScheduledNS.V != want { // the last of 60 lies at 885 ms
			t.Errorf("request %d: scheduled %v; want %d", id, row.ScheduledNS, want)
		}
		cached[pass] += row.CachedTokens.V
	}
	// What one pass has is new to the server in the next: it finds as much as it found.
	if cached[0] == 0 || cached[1] != cached[0] {
		t.Errorf("cached tokens by pass: %v; want as many in the second as in the first", cached)
	}
	hashes, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(hashes)) {
		id, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		if other, twice := seen[sum]; twice {
			t.Errorf("requests %s and %s have the same body", other, id)
		}
		seen[sum] = id
	}

	// The same from a pipe, which cannot be read twice.
	p := start(t, bytes.NewReader(whole), loop...)
	if got := p.end(); got != 0 {
		t.Fatalf("from standard input: status %d\n%s", got, p.said())
	}
	piped := read(t, p.out.Bytes())
	for id, row := range run.rows {
		if got := piped.rows[id]; got.Session != row.Session || got.Pass != row.Pass || got.ScheduledNS != row.ScheduledNS {
			t.Fatalf("request %d from standard input: %s, pass %d; want %s, %d", id, got.Session, got.Pass, row.Session, row.Pass)
		}
	}
}

// A loop of an open schedule is the schedule behind itself, and --duration ends it.
func TestLoopUnderScheduleIsTheScheduleBehindItself(t *testing.T) {
	var requests []schedule.Request
	for i := range 11 {
		requests = append(requests, request(i, time.Duration(i)*20*time.Millisecond))
	}
	one, err := os.ReadFile(planFile(t, requests))
	if err != nil {
		t.Fatal(err)
	}
	four := filepath.Join(t.TempDir(), "four.sched")
	if err := os.WriteFile(four, bytes.Repeat(one, 4), 0o600); err != nil {
		t.Fatal(err)
	}
	instants := func(args ...string) map[int64]formats.Int {
		run := read(t, replay(t, 0, append(args, "--null", "--duration", "650ms", "--workers", "2")...).out.Bytes())
		m := map[int64]formats.Int{}
		for id, row := range run.rows {
			m[id] = row.DueNS
		}
		return m
	}
	if d := cmp.Diff(instants(four), instants(planFile(t, requests), "--loop")); d != "" {
		t.Errorf("instants of cat (-) and --loop (+):\n%s", d)
	}
}

func TestAWarningNamesTheCapAndTheRequests(t *testing.T) {
	p := replay(t, 0, planFile(t, []schedule.Request{request(0, 0), request(1, 0)}), "--null", "--closed", "64", "--loop", "--requests", "2")
	for _, want := range []string{"warning: 2 requests are fewer than --concurrency 64", "warning: --loop had no effect"} {
		if !strings.Contains(p.said(), want) {
			t.Errorf("no word %q in\n%s", want, p.said())
		}
	}
}

// A signal ends a loop that --duration would have ended: what was released has rows, the
// passes to come have none.
func TestASignalEndsALoop(t *testing.T) {
	plan := planFile(t, []schedule.Request{request(0, 0), request(1, 0), request(2, 0)})
	p := start(t, nil, plan, "--sim", served(20*time.Millisecond), "--closed", "2", "--loop", "--duration", "1h", "--workers", "2", "--progress", "--grace", "5s")
	sending(t, p, 1)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := p.end(); got != 130 {
		t.Errorf("status %d; want 130\n%s", got, p.said())
	}
	run := read(t, p.out.Bytes())
	if run.end.Status != format.Interrupted || run.most(inFlight) > 2 {
		t.Errorf("status %s, %d in flight; want interrupted, 2", run.end.Status, run.most(inFlight))
	}
	if got := run.outcomes(); got[format.OK] != len(run.rows) || len(run.rows) == 0 {
		t.Errorf("outcomes %v; want all that was released, to its end", got)
	}
}
