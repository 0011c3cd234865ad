package plan

import "hydrant/formats/schedule"

// roster numbers sessions from 0 in the order of their first lines. It forgets a
// session at its last line, so memory grows with the sessions that are open.
type roster struct {
	open map[string]int64
	n    int64
}

// of returns the number of a line's session, and whether the line is its first.
func (s *roster) of(r *schedule.Request) (number int64, first bool) {
	number, known := s.open[r.Session]
	if !known {
		number = s.n
		s.n++
	}
	switch {
	case r.Last:
		delete(s.open, r.Session)
	case !known:
		if s.open == nil {
			s.open = map[string]int64{}
		}
		s.open[r.Session] = number
	}
	return number, !known
}

// marks is a set of sessions by number, a bit each.
type marks []uint64

func (m *marks) add(number int64) {
	for int64(len(*m)) <= number>>6 {
		*m = append(*m, 0)
	}
	(*m)[number>>6] |= 1 << (number & 63)
}

func (m marks) has(number int64) bool {
	return number>>6 < int64(len(m)) && m[number>>6]>>(number&63)&1 == 1
}
