package sim

import "container/heap"

// message is what the rest of the server tells the pacing goroutine.
type message struct {
	kind messageKind
	job  *job
	at   int64
}

type messageKind int

const (
	arrived messageKind = iota
	cancelled
)

// send queues a message, stamped under the lock so that stamps never go back, and
// wakes the pacer. Messages are bounded by the open connections.
func (s *Server) send(m message) {
	s.mu.Lock()
	m.at = s.clock.now()
	s.inbox = append(s.inbox, m)
	s.mu.Unlock()
	s.clock.wake()
}

// alarm asks for a pump of st at time t.
func (s *Server) alarm(st *stream, t int64) {
	s.mu.Lock()
	heap.Push(&s.alarms, alarm{t, st})
	s.mu.Unlock()
	s.clock.wake()
}

// pace is the one goroutine that owns the engine. Model times are absolute: it
// runs everything that lies in the past, however late it woke, and never moves
// what lies ahead.
func (s *Server) pace() {
	defer close(s.stopped)
	s.clock.start()
	var box []message
	for {
		mark := s.clock.mark()
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		box, s.inbox = s.inbox, box[:0]
		s.mu.Unlock()
		for i := range box {
			m := &box[i]
			s.engine.run(m.at)
			switch m.kind {
			case arrived:
				s.engine.arrive(m.job, m.at)
			case cancelled:
				s.cancelled(m.job, m.at)
			}
			box[i] = message{}
		}
		if !s.spec.Null() {
			s.engine.run(s.clock.now())
			s.metrics.gauges(s.engine)
		}

		until := forever
		now := s.clock.now()
		for {
			s.mu.Lock()
			if len(s.alarms) == 0 {
				s.mu.Unlock()
				break
			}
			if s.alarms[0].at > now {
				until = s.alarms[0].at
				s.mu.Unlock()
				break
			}
			a := heap.Pop(&s.alarms).(alarm)
			s.mu.Unlock()
			a.st.pump(now)
		}
		if t, ok := s.engine.next(); ok {
			until = min(until, t)
		}
		if until > s.clock.now() {
			s.clock.wait(mark, until)
		}
	}
}

func (s *Server) cancelled(j *job, t int64) {
	if j == nil || j.last >= 0 {
		return
	}
	s.inside.Add(-1)
	s.engine.cancel(j, t)
	s.metrics.finish("abort")
}

// admittedAt and steppedAt make the server the engine's listener.
func (s *Server) admittedAt(j *job, t int64) {
	now := s.clock.now()
	s.metrics.queue.observe(seconds(now - j.arrived))
	j.out.admitted(now)
}

func (s *Server) steppedAt(j *job, t int64, last bool) {
	now := s.clock.now()
	s.metrics.stepped(j, t, now, s.spec.TokensPerEvent)
	j.out.stepped(now, last)
	if last {
		s.inside.Add(-1)
		s.metrics.finish(j.out.script.reason)
		s.metrics.e2e.observe(seconds(now - j.arrived))
	}
}
