//go:build linux

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// every is a plan of n requests of one token, one each gap.
func every(n int, gap time.Duration) []schedule.Request {
	requests := make([]schedule.Request, n)
	for i := range requests {
		requests[i] = request(i, time.Duration(i)*gap)
		requests[i].OutputTokens = formats.Some(1)
	}
	return requests
}

// 5,000 requests a second are sent, every one, and none is moved (ai-dynamo/aiperf#1185: a
// timer of whole milliseconds that forgets its backlog delivers fewer, and says nothing).
func TestFiveThousandASecond(t *testing.T) {
	const rate, n = 5000, 15_000
	p := replay(t, 0, "--null", "--workers", "1", planFile(t, every(n, time.Second/rate)))
	run := read(t, p.out.Bytes())
	for id, row := range run.rows {
		if at := id * int64(time.Second) / rate; row.Outcome != format.OK || row.DueNS != formats.Some(at) || row.TokenEvents.V != 1 {
			t.Fatalf("request %d is %s (%s), due %v, %v token events; want ok, %d, 1", id, row.Outcome, row.Error, row.DueNS, row.TokenEvents, at)
		}
	}
	s := scalarsOf(t, p.out.Bytes())
	if len(run.rows) != n || run.end.Planned != n || s["sent_share"] != 1 {
		t.Errorf("%d rows of %d planned, sent share %v; want %d, %d, 1", len(run.rows), run.end.Planned, s["sent_share"], n, n)
	}
}

// A generator that stands still for a second sends all that was due meanwhile, late, skips
// nothing and moves nothing: what is due later leaves on time again.
func TestAStallOfTheGeneratorIsLag(t *testing.T) {
	const rate, n, stall = 2000, 12_000, time.Second
	p := start(t, nil, "--null", "--workers", "1", "--preflight", "off", "--model", "sim", "--progress", planFile(t, every(n, time.Second/rate)))
	sending(t, p, 0)
	pid := children(t, p.Process.Pid, "worker-of-replay")[0]
	stopped, went := standing(t, pid, stall)
	if got := p.end(); got != 0 {
		t.Fatalf("status %d:\n%s", got, p.said())
	}
	run := read(t, p.out.Bytes())
	epoch := run.header.Epoch.MonotonicNS
	stopped, went = stopped-epoch, went-epoch
	var meanwhile int
	var after []int64
	for id, row := range run.rows {
		if at := id * int64(time.Second) / rate; row.Outcome != format.OK || row.DueNS != formats.Some(at) || row.ScheduledNS != formats.Some(at) {
			t.Fatalf("request %d is %s (%s), due %v, scheduled %v; want ok, %d", id, row.Outcome, row.Error, row.DueNS, row.ScheduledNS, at)
		}
		lag := row.DispatchedNS.V - row.DueNS.V
		switch due := row.DueNS.V; {
		case due >= stopped && due < went:
			meanwhile++
			if lag < went-due {
				t.Fatalf("request %d was due %v before the stall ended and has a lag of %v", id, time.Duration(went-due), time.Duration(lag))
			}
		case due > went+int64(stall):
			after = append(after, lag)
		}
	}
	if len(run.rows) != n || meanwhile < rate*9/10 || len(after) < rate/2 {
		t.Fatalf("%d rows, %d due in the stall, %d a second after it; want %d, about %d, some", len(run.rows), meanwhile, len(after), n, rate)
	}
	slices.Sort(after)
	if lag := time.Duration(after[len(after)/2]); lag > stall/4 {
		t.Errorf("median lag %v a second after the stall; want the plan not shifted", lag)
	}
}

// standing stops a process for so long. From the first instant on it stood still, until the
// second it did; both on CLOCK_MONOTONIC.
func standing(t *testing.T, pid int, d time.Duration) (from, to int64) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the stop", func() bool { return standsStill(pid) })
	from = clock.Monotonic()
	time.Sleep(d) // the stall itself
	to = clock.Monotonic()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	return from, to
}

// A server that freezes for six seconds: whatever was due meanwhile is sent meanwhile, and its
// latency from the due time, and on the wire, holds the rest of the freeze (gatling/gatling#2077:
// nobody sends while the server is frozen, so the freeze hardly shows).
func TestAFreezeOfTheServerShowsInAll(t *testing.T) {
	t.Parallel()
	const rate, n, freeze = 50, 450, 6 * time.Second
	p := start(t, nil, "--sim", "null", "--workers", "1", "--preflight", "off", "--model", "sim", "--progress", planFile(t, every(n, time.Second/rate)))
	sending(t, p, 0)
	pid := children(t, p.Process.Pid, "serve")[0]
	stopped, went := standing(t, pid, freeze)
	if got := p.end(); got != 0 {
		t.Fatalf("status %d:\n%s", got, p.said())
	}
	run := read(t, p.out.Bytes())
	epoch := run.header.Epoch.MonotonicNS
	stopped, went = stopped-epoch, went-epoch
	var meanwhile, sent int
	for id, row := range run.rows {
		if row.Outcome != format.OK {
			t.Fatalf("request %d is %s (%s)", id, row.Outcome, row.Error)
		}
		if row.DueNS.V < stopped || row.DueNS.V >= went {
			continue
		}
		meanwhile++
		if row.FirstTokenNS.V < went || row.FirstTokenKernelNS.Valid && row.FirstTokenKernelNS.V < went {
			t.Errorf("request %d was due in the freeze and has its first token at %v, in the kernel %v; want it behind the freeze, %d", id, row.FirstTokenNS, row.FirstTokenKernelNS, went)
		}
		if row.DispatchedNS.V < went {
			sent++
		}
	}
	if meanwhile < rate*5 || sent < meanwhile*9/10 {
		t.Errorf("%d requests were due in the freeze and %d of them sent in it; want about %d, and nearly all", meanwhile, sent, int(freeze.Seconds())*rate)
	}
	// Two thirds of the plan were due in the freeze, so half of it waited for a second or more.
	sides := 0
	for _, m := range reduced(t, p.out.Bytes()).Metrics {
		if !strings.HasPrefix(m.ID, "ttft") || m.N == 0 {
			continue
		}
		sides++
		for _, q := range m.Percentiles {
			if q.Level == 500 && q.Value.V < int64(time.Second)/2 {
				t.Errorf("TTFT p50 (%s) is %v; want the freeze in it", m.ID, time.Duration(q.Value.V))
			}
		}
	}
	if sides < 2 {
		t.Errorf("TTFT on %d sides; want the user's and the wire's", sides)
	}
}
