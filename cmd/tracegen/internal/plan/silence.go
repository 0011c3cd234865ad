package plan

import "sort"

// silence shortens the time in which nothing runs. Requests go in by time; where none
// ran for longer than most before one starts, the time behind the last end is cut out,
// so that most is left. The time before the first request is no silence. All times in
// ns. Memory is 24 bytes for each cut.
type silence struct {
	most int64
	any  bool
	busy int64 // until then something runs
	cuts []cut
}

// cut is a stretch of time that is taken out.
type cut struct {
	from, to int64
	before   int64 // taken out before from
}

// start notes a request that runs from at for so long, and reports whether the time
// before it was cut.
func (s *silence) start(at, service int64) (shorter bool) {
	if s.any && at-s.busy > s.most { // busy never exceeds at by the order of requests, or the difference is negative
		c := cut{from: s.busy, to: at - s.most}
		if n := len(s.cuts); n > 0 {
			last := s.cuts[n-1]
			c.before = last.before + last.to - last.from
		}
		s.cuts = append(s.cuts, c)
		shorter = true
	}
	s.busy = max(s.busy, later(at, service))
	s.any = true
	return shorter
}

// moved returns where a time comes to lie that is not after the latest start.
func (s *silence) moved(t int64) int64 {
	i := sort.Search(len(s.cuts), func(i int) bool { return s.cuts[i].from >= t })
	if i == 0 {
		return t
	}
	c := s.cuts[i-1]
	return t - c.before - (min(t, c.to) - c.from)
}
