package fold

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// What a store gives back is what was added, whatever the values: in order and out of it,
// whole, picked and column by column.
func TestStoreKeepsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	value := func(kind int) int64 {
		switch kind {
		case 0:
			return null
		case 1:
			return r.Int64() - r.Int64()
		case 2:
			return 1<<60 - r.Int64N(1000)
		case 3:
			return math.MaxInt64
		case 4:
			return math.MinInt64 + 1
		}
		return r.Int64N(1 << r.IntN(40))
	}
	for _, wild := range []int{0, 5, 300} { // of a thousand values
		var s store
		var rows []rec
		for range 3*blockRows + 17 {
			q := &rec{outcome: uint8(r.IntN(13)), source: uint8(r.IntN(5)), reused: int8(r.IntN(3) - 1), local: r.IntN(2) == 0, early: r.IntN(2) == 0,
				spooled: r.IntN(2) == 0, whole: r.IntN(2) == 0}
			for c := range q.ints() {
				q.ints()[c] = 1e9 + r.Int64N(1<<20)
				switch {
				case r.IntN(1000) < wild:
					q.ints()[c] = value(r.IntN(6))
				case len(rows)/blockRows == 1 && c%3 == 0, r.IntN(20) == 0 && c%2 == 0:
					q.ints()[c] = null
				case c%5 == 0:
					q.ints()[c] = -3
				}
			}
			rows = append(rows, *q)
			s.put(q)
		}
		s.close()
		c, lead, some := s.cursor(), s.cursor(), new(frame)
		for i := range rows {
			if got := c.row(c.seek(i)); got != rows[i] {
				t.Fatalf("%d wild: row %d is %+v; want %+v", wild, i, got, rows[i])
			}
			k := r.IntN(len(rows))
			if i%blockRows == 0 {
				picks := []int32{int32(k)}
				for range r.IntN(blockRows) {
					picks = append(picks, int32(r.IntN(len(rows))))
				}
				if r.IntN(2) == 0 {
					slices.Sort(picks)
				}
				some.pick(&s, picks)
				for j := len(picks) - 1; j >= 0; j-- {
					if got := some.row(j); got != rows[picks[j]] {
						t.Fatalf("%d wild: row %d among %d is %+v; want %+v", wild, picks[j], len(picks), got, rows[picks[j]])
					}
				}
			}
			if got := s.read(int32(k)); got != rows[k] {
				t.Fatalf("%d wild: row %d alone is %+v; want %+v", wild, k, got, rows[k])
			}
			j, some := lead.seek(k), r.IntN(recInts)
			if got := lead.col(some)[j]; got != rows[k].ints()[some] {
				t.Fatalf("%d wild: column %d of row %d is %d; want %d", wild, some, k, got, rows[k].ints()[some])
			}
		}
	}
}

// Rows with values and holes of all kinds take little of what a request may cost.
func TestStoreIsSmall(t *testing.T) {
	const n = 40 * blockRows
	f := newFold(Options{})
	for i, rows := 0, randomRows(5, n); i < n; i++ {
		var r rec
		if err := f.take(&r, &rows[i], "x", 0); err != nil {
			t.Fatal(err)
		}
		f.rows.put(&r)
	}
	bytes := 0
	for _, b := range f.rows.blocks {
		bytes += len(b.data) + int(unsafe.Sizeof(*b))
	}
	if per := bytes / n; per > 120 {
		t.Errorf("a row takes %d bytes; want at most 120 of the %d of a request", per, BytesPerRequest)
	}
}
