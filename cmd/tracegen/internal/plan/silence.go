package plan

import (
	"sort"

	"hydrant/internal/spill"
)

// silence shortens the time in which nothing runs. Requests go in by time; where none
// ran for longer than most before one starts, the time behind the last end is cut out,
// so that most is left. The time before the first request is no silence. All times in
// ns.
type silence struct {
	most int64
	any  bool
	busy int64 // until then something runs
	cuts cuts
}

// start notes a request that runs from at for so long, and reports whether the time
// before it was cut.
func (s *silence) start(at, service int64) (shorter bool, err error) {
	if s.any && at-s.busy > s.most {
		shorter, err = true, s.cuts.add(s.busy, at-s.most)
	}
	s.busy = max(s.busy, later(at, service))
	s.any = true
	return shorter, err
}

// moved returns where a time comes to lie that is not after the latest start.
func (s *silence) moved(t int64) (int64, error) {
	c, ok, err := s.cuts.before(t)
	if err != nil || !ok {
		return t, err
	}
	return t - c.sum - (min(t, c.to) - c.from), nil
}

// cut is a stretch of time that is taken out.
type cut struct {
	from, to int64
	sum      int64 // taken out before from
}

// cuts is a list of cuts in order of time. The latest lie in memory, the others, when
// there are many, in a table.
type cuts struct {
	latest []cut
	table  *spill.Table // three numbers for each of the others
	others int64
}

// cutsInMemory bounds the cuts that lie in memory: 192 KiB.
const cutsInMemory = 1 << 13

// add appends the cut from one time to another.
func (l *cuts) add(from, to int64) error {
	c := cut{from: from, to: to}
	if n := len(l.latest); n > 0 {
		last := l.latest[n-1]
		c.sum = last.sum + last.to - last.from
	}
	l.latest = append(l.latest, c)
	if len(l.latest) < cutsInMemory {
		return nil
	}
	if l.table == nil {
		l.table = &spill.Table{}
	}
	half := len(l.latest) / 2
	for _, c := range l.latest[:half] {
		for i, v := range []int64{c.from, c.to, c.sum} {
			if err := l.table.Set(3*l.others+int64(i), v); err != nil {
				return err
			}
		}
		l.others++
	}
	l.latest = append(l.latest[:0], l.latest[half:]...)
	return nil
}

// before returns the last cut that begins before t; ok is false when there is none.
func (l *cuts) before(t int64) (c cut, ok bool, err error) {
	if i := sort.Search(len(l.latest), func(i int) bool { return l.latest[i].from >= t }); i > 0 {
		return l.latest[i-1], true, nil
	}
	get := func(i int64) (v int64) {
		if err == nil {
			v, err = l.table.Get(i)
		}
		return v
	}
	i := int64(sort.Search(int(l.others), func(i int) bool { return get(3*int64(i)) >= t })) - 1
	if i < 0 || err != nil {
		return cut{}, false, err
	}
	c = cut{get(3 * i), get(3*i + 1), get(3*i + 2)}
	return c, err == nil, err
}

// close removes the temporary file, where there is one.
func (l *cuts) close() error {
	if l.table == nil {
		return nil
	}
	return l.table.Close()
}
