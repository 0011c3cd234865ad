package pace

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fake is a clock that moves only while somebody sleeps, and then oversleeps by late().
type fake struct {
	t    int64
	late func() int64
}

func (f *fake) now() int64 { return f.t }

func (f *fake) sleep(until int64) {
	if until == Forever {
		panic("asleep for ever")
	}
	f.t = max(f.t, until) + f.late()
}

func TestTwoHoursWithoutDrift(t *testing.T) {
	const gap, n = int64(7 * time.Millisecond), 2 * 3600 * 1000 / 7
	r := rand.New(rand.NewPCG(1, 2))
	f := &fake{late: func() int64 { return r.Int64N(1000_000) }}
	q := New[int64](f.now, f.sleep, func() {})
	q.Start()
	for i := range int64(n) {
		q.Push(i*gap, i)
	}
	var released, last, worst int64
	q.Run(func(v, now int64) {
		if v != released {
			t.Fatalf("release %d = item %d", released, v)
		}
		lag := now - v*gap
		if lag < 0 {
			t.Fatalf("item %d went out %d ns early", v, -lag)
		}
		worst = max(worst, lag)
		released++
		if last = lag; released == n {
			q.Close()
		}
	})
	if released != n || worst >= 1000_000 || last >= 1000_000 {
		t.Errorf("released %d, worst lag %d ns, last lag %d ns; want %d and each sleep's own lateness only", released, worst, last, n)
	}
}

func TestStallSendsEverythingLate(t *testing.T) {
	const rate, n = 5000, 10000
	stall := int64(time.Second)
	f := &fake{late: func() int64 { return 0 }}
	q := New[int](f.now, f.sleep, func() {})
	q.Start()
	gap := int64(time.Second) / rate
	for i := range n {
		q.Push(int64(i)*gap, i)
	}
	var lags []int64
	q.Run(func(v int, now int64) {
		if v == 1000 {
			f.t += stall // the process is stopped for a second
		}
		lags = append(lags, now-int64(v)*gap)
		if len(lags) == n {
			q.Close()
		}
	})
	if len(lags) != n {
		t.Fatalf("released %d; want %d", len(lags), n)
	}
	late := 0
	for _, l := range lags {
		if l > 0 {
			late++
		}
	}
	if late != rate-1 || lags[1001] != stall-gap || lags[n-1] != 0 {
		t.Errorf("late %d, first after the stall %d ns, last %d ns; want %d, %d, 0: overdue items go out at once, the plan is not shifted",
			late, lags[1001], lags[n-1], rate-1, stall-gap)
	}
}

func TestTiesKeepTheirOrder(t *testing.T) {
	f := &fake{late: func() int64 { return 0 }}
	q := New[int](f.now, f.sleep, func() {})
	want := make([]int, 500)
	for i := range want {
		want[i] = i
		q.Push(int64(i/100), i)
	}
	if n, due := q.Len(); n != 500 || due != 100 {
		t.Errorf("Len() = %d, %d; want 500, 100", n, due)
	}
	q.Start()
	var got []int
	q.Run(func(v int, now int64) {
		if got = append(got, v); len(got) == len(want) {
			q.Close()
		}
	})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCloseReturnsTheRest(t *testing.T) {
	f := &fake{late: func() int64 { return 0 }}
	q := New[int](f.now, f.sleep, func() {})
	for _, due := range []int64{5, 1, 4, 2, 3} {
		q.Push(due, int(due))
	}
	if got, want := q.Close(), []int{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("Close() = %v; want %v", got, want)
	}
	q.Run(func(int, int64) { t.Error("released after Close") })
}
