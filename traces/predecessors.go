package traces

import (
	"math"

	"hydrant/formats"
)

// lineage finds which requests of a session wait for which, from recorded starts and
// durations alone. A request waits for the requests listed before it in its stream that
// had ended when it started, give or take one grain of the trace's clock, less those
// that another of them waited for already. So the turns of a chain each wait for the one
// before; requests that overlapped hang on the same earlier request, and the next one
// waits for both.
//
// The zero value with a grain is ready. Requests are numbered in the order of add.
type lineage struct {
	grain int64 // ns
	kin   []kin
	stamp int
	stack []int
}

// kin is a request as the others see it.
type kin struct {
	start, end int64 // ns; end is start where the duration is not known
	known      bool  // the duration is
	list       int   // which stream
	at         int   // position in it
	after      []int // what it waits for, latest first
	heir       bool  // descends from every request before it in its stream
	mark       int
}

// stream lists the requests of one stream, by number, in listed order.
type stream struct {
	list int // number of the stream
	of   []int
}

// add appends a request to a stream and returns its number. What it waits for comes
// from waits, or is given.
func (l *lineage) add(s *stream, start int64, service formats.Int, after []int, heir bool) int {
	n := len(l.kin)
	l.kin = append(l.kin, kin{start: start, end: later(start, service.V), known: service.Valid, list: s.list, at: len(s.of), after: after, heir: heir})
	s.of = append(s.of, n)
	return n
}

// waits returns what a request that follows in a stream and starts at start waits for,
// the latest first: the requests in join, and those of the stream that had ended by
// then. Of these, what another one descends from drops out. heir reports that every
// request of the stream is among them or an ancestor of one.
//
// Requests that start at one instant do not wait for each other, unless spawned says
// that the request is no member of the stream but was caused by it.
func (l *lineage) waits(s *stream, start int64, spawned bool, join []int) (after []int, heir bool) {
	l.stamp++
	below := 0 // positions before it are covered
	for _, j := range join {
		below = l.cover(s, j, below)
	}
	for _, j := range join {
		if l.kin[j].mark != l.stamp {
			after = append(after, j)
		}
	}
	heir = true
	for at := len(s.of) - 1; at >= below; at-- {
		j := s.of[at]
		switch k := &l.kin[j]; {
		case k.mark == l.stamp:
		case k.end > later(start, l.grain) || k.start > start || k.start == start && !spawned:
			heir = false
		default:
			after = append(after, j)
			below = l.cover(s, j, below)
		}
	}
	return after, heir
}

// cover marks the ancestors of a request, down to one that descends from all before it
// in the stream: positions before the result are covered with it.
func (l *lineage) cover(s *stream, j, below int) int {
	if len(s.of) == 0 {
		return below
	}
	l.stack = append(l.stack[:0], j)
	for len(l.stack) > 0 {
		k := &l.kin[l.stack[len(l.stack)-1]]
		l.stack = l.stack[:len(l.stack)-1]
		if k.list == s.list {
			if k.at < below {
				continue
			}
			if k.heir {
				below = k.at
				continue
			}
		}
		for _, p := range k.after {
			if p >= s.of[0] && l.kin[p].mark != l.stamp {
				l.kin[p].mark = l.stamp
				l.stack = append(l.stack, p)
			}
		}
	}
	return below
}

// delay returns the time from the last end of what a request waits for to its start, at
// least 0. It is null where that end is not known: only the order is.
func (l *lineage) delay(after []int, start int64) formats.Int {
	if len(after) == 0 {
		return formats.Int{}
	}
	end := int64(math.MinInt64)
	known := true
	for _, j := range after {
		switch k := &l.kin[j]; {
		case k.end > end:
			end, known = k.end, k.known
		case k.end == end:
			known = known && k.known
		}
	}
	if !known {
		return formats.Int{}
	}
	return formats.Some(max(0, start-end))
}
