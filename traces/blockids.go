package traces

import (
	"errors"
	"fmt"

	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// blockIDs remembers what was seen of the block ids of one scope: which had their
// full size, which a smaller one, and what stood before each. Memory is that of a
// BlockSet; ids that were partial or did not follow the id below them lie on disk, where
// there are many, as long as they come in ascending order.
type blockIDs struct {
	size    int64             // tokens of a full block
	full    schedule.BlockSet // seen at full size
	partial ordered           // id → its size
	before  ordered           // id → how far the id before it lies below, when that is not 1
	breaks  int64             // ids that followed another id than before
}

// start stands before the first id of a row.
const start = -1

func newBlockIDs(size int64) *blockIDs { return &blockIDs{size: size} }

// row checks the hash_ids of a row whose input_length is n against that length and
// against the rows before, of which stored yields those that have ids, with the numbers
// of their lines as ID. The last id may be partial.
func (b *blockIDs) row(in *intake, runs []schedule.Run, ids, n int64, stored func() (func() (*schedule.Request, error), error)) *jsonl.Fault {
	if ids <= 0 {
		return nil
	}
	fits := schedule.FullIDs(n, &schedule.Block{Tokens: b.size, Last: schedule.Partial})
	switch {
	case ids > schedule.MaxIDs:
		return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("%d ids", ids), Want: fmt.Sprintf("at most %d", schedule.MaxIDs)}
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

// close gives back memory and temporary files. Its error says that conflicts and breaks
// may have gone unseen.
func (b *blockIDs) close() error {
	err := errors.Join(b.err(), b.partial.entries.Close(), b.before.entries.Close())
	*b = blockIDs{}
	return err
}

// err is what went wrong on disk.
func (b *blockIDs) err() error { return errors.Join(b.partial.err, b.before.err) }

// conflict is an id that stands for two sizes.
type conflict struct {
	id, was, is int64
}

// add notes the ids of a prompt of n tokens, in order. The last of them may be
// partial. A conflict is found before anything of the row is noted.
func (b *blockIDs) add(runs []schedule.Run, ids, n int64) *conflict {
	last := min(n-(ids-1)*b.size, b.size) // tokens of the last id
	if c := b.check(runs, last); c != nil {
		return c
	}
	prev := int64(start)
	for i, run := range runs {
		b.link(prev, run)
		prev = run[0] + run[1] - 1
		if i == len(runs)-1 && last < b.size {
			if _, known := b.partial.find(prev); !known {
				b.partial.add(prev, last)
			}
			if run[1]--; run[1] == 0 {
				break
			}
		}
		b.full.Insert(run)
	}
	return nil
}

// check finds the first id of a row that had another size, in this row or before.
func (b *blockIDs) check(runs []schedule.Run, last int64) *conflict {
	end := runs[len(runs)-1]
	final := end[0] + end[1] - 1 // the last id
	for i, run := range runs {
		beyond := run[0] + (run[1] - 1) // the last id of the run
		if i == len(runs)-1 {
			if last < b.size {
				beyond-- // and of those with full size
			}
		} else if last < b.size && run[0] <= final && final <= beyond {
			beyond = final - 1
		}
		if id, was, ok := b.partial.next(run[0], beyond); ok {
			return &conflict{id, was, b.size}
		}
		if i < len(runs)-1 && last < b.size && run[0] <= final && final-run[0] < run[1] {
			return &conflict{final, b.size, last} // twice in this row
		}
	}
	if last == b.size {
		return nil
	}
	if was, ok := b.partial.find(final); ok && was != last {
		return &conflict{final, was, last}
	}
	if b.full.Has(final) {
		return &conflict{final, b.size, last}
	}
	return nil
}

// link notes that a run stood after prev.
func (b *blockIDs) link(prev int64, run schedule.Run) {
	id := run[0]
	odd, was, ok := b.before.within(id, id+(run[1]-1))
	switch {
	case ok:
		odd--
		if was != id-prev {
			b.breaks++
		}
	case prev == id-1 && prev != start:
	case b.seen(id):
		b.breaks++
	default:
		b.before.add(id, id-prev)
	}
	b.breaks += odd // within the run each follows the id below it
}

// seen reports whether an id was there before, at any size.
func (b *blockIDs) seen(id int64) bool {
	if b.full.Has(id) {
		return true
	}
	_, ok := b.partial.find(id)
	return ok
}
