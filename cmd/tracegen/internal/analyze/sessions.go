package analyze

import (
	"hydrant/formats/schedule"
)

// sessions gathers the figures of sessions, streams and waits. It remembers the sessions
// that are open.
type sessions struct {
	n          int64
	main, side Share // requests of stream 0, and of all others
	streams    int64 // other than 0
	shrunk     int64
	turns      Counts // requests of a session
	open       map[string]*session

	after, several, free int64
	entries              int64
	delay                Counts
}

// session is one that is open.
type session struct {
	requests int64
	input    int64            // tokens of the latest prompt of stream 0
	others   map[string]int64 // and of the other streams
}

func (s *sessions) add(r *schedule.Request) {
	s.waits(r)
	share := &s.main
	if r.Stream != mainStream {
		share = &s.side
	}
	share.Requests++
	share.InputTokens += r.InputTokens.V
	share.OutputTokens += r.OutputTokens.V
	o := s.open[r.Session]
	if o == nil {
		s.n++
		if r.Last {
			s.turns.Add(1)
			if r.Stream != mainStream {
				s.streams++
			}
			return
		}
		if s.open == nil {
			s.open = map[string]*session{}
		}
		o = &session{}
		s.open[r.Session] = o
	}
	o.requests++
	before := o.input
	if r.Stream == mainStream {
		o.input = r.InputTokens.V
	} else {
		var known bool
		if before, known = o.others[r.Stream]; !known {
			s.streams++
			if o.others == nil {
				o.others = map[string]int64{}
			}
		}
		o.others[r.Stream] = r.InputTokens.V
	}
	if r.Context == schedule.Whole && r.InputTokens.V < before {
		s.shrunk++
	}
	if r.Last {
		s.turns.Add(o.requests)
		delete(s.open, r.Session)
	}
}

// mainStream is the name of a session's first stream.
const mainStream = "0"

func (s *sessions) waits(r *schedule.Request) {
	if len(r.After) == 0 {
		s.free++
		return
	}
	s.after++
	s.entries += int64(len(r.After))
	if len(r.After) > 1 {
		s.several++
	}
	if r.DelayNS.Valid {
		s.delay.Add(r.DelayNS.V)
	}
}

// figures counts the sessions that no line marked as ended.
func (s *sessions) figures() Sessions {
	for _, o := range s.open {
		s.turns.Add(o.requests)
	}
	s.open = nil
	return Sessions{N: s.n, Requests: s.turns.dist(s.n), Main: s.main, Side: s.side, SideStreams: s.streams, Shrunk: s.shrunk}
}

func (s *sessions) delays() Delays {
	return Delays{Free: s.free, Waiting: s.after, Several: s.several, Entries: s.entries, DelayNS: s.delay.dist(s.after)}
}

func (s *sessions) coarse() bool { return s.turns.coarse || s.delay.coarse }
