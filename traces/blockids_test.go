package traces

import (
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
