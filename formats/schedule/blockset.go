package schedule

import "math/bits"

// BlockSet is a set of block ids of one scope, as bits. The zero value is empty. Memory
// is 8 bytes for 64 neighbouring ids where ids are numbered from 0 on, as in most traces,
// and at most some 60 for each 64 that hold one, beyond 8 KiB.
type BlockSet struct {
	pages  [][]uint64 // ids from 0 on, 64 a word
	used   int64      // words of pages that hold an id
	sparse map[int64]uint64
}

// pageWords is how many words a page has at most. Pages grow by themselves, so that
// nothing large is ever copied and small sets stay small.
const pageWords = 1 << 10

// Has reports whether id is in the set.
func (s *BlockSet) Has(id int64) bool { return s.word(id>>6)&(1<<(id&63)) != 0 }

// Leading returns how many of a run's leading ids are in the set.
func (s *BlockSet) Leading(run Run) (n int64) {
	for id, left := run[0], run[1]; left > 0; {
		at := uint(id & 63)
		want := min(left, int64(64-at))
		have := min(int64(bits.TrailingZeros64(^(s.word(id>>6) >> at))), want)
		n += have
		if have < want {
			break
		}
		id, left = id+want, left-want
	}
	return n
}

// Insert adds a run and returns how many of its ids are new.
func (s *BlockSet) Insert(run Run) (fresh int64) {
	for id, left := run[0], run[1]; left > 0; {
		at := uint(id & 63)
		n := min(left, int64(64-at))
		mask := (^uint64(0) >> (64 - uint(n))) << at
		if was := s.word(id >> 6); mask&^was != 0 {
			fresh += int64(bits.OnesCount64(mask &^ was))
			s.set(id>>6, was|mask)
		}
		id, left = id+n, left-n
	}
	return fresh
}

func (s *BlockSet) word(n int64) uint64 {
	if p := n / pageWords; p < int64(len(s.pages)) {
		if page := s.pages[p]; n%pageWords < int64(len(page)) {
			return page[n%pageWords]
		}
		return 0
	}
	return s.sparse[n]
}

// set gives word n a value that is not 0.
func (s *BlockSet) set(n int64, w uint64) {
	if n/pageWords >= int64(len(s.pages)) && n < 4*(s.used+int64(len(s.sparse))+2) {
		s.grow(n / pageWords)
	}
	if p := n / pageWords; p < int64(len(s.pages)) {
		s.page(p, n%pageWords)
		at := &s.pages[p][n%pageWords]
		if *at == 0 {
			s.used++
		}
		*at = w
		return
	}
	if s.sparse == nil {
		s.sparse = map[int64]uint64{}
	}
	s.sparse[n] = w
}

// page makes page p reach to word k.
func (s *BlockSet) page(p, k int64) {
	page := s.pages[p]
	if k < int64(len(page)) {
		return
	}
	longer := make([]uint64, min(pageWords, max(int64(len(page)+len(page)/4), k+1)))
	copy(longer, page)
	s.pages[p] = longer
}

// grow brings page p into being, and those before it.
func (s *BlockSet) grow(p int64) {
	s.pages = append(s.pages, make([][]uint64, p+1-int64(len(s.pages)))...)
	for n, w := range s.sparse {
		if q := n / pageWords; q <= p {
			s.page(q, n%pageWords)
			s.pages[q][n%pageWords] = w
			s.used++
			delete(s.sparse, n)
		}
	}
}
