package wire

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/formats/run"
	"hydrant/internal/fixture"
)

// dragging returns a drag on a clock that the test moves: a sleep ends late by late(k), k
// being its number from 0, and burning takes what step says.
func dragging(s Slowness, late func(k int) int64, step int64) (d *drag, now *int64) {
	now = new(int64)
	d = newDrag(&Options{Slow: s, Clock: clock.New(clock.Epoch())})
	d.until = 0
	d.now = func() int64 { return *now }
	k := 0
	d.sleep = func(ns int64) { *now = max(*now, ns) + late(k); k++ }
	d.cpu = func() int64 { *now += step; return *now }
	return d, now
}

// Sleeps that end late do not add up, and neither does the engine's own work: 5,000 events of
// 200 µs take a second.
func TestStallsLieOnOneTimeline(t *testing.T) {
	const events, stall, own = 5000, 200 * time.Microsecond, 7000
	d, now := dragging(Slowness{Stall: stall}, func(k int) int64 {
		if k%1000 == 17 {
			return int64(30 * time.Millisecond) // somebody else had the CPU
		}
		return 60_000
	}, 0)
	d.enter(arrival{stamped: true})
	for range events {
		*now += own
		d.event()
	}
	d.leave()
	if least := int64(events * stall); *now < least || *now > least+60_000 {
		t.Errorf("%d events took %d ns; want %d and one late sleep at most", events, *now, least)
	}
}

// Time in which there was nothing to read is not made up for.
func TestStallsBeginWithTheirEvent(t *testing.T) {
	d, now := dragging(Slowness{Stall: time.Millisecond}, func(int) int64 { return 0 }, 0)
	for i := range int64(10) {
		*now = i * int64(time.Second)
		d.enter(arrival{kernelNS: *now, stamped: i%2 == 0})
		d.event()
		d.leave()
		if want := i*int64(time.Second) + int64(time.Millisecond); *now != want {
			t.Errorf("event %d is read at %d; want %d", i, *now, want)
		}
	}
}

func TestWorkIsBurntToTheNanosecond(t *testing.T) {
	const events, work, step = 1000, 20 * time.Microsecond, 300
	d, now := dragging(Slowness{Work: work}, nil, step)
	for range events {
		d.event()
	}
	// two readings of the clock belong to an event, and one of them is not within its account
	if least := int64(events * work); *now < least || *now > least+(events+1)*step {
		t.Errorf("%d events burnt %d ns; want %d and a reading of the clock each", events, *now, least)
	}
}

func TestNoSlownessCostsNothing(t *testing.T) {
	if d := newDrag(&Options{}); d != nil {
		t.Errorf("newDrag() = %v; want none", d)
	}
}

// A client that is slow on purpose shows in user times and in reads of several segments, not in
// the kernel's stamps.
func TestStallPerEvent(t *testing.T) { both(t, testStallPerEvent) }

func testStallPerEvent(t *testing.T, engine opener) {
	fixture.Need(t, warm(), "the kernel stamps no packets")
	const events, stall = 20, 20 * time.Millisecond
	e := engine(t, Options{Slow: Slowness{Stall: stall}}) // before the server, whose goroutines read it
	var sent atomic.Int64
	s := serve(t, func(c net.Conn, _ *http.Request, _ []byte) bool {
		say(streamHead)(c, nil, nil)
		for range events {
			if !say(chunk(contentEvent("a")))(c, nil, nil) {
				return false
			}
		}
		sent.Store(clockOf(e).Now())
		return say(chunk(doneEvent)+lastChunk)(c, nil, nil)
	})
	row := do(t, e, prepared(t, s.url()))
	if row.Outcome != run.OK || row.TokenEvents.V != events {
		t.Fatalf("outcome %s %q, %v tokens", row.Outcome, row.Error, row.TokenEvents)
	}
	const slack = int64(5 * time.Millisecond) // between two readings of two clocks
	if took := row.LastTokenNS.V - row.DispatchedNS.V; took < events*int64(stall)-slack {
		t.Errorf("%d events were read within %v; want at least %v", events, time.Duration(took), events*stall)
	}
	if row.LastTokenKernelNS.V > sent.Load()+slack {
		t.Errorf("last token in the kernel at %d, sent by %d", row.LastTokenKernelNS.V, sent.Load())
	}
	if row.SegmentsIn.V < events || row.Reads.V*2 > row.SegmentsIn.V || row.MultiEventReads.V < 1 {
		t.Errorf("%v segments in %v reads, %v of several events; want reads of several segments", row.SegmentsIn, row.Reads, row.MultiEventReads)
	}
}

// Answers share one account: their events wait for each other.
func TestStallsOfManyAnswersAddUp(t *testing.T) { both(t, testStallsOfManyAnswersAddUp) }

func testStallsOfManyAnswersAddUp(t *testing.T, engine opener) {
	const answers, stall = 8, 5 * time.Millisecond
	s := serve(t, say(whole(good...)))
	e := engine(t, Options{Slow: Slowness{Stall: stall}})
	began := clockOf(e).Now()
	rows := make([]*run.Request, answers)
	var all sync.WaitGroup
	for i := range rows {
		all.Go(func() { rows[i] = do(t, e, prepared(t, s.url())) })
	}
	all.Wait()
	var events, last int64
	for _, row := range rows {
		events += row.TokenEvents.V
		last = max(last, row.EndNS.V)
	}
	if events == 0 || last-began < events*int64(stall) {
		t.Errorf("%d events were read within %v; want %v each", events, time.Duration(last-began), stall)
	}
}

// Work is CPU time of this process.
func TestWorkPerEvent(t *testing.T) { both(t, testWorkPerEvent) }

func testWorkPerEvent(t *testing.T, engine opener) {
	const work = 5 * time.Millisecond
	s := serve(t, say(whole(good...)))
	e := engine(t, Options{Slow: Slowness{Work: work}})
	before := burnt(t)
	var events int64
	for range 5 {
		events += do(t, e, prepared(t, s.url())).TokenEvents.V
	}
	if took := burnt(t) - before; events == 0 || took < events*int64(work) {
		t.Errorf("%d events took %v of CPU; want at least %v each", events, time.Duration(took), work)
	}
}

// An answer in one document is one event.
func TestStallOfADocument(t *testing.T) { both(t, testStallOfADocument) }

func testStallOfADocument(t *testing.T, engine opener) {
	const stall = 20 * time.Millisecond
	s := serve(t, say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk(plainAnswer)+lastChunk))
	e := engine(t, Options{Slow: Slowness{Stall: stall}})
	p := prepared(t, s.url())
	p.Stream = false
	row := do(t, e, p)
	if row.Outcome != run.OK || row.FirstTokenNS.V-row.DispatchedNS.V < int64(stall) {
		t.Errorf("outcome %s, dispatched at %v and first token at %v; want %v between them", row.Outcome, row.DispatchedNS, row.FirstTokenNS, stall)
	}
}

// burnt returns the CPU time of this process, ns.
func burnt(t *testing.T) int64 {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
