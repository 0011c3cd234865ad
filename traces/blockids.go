package traces

import (
	"fmt"

	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// blockIDs remembers what was seen of the block ids of one scope: which had their
// full size, which a smaller one, and what stood before each. Memory is about 24
// bytes for 64 neighbouring ids, and some 30 for each id that was partial or began
// a run.
type blockIDs struct {
	size    int64 // tokens of a full block
	pages   map[int64]idPage
	partial map[int64]int32 // id → its size
	before  map[int64]int64 // id → the id before it, start for none, when that is not id−1
	latest  int64           // number of the page in hand
	page    idPage
	hasPage bool
	dirty   bool
	breaks  int64 // ids that followed another id than before
}

// idPage holds a bit for each of 64 ids.
type idPage struct {
	full   uint64 // seen at full size
	linked uint64 // seen after id−1
}

// start stands before the first id of a row.
const start = -1

func newBlockIDs(size int64) *blockIDs {
	return &blockIDs{size: size, pages: map[int64]idPage{}, partial: map[int64]int32{}, before: map[int64]int64{}}
}

// at returns the page of an id, to be read or changed until the next call.
func (b *blockIDs) at(id int64) *idPage {
	if n := id >> 6; !b.hasPage || n != b.latest {
		b.flush()
		b.latest, b.hasPage = n, true
		b.page = b.pages[n]
	}
	return &b.page
}

func (b *blockIDs) flush() {
	if b.dirty {
		b.pages[b.latest] = b.page
		b.dirty = false
	}
}

// row checks the hash_ids of a row whose input_length is n against that length and
// against the rows before, of which stored yields those that have ids, with the numbers
// of their lines as ID. The last id may be partial.
func (b *blockIDs) row(in *intake, runs []schedule.Run, ids, n int64, stored func() (func() (*schedule.Request, error), error)) *jsonl.Fault {
	if ids <= 0 {
		return nil
	}
	fits := schedule.FullIDs(n, &schedule.Block{Tokens: b.size, Last: schedule.Partial})
	switch {
	case ids > fits:
		return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("%d ids for input_length %d", ids, n), Want: fmt.Sprintf("at most %d of %d tokens", fits, b.size)}
	case ids < fits:
		in.counts["ids_short"]++
	}
	c := b.add(runs, ids, n)
	if c == nil {
		return nil
	}
	return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("id %d for %d tokens", c.id, c.is),
		Want: fmt.Sprintf("%d tokens as on row %d: an id stands for one size", c.was, b.first(c, in.line, stored))}
}

// first returns the first line, line at the latest, on which an id had the size it was
// seen with.
func (b *blockIDs) first(c *conflict, line int64, stored func() (func() (*schedule.Request, error), error)) int64 {
	next, err := stored()
	for err == nil {
		var r *schedule.Request
		if r, err = next(); err != nil || r.Blocks == nil || r.ID >= line {
			continue
		}
		all := int64(0)
		for _, run := range r.Blocks.Add {
			all += run[1]
		}
		left := all
		for _, run := range r.Blocks.Add {
			left -= run[1]
			if c.id < run[0] || c.id-run[0] >= run[1] {
				continue
			}
			size := b.size
			if left == 0 && c.id == run[0]+run[1]-1 {
				size = min(size, r.InputTokens.V-(all-1)*size)
			}
			if size == c.was {
				line = r.ID
			}
		}
	}
	return line
}

// conflict is an id that stands for two sizes.
type conflict struct {
	id, was, is int64
}

// add notes the ids of a prompt of n tokens, in order. The last of them may be
// partial. A conflict is found before anything of the row is noted.
func (b *blockIDs) add(runs []schedule.Run, ids, n int64) *conflict {
	last := min(n-(ids-1)*b.size, b.size) // tokens of the last id
	if c := b.check(runs, ids, last); c != nil {
		return c
	}
	prev, k := int64(start), int64(0)
	for _, run := range runs {
		for j := range run[1] {
			id := run[0] + j
			k++
			b.link(prev, id)
			prev = id
			if k == ids && last < b.size {
				b.partial[id] = int32(last)
				continue
			}
			if p := b.at(id); p.full&(1<<(id&63)) == 0 {
				p.full |= 1 << (id & 63)
				b.dirty = true
			}
		}
	}
	return nil
}

func (b *blockIDs) check(runs []schedule.Run, ids, last int64) *conflict {
	k, end := int64(0), runs[len(runs)-1]
	lastID := end[0] + end[1] - 1
	for _, run := range runs {
		for j := range run[1] {
			id, is := run[0]+j, b.size
			if k++; k == ids {
				is = last
			} else if id == lastID && last < b.size {
				return &conflict{id, b.size, last} // twice in this row
			}
			if was, ok := b.partial[id]; ok && int64(was) != is {
				return &conflict{id, int64(was), is}
			}
			if is < b.size && b.at(id).full&(1<<(id&63)) != 0 {
				return &conflict{id, b.size, is}
			}
		}
	}
	return nil
}

// link notes that id stood after prev.
func (b *blockIDs) link(prev, id int64) {
	p, bit := b.at(id), uint64(1)<<(id&63)
	was, odd := b.before[id]
	switch {
	case odd && was != prev, p.linked&bit != 0 && prev != id-1:
		b.breaks++
	case odd || p.linked&bit != 0:
	case prev == id-1 && prev != start:
		p.linked |= bit
		b.dirty = true
	default:
		b.before[id] = prev
	}
}
