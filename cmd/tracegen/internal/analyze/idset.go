package analyze

import (
	"math/bits"

	"hydrant/formats/schedule"
)

// idSet holds block ids of one scope as bits of pages of 64, and what is known of each.
// One pass over the ids of a line takes a look at them, a second one adds them: an id of
// a line was seen when a line before had it.
type idSet struct {
	pages    map[int64]*idPage
	distinct int64
	reused   int64           // ids used at least twice
	heads    map[int64]int64 // id → the id before it, noID for none, where that is not id−1
	breaks   int64           // ids that followed another id than at first

	line []word // of the line in hand
}

type idPage struct {
	seen   uint64
	twice  uint64 // used at least twice
	linked uint64 // at first behind id−1
	head   uint64 // at first behind another id
}

// word is the part of a run that lies in one page.
type word struct {
	page *idPage
	mask uint64
}

// noID stands before the first id of a line.
const noID = -1

// hit is what a set says of the ids of a line before they are added.
type hit struct {
	ids    int64 // of the line
	prefix int64 // leading ids that were all seen
	any    int64 // ids that were seen, at any place
	last   bool  // the last one was seen
}

// look finds which ids of a line were seen.
func (s *idSet) look(runs []schedule.Run) (h hit) {
	if s.pages == nil {
		s.pages, s.heads = map[int64]*idPage{}, map[int64]int64{}
	}
	s.line = s.line[:0]
	whole := true
	for _, run := range runs {
		for id, left := run[0], run[1]; left > 0; {
			at := uint(id & 63)
			n := min(left, int64(64-at))
			mask := (^uint64(0) >> (64 - uint(n))) << at
			p := s.pages[id>>6]
			if p == nil {
				p = &idPage{}
				s.pages[id>>6] = p
			}
			s.line = append(s.line, word{p, mask})
			seen := p.seen & mask
			h.ids += n
			h.any += int64(bits.OnesCount64(seen))
			h.last = seen>>(at+uint(n)-1)&1 == 1
			if whole {
				have := min(int64(bits.TrailingZeros64(^(seen >> at))), n)
				h.prefix += have
				whole = have == n
			}
			id, left = id+n, left-n
		}
	}
	return h
}

// note adds the ids of the line that was looked at last.
func (s *idSet) note() {
	for _, w := range s.line {
		p := w.page
		seen := p.seen & w.mask
		s.distinct += int64(bits.OnesCount64(w.mask &^ seen))
		if more := seen &^ p.twice; more != 0 {
			s.reused += int64(bits.OnesCount64(more))
			p.twice |= more
		}
		p.seen |= w.mask
	}
}

// chain compares what stands before each id with what stood before it at first. It
// comes between look and note.
func (s *idSet) chain(runs []schedule.Run) {
	before, i := int64(noID), 0
	for _, run := range runs {
		for id, left := run[0], run[1]; left > 0; i++ {
			w := s.line[i]
			n := int64(bits.OnesCount64(w.mask))
			linked := w.mask // those behind id−1
			if id == run[0] && (before == noID || before != id-1) {
				bit := w.mask & -w.mask
				linked &^= bit
				switch {
				case w.page.linked&bit != 0, w.page.head&bit != 0 && s.heads[id] != before:
					s.breaks++
				case w.page.head&bit == 0:
					w.page.head |= bit
					s.heads[id] = before
				}
			}
			s.breaks += int64(bits.OnesCount64(linked & w.page.head))
			w.page.linked |= linked &^ w.page.head
			id, left, before = id+n, left-n, id+n-1
		}
	}
}

// clone returns a set that has seen the same ids, without what is known of them.
func (s *idSet) clone() *idSet {
	c := &idSet{pages: make(map[int64]*idPage, len(s.pages)), heads: map[int64]int64{}}
	for at, p := range s.pages {
		c.pages[at] = &idPage{seen: p.seen}
	}
	return c
}
