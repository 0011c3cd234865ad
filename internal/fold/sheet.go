package fold

import (
	"cmp"
	"slices"

	"hydrant/formats/summary"
)

// sheet collects the scalars. Each id of scalarTable is set exactly once; a metric
// that is not computed is null with a reason, never absent.
type sheet struct {
	values     map[string]*summary.Scalar
	totals     map[string][2]int64 // what shares and rates were computed from
	lowerBound bool                // client times lack the part after the kernel
}

func newSheet() *sheet {
	s := &sheet{values: make(map[string]*summary.Scalar, len(scalarTable)), totals: map[string][2]int64{}}
	for _, d := range scalarTable {
		s.values[d.id] = &summary.Scalar{ID: d.id, Unit: d.unit, Definition: d.formula, N: -1}
	}
	return s
}

func (s *sheet) take(id string) *summary.Scalar {
	v, ok := s.values[id]
	if !ok || v.N >= 0 {
		panic("internal error: scalar " + id + " is unknown or set twice")
	}
	return v
}

// set gives a scalar its value over n items. A value that is no finite number is
// null, with reason.
func (s *sheet) set(id string, value float64, n int64, reason string) *summary.Scalar {
	v := s.take(id)
	v.N = n
	if v.Value = number(value); v.Value == nil {
		v.Reason = reason
	}
	return v
}

// ratio gives a scalar the share a/b and keeps both.
func (s *sheet) ratio(id string, a, b, n int64, reason string) *summary.Scalar {
	s.keep(id, a, b)
	return s.set(id, share(a, b), n, reason)
}

// keep notes the totals that a scalar follows from, for summaries that merge by them.
func (s *sheet) keep(id string, a, b int64) { s.totals[id] = [2]int64{a, b} }

// count gives a scalar a whole number.
func (s *sheet) count(id string, value, n int64) *summary.Scalar {
	return s.set(id, float64(value), n, "")
}

// none leaves a scalar null.
func (s *sheet) none(id, reason string) {
	v := s.take(id)
	v.N, v.Reason = 0, reason
}

// noneOf leaves several null for one reason.
func (s *sheet) noneOf(reason string, ids ...string) {
	for _, id := range ids {
		s.none(id, reason)
	}
}

// sorted returns the scalars by id.
func (s *sheet) sorted() []summary.Scalar {
	out := make([]summary.Scalar, 0, len(s.values))
	for _, v := range s.values {
		if v.N < 0 {
			panic("internal error: scalar " + v.ID + " was not set")
		}
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b summary.Scalar) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
