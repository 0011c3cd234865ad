package traces

import "hydrant/formats/schedule"

// thread is what is known of an open session whose turns are linked while its requests
// come out in order of time.
type thread struct {
	kin  lineage
	list stream
	ids  []int64 // of the requests that came out
}

// threads are the open sessions of a trace.
type threads struct {
	grain int64 // ns
	open  map[string]*thread
}

func newThreads(grain int64) *threads { return &threads{grain: grain, open: map[string]*thread{}} }

// link gives a request, the next of its session, its turn, what it waits for and how
// long. Its end is known when Recorded.E2ENS is.
func (t *threads) link(r *schedule.Request) {
	s := t.open[r.Session]
	if s == nil {
		s = &thread{kin: lineage{grain: t.grain}}
		if !r.Last {
			t.open[r.Session] = s
		}
	}
	start := r.AtNS.V
	after, heir := s.kin.waits(&s.list, start, false, nil)
	r.After = r.After[:0]
	for i := len(after) - 1; i >= 0; i-- {
		r.After = append(r.After, s.ids[after[i]])
	}
	r.DelayNS = s.kin.delay(after, start)
	r.Turn = int64(s.kin.add(&s.list, start, r.Recorded.E2ENS, after, heir))
	s.ids = append(s.ids, r.ID)
	if r.Last {
		delete(t.open, r.Session)
	}
}
