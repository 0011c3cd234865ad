package traces

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hydrant/formats/schedule"
)

func TestBlockIDs(t *testing.T) {
	type row struct {
		runs []schedule.Run
		n    int64
	}
	for _, tt := range []struct {
		name   string
		rows   []row
		want   *conflict
		breaks int64
	}{
		{"a chain shared", []row{{[]schedule.Run{{0, 3}}, 1500}, {[]schedule.Run{{0, 2}, {9, 1}}, 1300}, {[]schedule.Run{{0, 3}}, 1500}}, nil, 0},
		{"182 and 512 tokens", []row{{[]schedule.Run{{5, 1}}, 182}, {[]schedule.Run{{5, 1}}, 512}}, &conflict{5, 182, 512}, 0},
		{"512 and 182 tokens", []row{{[]schedule.Run{{5, 1}}, 512}, {[]schedule.Run{{5, 1}}, 182}}, &conflict{5, 512, 182}, 0},
		{"partial and then in the middle", []row{{[]schedule.Run{{5, 1}}, 182}, {[]schedule.Run{{5, 2}}, 600}}, &conflict{5, 182, 512}, 0},
		{"the same partial size again", []row{{[]schedule.Run{{5, 1}}, 182}, {[]schedule.Run{{5, 1}}, 182}}, nil, 0},
		{"another id before", []row{{[]schedule.Run{{0, 3}}, 1536}, {[]schedule.Run{{7, 1}, {2, 1}}, 1024}}, nil, 1},
		{"first and then later", []row{{[]schedule.Run{{3, 1}}, 512}, {[]schedule.Run{{2, 2}}, 1024}}, nil, 1},
		{"id 0 first, twice", []row{{[]schedule.Run{{0, 1}}, 512}, {[]schedule.Run{{0, 1}}, 512}}, nil, 0},
		{"ids equal modulo 2^32 and 2^53", []row{{[]schedule.Run{{0, 1}}, 100}, {[]schedule.Run{{1 << 32, 1}}, 200}, {[]schedule.Run{{1 << 53, 1}}, 300}, {[]schedule.Run{{1<<53 + 1, 1}}, 400}}, nil, 0},
		{"twice in a row, full and partial", []row{{[]schedule.Run{{5, 1}, {5, 1}}, 600}}, &conflict{5, 512, 88}, 0},
		{"the greatest id", []row{{[]schedule.Run{{1<<63 - 1, 1}}, 100}, {[]schedule.Run{{1<<63 - 1, 1}}, 101}}, &conflict{1<<63 - 1, 100, 101}, 0},
		{"too few ids: the last is full", []row{{[]schedule.Run{{5, 1}}, 700}, {[]schedule.Run{{5, 1}}, 512}}, nil, 0},
	} {
		b := newBlockIDs(512)
		var got *conflict
		for _, r := range tt.rows {
			ids := int64(0)
			for _, run := range r.runs {
				ids += run[1]
			}
			if got = b.add(r.runs, ids, r.n); got != nil {
				break
			}
		}
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want || b.breaks != tt.breaks {
			t.Errorf("%s: conflict %v, %d breaks; want %v, %d", tt.name, got, b.breaks, tt.want, tt.breaks)
		}
	}
}

// naiveIDs keeps everything of every id.
type naiveIDs struct {
	size         int64
	sizes, below map[int64]int64
	breaks       int64
}

func (b *naiveIDs) add(list []int64, n int64) *conflict {
	last := min(n-int64(len(list)-1)*b.size, b.size)
	is := func(k int) int64 {
		if k == len(list)-1 {
			return last
		}
		return b.size
	}
	for k, id := range list {
		if k < len(list)-1 && id == list[len(list)-1] && last < b.size {
			return &conflict{id, b.size, last}
		}
		if was, ok := b.sizes[id]; ok && was != is(k) {
			return &conflict{id, was, is(k)}
		}
	}
	prev := int64(start)
	for k, id := range list {
		if was, ok := b.below[id]; !ok {
			b.below[id] = prev
		} else if was != prev {
			b.breaks++
		}
		b.sizes[id] = is(k)
		prev = id
	}
	return nil
}

// What is kept of ids finds the same conflicts and breaks as keeping everything does.
func TestBlockIDsAgainstAll(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	conflicts, breaks := 0, int64(0)
	for range 300 {
		b, all := newBlockIDs(16), &naiveIDs{size: 16, sizes: map[int64]int64{}, below: map[int64]int64{}}
		top, far := int64(0), int64(r.IntN(2))*(1<<40)
		for range 60 {
			var list []int64
			for id := range r.Int64N(5) { // the beginning of an earlier chain
				list = append(list, id)
			}
			for range 1 + r.IntN(6) {
				list = append(list, top+far*r.Int64N(2))
				top++
			}
			switch r.IntN(12) {
			case 0:
				list = append(list, r.Int64N(top+1))
			case 1:
				list = append([]int64{r.Int64N(top + 1)}, list...)
			case 2:
				list = append(list, list[0])
			}
			n := int64(len(list)) * 16
			if r.IntN(3) > 0 {
				n -= r.Int64N(16)
			}
			var runs []schedule.Run
			for _, id := range list {
				if k := len(runs); k > 0 && runs[k-1][0]+runs[k-1][1] == id {
					runs[k-1][1]++
				} else {
					runs = append(runs, schedule.Run{id, 1})
				}
			}
			got, want := b.add(runs, int64(len(list)), n), all.add(list, n)
			if (got == nil) != (want == nil) || got != nil && *got != *want || b.breaks != all.breaks {
				t.Fatalf("ids %v of %d tokens: conflict %v, %d breaks; want %v, %d", list, n, got, b.breaks, want, all.breaks)
			}
			if got != nil {
				conflicts++
			}
		}
		breaks += all.breaks
	}
	if conflicts == 0 || breaks == 0 {
		t.Errorf("%d conflicts and %d breaks: the rows try nothing", conflicts, breaks)
	}
}

// More ids than a schedule takes are refused where they are read.
func TestMooncakeTooManyIDs(t *testing.T) {
	row := func(n int) string {
		return fmt.Sprintf(`{"timestamp":0,"input_length":%d,"hash_ids":[%s0]}`+"\n", n, strings.Repeat("0,", n-1))
	}
	refuses(t, Mooncake, Options{BlockSize: 1}, [][2]string{{row(schedule.MaxIDs + 1), `t:1: hash_ids: got "4194305 ids", want at most 4194304`}})
}
