package traces

import (
	"fmt"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// chainOf stores a session whose requests each wait for the one before, those of half
// the number before as well.
func chainOf(t *testing.T, n int64, add func(s *store, r *schedule.Request) error) *store {
	t.Helper()
	s := newStore(newIntake("s", false))
	t.Cleanup(func() { s.close() })
	for k := range n {
		r := schedule.Request{ID: 100 + k, AtNS: formats.Some(k), Session: "a", Stream: "0", Turn: k, Context: schedule.Whole}
		if k > 0 {
			r.After = []int64{100 + k - 1}
		}
		if k > 1 && k%2 == 0 {
			r.After = append(r.After, 100+k/2)
		}
		if err := add(s, &r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Whoever is waited for is known by its id as long as that may be asked, and no longer.
func TestStoreForgets(t *testing.T) {
	const n = 1000
	waiters := func(k int64) int {
		w := 0
		if k < n-1 {
			w++
		}
		if k > 0 && 2*k < n && 2*k > 1 {
			w++
		}
		return w
	}
	for name, c := range map[string]struct {
		add  func(s *store, r *schedule.Request) error
		most int
	}{
		"counted": {func(s *store, r *schedule.Request) error { return s.counted(r.AtNS.V, r, waiters(r.ID-100)) }, n/2 + 1},
		"not":     {func(s *store, r *schedule.Request) error { return s.add(r.AtNS.V, r) }, n},
	} {
		s := chainOf(t, n, c.add)
		next, err := s.requests()
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for k := range int64(n) {
			r, err := next()
			if err != nil {
				t.Fatalf("%s: request %d: %v", name, k, err)
			}
			want := "[]"
			if k > 0 {
				want = fmt.Sprint([]int64{k - 1})
			}
			if k > 1 && k%2 == 0 {
				want = fmt.Sprint([]int64{k - 1, k / 2})
			}
			if r.ID != k || fmt.Sprint(r.After) != want || r.Last != (k == n-1) {
				t.Fatalf("%s: request %d = %d after %v, last %v; want after %s", name, k, r.ID, r.After, r.Last, want)
			}
			most = max(most, len(s.sessions["a"].ids))
		}
		if most > c.most {
			t.Errorf("%s: %d ids kept at once; want at most %d", name, most, c.most)
		}
	}
}

// A request that more wait for than a count holds is never forgotten.
func TestStoreKeepsWhatManyWaitFor(t *testing.T) {
	s := newStore(newIntake("s", false))
	defer s.close()
	const n = 600
	for k := range int64(n) {
		r := schedule.Request{ID: k, AtNS: formats.Some(k), Session: "a", Stream: "0", Turn: k, Context: schedule.Whole}
		waiters := 0
		if k == 0 {
			waiters = n - 1
		} else {
			r.After = []int64{0}
		}
		if err := s.counted(k, &r, waiters); err != nil {
			t.Fatal(err)
		}
	}
	next, err := s.requests()
	for range n {
		if err == nil {
			_, err = next()
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// A request that waits for a later one is a fault of its reader, found before it is
// written.
func TestStoreRefusesToWaitForLater(t *testing.T) {
	s := newStore(newIntake("s", false))
	defer s.close()
	for k := range int64(2) {
		r := schedule.Request{ID: k, AtNS: formats.Some(k), Session: "a", Stream: "0", Turn: k, Context: schedule.Whole, After: []int64{1 - k}}
		if err := s.add(k, &r); err != nil {
			t.Fatal(err)
		}
	}
	next, err := s.requests()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = next(); err == nil || !strings.Contains(err.Error(), "waits for 1, which comes later") {
		t.Errorf("error = %v", err)
	}
}
