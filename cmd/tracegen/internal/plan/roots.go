package plan

import (
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// A root is the first line of a session. Where roots are moved, the other lines keep
// their distance to theirs.
type roots struct {
	n           int64
	first, last int64 // times of the first and the last, ns
	most        int64 // latest time of any line, ns
	sessions    roster
}

// look notes a line, and reports whether it is a root. Only a line that waits for
// another session can be one without a time.
func (s *roots) look(r *schedule.Request) (root bool, _ error) {
	if r.AtNS.Valid {
		s.most = max(s.most, r.AtNS.V)
	}
	if _, first := s.sessions.of(r); !first {
		return false, nil
	}
	if !r.AtNS.Valid {
		return false, &formats.SyntaxError{Place: "session " + strconv.Quote(r.Session), What: "at_ns", Got: "null", Want: "a time on the first line of a session, whose start is to move"}
	}
	if s.n == 0 {
		s.first = r.AtNS.V
	}
	s.last = r.AtNS.V
	s.n++
	return true, nil
}

// shifts holds by how much the lines of open sessions move.
type shifts map[string]int64

// move moves a line by what its root moves by. shift is asked for roots.
func (s shifts) move(r *schedule.Request, shift func(*schedule.Request) (int64, error)) error {
	by, known := s[r.Session]
	if !known {
		var err error
		if by, err = shift(r); err != nil {
			return err
		}
	}
	switch {
	case r.Last:
		delete(s, r.Session)
	case !known:
		s[r.Session] = by
	}
	if r.AtNS.Valid {
		r.AtNS.V += by
	}
	return nil
}
