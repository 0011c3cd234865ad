package worker

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/slots"
	"hydrant/formats/schedule"
)

// capped puts caps on a bench, 0 being none, and starts it.
func (b *bench) capped(timing string, requests, sessions int64) *bench {
	m := slots.Private()
	fixed := func(n int64) func() int64 { return func() int64 { return n } }
	if requests > 0 {
		b.board.requests = m.Pool(Requests, 0, fixed(requests))
	}
	if sessions > 0 {
		b.board.sessions = m.Pool(Sessions, 0, fixed(sessions))
	}
	b.timing, b.wake = timing, func() {}
	b.forget = func(all []*flight) {
		for _, f := range all {
			b.given, b.why = append(b.given, f.job.Request.ID), append(b.why, "forgotten")
			b.landed(f, b.clock, false)
			b.reported()
		}
	}
	b.begin()
	return b
}

// line accepts a line of a session.
func (b *bench) line(id int64, session string, last bool, at int64, after ...int64) {
	b.accept(&link.Job{Request: schedule.Request{ID: id, Session: session, Last: last, Stream: "0", Context: schedule.Whole, AtNS: some(at), After: after}}, after)
}

// leave lets what is in the queue depart and returns who left.
func (b *bench) leave() (left []*flight) {
	b.prepareAll(1)
	for _, f := range b.flights() {
		if now, ok := b.depart(f); ok {
			f.dispatched = now
			left = append(left, f)
		}
	}
	return left
}

func ids(all []*flight) []int64 {
	list := []int64{}
	for _, f := range all {
		list = append(list, f.job.Request.ID)
	}
	return list
}

func TestACapKeepsTheInstantAndCountsTheWait(t *testing.T) {
	b := newBench(t).capped(Schedule, 2, 0)
	b.clock = 100
	for id := range int64(5) {
		b.line(id, "s", false, 10*id)
	}
	first := b.leave()
	if d := cmp.Diff([]int64{0, 1}, ids(first)); d != "" {
		t.Fatal(d)
	}
	if more := b.leave(); len(more) > 0 || b.waitingForSlots() != 3 {
		t.Errorf("%v leave without a slot, %d wait; want none, 3", ids(more), b.waitingForSlots())
	}
	b.clock = 160
	b.landed(first[0], 160, true)
	b.clock = 170
	next := b.leave()
	if d := cmp.Diff([]int64{2}, ids(next)); d != "" {
		t.Fatal(d)
	}
	if f := next[0]; f.due != 20 || f.capWait != 60 || first[0].capWait != 0 {
		t.Errorf("request 2 is due at %d and waited %v, request 0 %v; want 20, 60, 0", f.due, f.capWait, first[0].capWait)
	}
	b.clock = 200
	b.stop("enough", false, 0)
	slices.Sort(b.given)
	if d := cmp.Diff([]int64{3, 4}, b.given); d != "" {
		t.Error(d)
	}
}

func TestAsapIsDueWithItsSlot(t *testing.T) {
	b := newBench(t).capped(Asap, 1, 0)
	b.clock = 5
	b.line(0, "a", false, 900)
	b.line(1, "a", true, 100, 0)
	b.line(2, "b", true, 0)
	first := b.leave()
	if d := cmp.Diff([]int64{0}, ids(first)); d != "" || first[0].due != 5 || first[0].capWait != unset {
		t.Fatalf("%s, due %d, cap wait %v; want 5, null", d, first[0].due, first[0].capWait)
	}
	b.clock = 50
	b.landed(first[0], 40, true) // its turn comes before another session's root
	if next := b.leave(); len(next) != 1 || next[0].job.Request.ID != 1 || next[0].due != 50 {
		t.Errorf("next %v; want request 1, due at 50 when it had its slot", ids(next))
	}
	b.stop("over", true, 60) // request 2 was never released: it is not in the plan
	if d := cmp.Diff([]int64{2}, b.given); d != "" || b.why[0] != "forgotten" {
		t.Error(d, b.why)
	}
	b.line(3, "c", true, 0)
	if len(b.given) != 2 || b.why[1] != "forgotten" {
		t.Errorf("%v %q: what comes after the end of the plan is not in it", b.given, b.why)
	}
}

func TestASessionKeepsItsSlotToItsEnd(t *testing.T) {
	b := newBench(t).capped(Schedule, 0, 1)
	b.line(0, "a", false, 0)
	b.line(1, "b", true, 1)
	first := b.leave()
	b.landed(first[0], 10, true)
	if more := b.leave(); len(more) > 0 {
		t.Fatalf("%v leave while session a has more to come", ids(more))
	}
	b.line(2, "a", true, 2, 0)
	b.clock = 20
	turn := b.leave()
	if d := cmp.Diff([]int64{2}, ids(turn)); d != "" {
		t.Fatal(d)
	}
	b.clock = 30
	b.landed(turn[0], 30, true)
	next := b.leave()
	if len(next) != 1 || next[0].job.Request.ID != 1 || next[0].capWait != 30 {
		t.Fatalf("%v leave; want request 1 after waiting from 0 to 30", ids(next))
	}
	b.landed(next[0], 40, true)
	if len(b.trees) != 0 {
		t.Errorf("%d sessions are remembered; want none", len(b.trees))
	}

	// A session that the plan cuts ends with the plan.
	b.line(3, "c", false, 50)
	b.line(4, "d", false, 51)
	cut := b.leave()
	b.landed(cut[0], 60, true)
	if len(b.leave()) > 0 {
		t.Fatal("session d opens before c has ended")
	}
	b.finish()
	if d := cmp.Diff([]int64{4}, ids(b.leave())); d != "" {
		t.Error(d)
	}
}

func TestThink(t *testing.T) {
	b := newBench(t).capped(Think, 0, 0)
	b.line(0, "s", false, 100)
	b.job(1, some(5000), some(30), 0)   // a stated delay
	b.job(2, some(170), null, 0)        // 70 after the start of 0
	b.job(3, some(101), null, 0)        // 1 after it, but not before its end
	b.job(4, null, null, 0)             // only the order is known
	b.job(5, some(9000), some(0), 2, 3) // two predecessors: the later end
	b.prepareAll(1)
	all := b.flights()
	if d := cmp.Diff(map[int64]int64{0: 100}, dues(all)); d != "" {
		t.Fatal(d)
	}
	b.clock = 108 // late
	if now, ok := b.depart(all[0]); ok {
		all[0].dispatched = now
	}
	b.landed(all[0], 150, true)
	next := b.flights()
	if d := cmp.Diff(map[int64]int64{1: 180, 2: 178, 3: 150, 4: 150}, dues(next)); d != "" {
		t.Error(d)
	}
	for _, f := range next {
		if id := f.job.Request.ID; id == 2 || id == 3 {
			b.depart(f)
			b.landed(f, 200+id, true)
		}
	}
	if d := cmp.Diff(map[int64]int64{5: 203}, dues(b.flights())); d != "" {
		t.Error(d)
	}
	b.job(6, some(190), null, 0) // its predecessor ended before it was read: 90 after its start
	b.prepareAll(1)
	if d := cmp.Diff(map[int64]int64{6: 198}, dues(b.flights())); d != "" {
		t.Error(d)
	}
}

func TestStrictTakesTheScheduleAlone(t *testing.T) {
	b := newBench(t).capped(Strict, 0, 0)
	b.job(0, some(10), null)
	b.job(1, some(20), some(1000), 0)
	b.prepareAll(1)
	if d := cmp.Diff(map[int64]int64{0: 10, 1: 20}, dues(b.flights())); d != "" {
		t.Error(d)
	}
}

// What is released early is built before what stands first in the schedule, though the
// budget for that is used up.
func TestAReleasedBodyIsNotHeldUpByTheBudget(t *testing.T) {
	b := newBench(t).capped(Think, 0, 0)
	b.line(0, "s", false, 0)
	for id := int64(1); id < 9; id++ {
		b.line(id, "far", false, 1e12)
	}
	b.line(9, "s", true, 1e12, 0)
	b.prepareAll(aheadBudget / 3)
	f := b.flights()[0]
	b.depart(f)
	b.prepareAll(aheadBudget / 3)
	b.landed(f, 10, true)
	if got := b.prepareAll(1); !slices.Contains(got, 9) {
		t.Errorf("built after the release: %v; want request 9 among them", got)
	}
}

func TestRamped(t *testing.T) {
	for _, c := range []struct{ now, n, ramp, want int64 }{
		{-5, 10, 0, 10}, {-5, 10, 900, 1}, {0, 10, 900, 1}, {99, 10, 900, 1}, {100, 10, 900, 2}, {899, 10, 900, 9}, {900, 10, 900, 10}, {9e9, 10, 900, 10},
		{1 << 50, 1 << 24, 1 << 51, 1 << 23},
	} {
		if got := ramped(c.now, c.n, c.ramp); got != c.want {
			t.Errorf("ramped(%d, %d, %d) = %d; want %d", c.now, c.n, c.ramp, got, c.want)
		}
	}
}
