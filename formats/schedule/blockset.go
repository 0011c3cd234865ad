package schedule

import (
	"math/bits"
	"slices"
)

// BlockSet is a set of block ids of one scope, as bits. The zero value is empty. Memory
// is 8 bytes for 64 neighbouring ids where ids are numbered from 0 on, as in most traces,
// and at most some 60 for each 64 that hold one.
type BlockSet struct {
	dense  []uint64 // ids from 0 on, 64 a word
	used   int64    // words of dense that hold an id
	sparse map[int64]uint64
}

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
	if n < int64(len(s.dense)) {
		return s.dense[n]
	}
	return s.sparse[n]
}

// set gives word n a value that is not 0.
func (s *BlockSet) set(n int64, w uint64) {
	if n >= int64(len(s.dense)) && n < 4*(s.used+int64(len(s.sparse))+2) {
		s.grow(n + 1)
	}
	if n < int64(len(s.dense)) {
		if s.dense[n] == 0 {
			s.used++
		}
		s.dense[n] = w
		return
	}
	if s.sparse == nil {
		s.sparse = map[int64]uint64{}
	}
	s.sparse[n] = w
}

// grow makes at least the first n words dense.
func (s *BlockSet) grow(n int64) {
	was := len(s.dense)
	s.dense = slices.Grow(s.dense, int(n)-was)
	s.dense = s.dense[:cap(s.dense)]
	clear(s.dense[was:])
	for at, w := range s.sparse {
		if at < int64(len(s.dense)) {
			s.dense[at] = w
			s.used++
			delete(s.sparse, at)
		}
	}
}
