package slots

import (
	"sync"
	"sync/atomic"
	"testing"
)

func fixed(n int64) func() int64 { return func() int64 { return n } }

// pair is the same cap in two mappings, as two processes have it.
func pair(t *testing.T, limit int64) (a, b *Pool, m *Memory) {
	t.Helper()
	m, f, err := New(2)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(f, 2)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { m.Close(); other.Close() })
	return m.Pool(0, 0, fixed(limit)), other.Pool(0, 1, fixed(limit)), m
}

func TestTheCapHoldsOverProcesses(t *testing.T) {
	a, b, m := pair(t, 3)
	for i := range 3 {
		if !a.Take(int64(i)) {
			t.Fatalf("slot %d is not given", i)
		}
	}
	if a.Take(3) || b.Take(4) {
		t.Error("a fourth slot is given")
	}
	a.Free()
	if !b.Take(4) {
		t.Error("a freed slot is not given to the other process")
	}
	if got := m.Peak(0); got != 3 {
		t.Errorf("Peak() = %d; want 3", got)
	}
	if m.Peak(1) != 0 {
		t.Error("the other cap has changed")
	}
}

func TestStuck(t *testing.T) {
	a, b, m := pair(t, 2)
	a.Take(0)
	if m.Stuck(0, 2) {
		t.Error("stuck with a free slot")
	}
	b.Take(1)
	b.Work(3)
	if m.Stuck(0, 2) {
		t.Error("stuck with work to do")
	}
	b.Work(-3)
	if !m.Stuck(0, 2) || m.Used(0) != 2 {
		t.Error("not stuck with all slots held and nothing to do")
	}
}

func TestSlotsAreSharedEvenly(t *testing.T) {
	a, b, m := pair(t, 4)
	for range 4 {
		a.Take(0)
	}
	b.Wait(9)
	if !m.Waiting(1) || m.Waiting(0) {
		t.Error("Waiting() does not tell who waits")
	}
	a.Free()
	if a.Take(1) {
		t.Error("a process with three slots goes before one that waits with none")
	}
	if !a.Others() {
		t.Error("the slot is free and nobody is told")
	}
	if !b.Take(9) {
		t.Error("the one that waits gets nothing")
	}
	a.Free() // two and one
	if a.Take(1) {
		t.Error("a process with two slots goes before one that waits with one")
	}
	b.Take(10) // two each
	b.Wait(11)
	a.Free()
	if !a.Take(1) {
		t.Error("with one against two the process keeps its slot")
	}
}

func TestOneSlotGoesToTheEarliest(t *testing.T) {
	a, b, _ := pair(t, 1)
	a.Take(0)
	b.Wait(5)
	a.Free()
	if a.Take(7) {
		t.Error("the later one goes first")
	}
	if !b.Take(5) {
		t.Error("the earlier one does not go")
	}
	b.Wait(None)
	a.Wait(7)
	b.Free()
	if b.Take(8) || !a.Take(7) {
		t.Error("turns do not alternate")
	}
}

// Many takers at once: never more than the cap, and everybody gets on.
func TestUnderContention(t *testing.T) {
	const members, limit, rounds = 4, 3, 500
	m, f, err := New(members)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f.Close()
	var inside, worst atomic.Int64
	var wg sync.WaitGroup
	wake := make([]chan struct{}, members)
	for i := range wake {
		wake[i] = make(chan struct{}, 1)
	}
	bell := func() {
		for _, c := range wake {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	for i := range members {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p := m.Pool(1, i, fixed(limit))
			for k := range rounds {
				key := int64(k)
				for !p.Take(key) {
					p.Wait(key)
					if p.Take(key) {
						break
					}
					if p.Others() {
						bell()
					}
					<-wake[i]
				}
				p.Wait(None)
				if p.Others() {
					bell()
				}
				n := inside.Add(1)
				for w := worst.Load(); n > w && !worst.CompareAndSwap(w, n); w = worst.Load() {
				}
				inside.Add(-1)
				p.Free()
				if p.Others() {
					bell()
				}
			}
		}()
	}
	wg.Wait()
	if worst.Load() > limit {
		t.Errorf("%d held at once; want at most %d", worst.Load(), limit)
	}
	if m.Peak(1) > limit {
		t.Errorf("Peak() = %d; want at most %d", m.Peak(1), limit)
	}
}
