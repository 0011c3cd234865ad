package spill

import (
	"math/rand/v2"
	"testing"
)

// A table behaves like a map in which everything is 0 at first, wherever its pages lie.
func TestTable(t *testing.T) {
	const far = 4 * pages * PageEntries
	for _, tt := range []struct {
		name string
		at   func(r *rand.Rand, i int64) int64
		file bool
	}{
		{"in order, in memory", func(_ *rand.Rand, i int64) int64 { return i % (pages * PageEntries) }, false},
		{"in order", func(_ *rand.Rand, i int64) int64 { return i }, true},
		{"near", func(r *rand.Rand, i int64) int64 { return max(0, i-r.Int64N(3*PageEntries)) }, true},
		{"anywhere", func(r *rand.Rand, _ int64) int64 { return r.Int64N(far) }, true},
		{"one page of each slot's rivals", func(r *rand.Rand, _ int64) int64 { return r.Int64N(8) * pages * PageEntries }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var table Table
			defer table.Close()
			want := map[int64]int64{}
			for i := range int64(far) {
				at := tt.at(r, i)
				if got, err := table.Get(at); err != nil || got != want[at] {
					t.Fatalf("step %d: number %d = %d, %v; want %d", i, at, got, err, want[at])
				}
				if at = tt.at(r, i); r.IntN(3) > 0 {
					want[at] = r.Int64() - r.Int64()
					if err := table.Set(at, want[at]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for at, v := range want {
				if got, err := table.Get(at); err != nil || got != v {
					t.Fatalf("at the end: number %d = %d, %v; want %d", at, got, err, v)
				}
			}
			if (table.file != nil) != tt.file {
				t.Errorf("a file: %v; want %v", table.file != nil, tt.file)
			}
		})
	}
}

func TestTableIsEmptyAfterClose(t *testing.T) {
	var table Table
	for i := range int64(2 * pages * PageEntries) {
		if err := table.Set(i, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := table.Get(0); v != 0 || err != nil {
		t.Errorf("Get(0) = %d, %v; want 0", v, err)
	}
}
