package schedule

import "sort"

// idSet holds the ids of the lines so far as ranges. Ids grow from line to line, so
// a whole schedule is one range and an edited one has a range for each gap.
type idSet struct{ ranges [][2]int64 } // [first, last], ascending

// add appends an id greater than all before.
func (s *idSet) add(id int64) {
	if n := len(s.ranges); n > 0 && s.ranges[n-1][1] == id-1 {
		s.ranges[n-1][1] = id
		return
	}
	s.ranges = append(s.ranges, [2]int64{id, id})
}

// last returns the greatest id.
func (s *idSet) last() (id int64, ok bool) {
	if len(s.ranges) == 0 {
		return 0, false
	}
	return s.ranges[len(s.ranges)-1][1], true
}

func (s *idSet) has(id int64) bool {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i][1] >= id })
	return i < len(s.ranges) && s.ranges[i][0] <= id
}
