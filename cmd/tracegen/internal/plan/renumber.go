package plan

import "sort"

// renumber gives ids that grow new ids from 0. It remembers ranges, so memory grows
// with the gaps between ids, not with their number: a person leaves gaps where lines
// were taken out by hand.
type renumber struct {
	ranges []idRange
	n      int64
}

type idRange struct{ first, last, to int64 }

// add takes the next old id and returns its new one.
func (m *renumber) add(old int64) int64 {
	if k := len(m.ranges); k > 0 && m.ranges[k-1].last == old-1 {
		m.ranges[k-1].last = old
	} else {
		m.ranges = append(m.ranges, idRange{old, old, m.n})
	}
	m.n++
	return m.n - 1
}

// of returns the new id of an old one.
func (m *renumber) of(old int64) (int64, bool) {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].last >= old })
	if i == len(m.ranges) || m.ranges[i].first > old {
		return 0, false
	}
	return m.ranges[i].to + old - m.ranges[i].first, true
}
