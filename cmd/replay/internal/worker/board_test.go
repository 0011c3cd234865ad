package worker

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/pace"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

// bench is a board on a clock that the test moves, with a preparer of its own.
type bench struct {
	*board
	t     *testing.T
	clock int64
	given []int64 // ids given up, in order
	why   []string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t}
	now := func() int64 { return b.clock }
	b.board = newBoard(now, pace.New[*flight](now, nil, func() {}), func(f *flight, reason string) {
		b.given, b.why = append(b.given, f.job.Request.ID), append(b.why, reason)
		b.landed(f, b.clock, false)
		b.reported()
	})
	return b
}

func (b *bench) job(id int64, at, delay formats.Int, after ...int64) {
	b.accept(&link.Job{Request: schedule.Request{ID: id, Session: "s", Stream: "0", Context: schedule.Whole, AtNS: at, DelayNS: delay, After: after}}, after)
}

// prepare builds bodies of size bytes until there is nothing to build.
func (b *bench) prepareAll(size int) (ids []int64) {
	for {
		b.mu.Lock()
		f := b.pickLocked()
		b.mu.Unlock()
		if f == nil {
			return ids
		}
		ids = append(ids, f.job.Request.ID)
		b.ready(f, wire.Prepared{Body: make([]byte, size)}, b.clock)
	}
}

// flights takes all prepared and released flights off the queue, in order.
func (b *bench) flights() []*flight {
	all := b.queue.Close()
	b.queue = pace.New[*flight](func() int64 { return b.clock }, nil, func() {})
	return all
}

func dues(all []*flight) map[int64]int64 {
	m := map[int64]int64{}
	for _, f := range all {
		m[f.job.Request.ID] = f.due
	}
	return m
}

func some(v int64) formats.Int { return formats.Some(v) }

var null formats.Int

func TestDueIsTheLaterOfPlanAndPredecessors(t *testing.T) {
	b := newBench(t)
	b.job(0, some(100), null)
	b.job(1, some(200), null)
	b.job(2, some(1000), some(50), 0, 1) // the plan is later
	b.job(3, some(250), some(50), 0, 1)  // the predecessors are later
	b.job(4, some(250), null, 1)         // only the order is known
	b.job(5, null, some(7), 0)           // dependencies alone
	b.prepareAll(1)
	first := b.flights()
	if d := cmp.Diff(map[int64]int64{0: 100, 1: 200}, dues(first)); d != "" {
		t.Fatal(d)
	}
	for _, f := range first {
		if _, ok := b.depart(f); !ok {
			t.Fatalf("request %d does not depart", f.job.Request.ID)
		}
	}
	b.landed(first[0], 400, true)
	if d := cmp.Diff(map[int64]int64{5: 407}, dues(b.flights())); d != "" {
		t.Errorf("after 0 ended: %s", d)
	}
	b.landed(first[1], 300, true) // whatever its outcome
	if d := cmp.Diff(map[int64]int64{2: 1000, 3: 450, 4: 300}, dues(b.flights())); d != "" {
		t.Errorf("after 1 ended: %s", d)
	}
	b.job(6, some(310), some(20), 0) // its predecessor ended before it was read
	b.prepareAll(1)
	if d := cmp.Diff(map[int64]int64{6: 420}, dues(b.flights())); d != "" {
		t.Error(d)
	}
}

// An instant beyond all time never comes; it is not one long past.
func TestAnEndlessDelayNeverEnds(t *testing.T) {
	for _, timing := range []string{Schedule, Think} {
		b := newBench(t)
		b.timing = timing
		b.clock = 400
		b.job(0, some(0), null)
		b.job(1, null, some(math.MaxInt64), 0)
		b.job(2, some(10), some(math.MaxInt64-100), 0)
		b.prepareAll(1)
		first := b.flights()
		b.depart(first[0])
		b.landed(first[0], 400, true)
		if d := cmp.Diff(map[int64]int64{1: math.MaxInt64, 2: math.MaxInt64}, dues(b.flights())); d != "" {
			t.Errorf("%s: %s", timing, d)
		}
	}
	var slept []int64
	w := worker{engine: sleeper{slept: &slept}, epoch: run.Epoch{MonotonicNS: 1000}, setup: link.Setup{SpinNS: 5}}
	for _, ns := range []int64{7, pace.Forever, pace.Forever - 1, pace.Forever - 1000} {
		w.sleep(ns)
	}
	if d := cmp.Diff([]int64{1002, pace.Forever, pace.Forever, pace.Forever}, slept); d != "" {
		t.Errorf("the engine sleeps until %s", d)
	}
}

// sleeper is an engine that notes until when it was to sleep.
type sleeper struct {
	wire.Engine
	slept *[]int64
}

func (s sleeper) Sleep(ns int64) { *s.slept = append(*s.slept, ns) }

func TestEndingsForgetTheOldest(t *testing.T) {
	e := endings{cap: 3}
	for id := range int64(10) {
		e.add(id, ending{ns: id * 10})
	}
	for id := range int64(10) {
		if how, ok := e.get(id); ok != (id > 6) || ok && how.ns != id*10 {
			t.Errorf("get(%d) = %v, %v", id, how, ok)
		}
	}
	if len(e.at) != 3 || len(e.ring) != 3 {
		t.Errorf("keeps %d and %d; want 3", len(e.at), len(e.ring))
	}
}

func TestStopGivesUpWhatWasNotSent(t *testing.T) {
	b := newBench(t)
	b.job(0, some(0), null)
	b.job(1, some(0), null)
	b.job(2, some(5), null, 0)
	b.job(3, null, null, 2)
	b.prepareAll(1)
	fs := b.flights()
	b.depart(fs[0])
	b.stop("enough", false, 0)
	b.job(4, some(9), null) // was in the pipe
	slices.Sort(b.given)
	if d := cmp.Diff([]int64{1, 2, 3, 4}, b.given); d != "" {
		t.Error(d)
	}
	if _, ok := b.depart(fs[1]); ok {
		t.Error("a request departs after the stop")
	}
	b.stop("twice", false, 0)
	b.finish()
	select {
	case <-b.done:
		t.Fatal("done while a request is in flight")
	default:
	}
	b.landed(fs[0], 7, true)
	b.reported()
	<-b.done
	if i := slices.IndexFunc(b.why, func(s string) bool { return s != "enough" }); i >= 0 {
		t.Errorf("reason %q; want the first", b.why[i])
	}
}

func TestPreparerKeepsItsBudgets(t *testing.T) {
	b := newBench(t)
	b.job(0, some(0), null)
	for id := int64(1); id <= 4; id++ { // all wait for 0
		b.job(id, some(10), null, 0)
	}
	b.job(5, some(1), null)
	b.job(6, some(2), null)
	b.job(7, some(3), null)
	// One body fills the held budget: 2, 3 and 4 are left for later. Two fill the other.
	if d := cmp.Diff([]int64{0, 1, 5}, b.prepareAll(heldBudget)); d != "" {
		t.Error(d)
	}
	fs := b.flights()
	b.depart(fs[0])
	b.depart(fs[1])
	if d := cmp.Diff([]int64{6, 7}, b.prepareAll(1)); d != "" {
		t.Errorf("after two left: %s", d)
	}
	b.landed(fs[0], 20, true)
	if d := cmp.Diff([]int64{2, 3, 4}, b.prepareAll(1)); d != "" {
		t.Errorf("after their predecessor ended: %s", d)
	}
	if d := cmp.Diff(map[int64]int64{1: 20, 2: 20, 3: 20, 4: 20, 6: 2, 7: 3}, dues(b.flights())); d != "" {
		t.Error(d)
	}
}

func TestDeltasAreBuiltWhenTheirReplyIsThere(t *testing.T) {
	b := newBench(t)
	delta := func(id int64, after ...int64) {
		b.accept(&link.Job{Request: schedule.Request{ID: id, Session: "s", Context: schedule.Delta, AtNS: some(id), After: after}}, after)
	}
	delta(0)
	delta(1, 0)
	if got := b.prepareAll(1); !slices.Equal(got, []int64{0}) {
		t.Fatalf("prepares %v; want the first turn only", got)
	}
	fs := b.flights()
	b.depart(fs[0])
	b.landed(fs[0], 50, true)
	if got := b.prepareAll(1); !slices.Equal(got, []int64{1}) {
		t.Errorf("then prepares %v; want the second turn", got)
	}
}

func TestPreparerAnswersWhenIdle(t *testing.T) {
	b := newBench(t)
	b.job(0, some(0), null)
	b.accept(&link.Job{Request: schedule.Request{ID: 1, Session: "s", Context: schedule.Delta, AtNS: some(0), After: []int64{0}}}, []int64{0})
	answered := make(chan []int64, 1)
	var built []int64
	b.ask(func() { answered <- slices.Clone(built) })
	go func() {
		for f := b.nextToPrepare(); f != nil; f = b.nextToPrepare() {
			b.ready(f, wire.Prepared{}, 0)
			built = append(built, f.job.Request.ID)
		}
	}()
	if got := <-answered; !slices.Equal(got, []int64{0}) {
		t.Errorf("answers after %v; want 0, since 1 has to wait for its reply", got)
	}
	b.mu.Lock()
	b.closed = true
	b.work.Broadcast()
	b.mu.Unlock()
}
