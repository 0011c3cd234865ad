package fold

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// goodput counts requests that are good, which package slo defines, by the objectives
// of one set.
type goodput struct {
	limits     []slo.Limit
	good, n    int64 // of the requests planned in the window, but for those the plan cut short
	unmeasured int64 // of n: ok, and without a value that should exist
	tokens     int64 // that arrived in the window, of good requests and of those the plan cut short
}

// add takes in one request. judged says that it was planned in the window, cut that
// the plan itself ended its answer; tokens are those that arrived in the window.
func (g *goodput) add(good, unmeasured, judged, cut bool, tokens int64) {
	if judged && !cut {
		g.n++
		if good {
			g.good++
		}
		if unmeasured {
			g.unmeasured++
		}
	}
	if good || cut {
		g.tokens += tokens
	}
}

// goodScalars are the ids of what is counted here.
var goodScalars = [...]string{"attainment", "goodput_rps", "good_tps"}

// fill sets the scalars over a window of a length in ns with a number of planned rows.
func (g *goodput) fill(s *sheet, length, planned int64) {
	s.keep("goodput_rps", g.good, 0)
	s.keep("good_tps", g.tokens, 0)
	s.keep("unmeasured", g.unmeasured, 0)
	v := s.ratio("attainment", g.good, g.n, g.n, "no planned rows in the window")
	if g.unmeasured > 0 {
		v.Evidence = fmt.Sprintf("%d ok requests lack a value that an objective asks for", g.unmeasured)
	}
	if reason := NoRates(length, planned); reason != "" {
		s.noneOf(reason, "goodput_rps", "good_tps")
		return
	}
	s.set("goodput_rps", float64(g.good)*second/float64(length), g.good, "")
	s.set("good_tps", float64(g.tokens)*second/float64(length), g.tokens, "")
}

// goodput counts the good requests among the rows.
func (f *fold) goodput() view {
	if len(f.o.SLO) == 0 {
		f.sheet.noneOf("no objective given", goodScalars[:]...)
		return view{}
	}
	g, see := f.goodOf()
	return view{see, func() {
		f.good = g.good
		g.fill(f.sheet, f.length(), f.plan.InWindow)
	}}
}

// goodOf counts the good requests among the rows that see is shown.
func (f *fold) goodOf() (g *goodput, see func(x *frame)) {
	g = &goodput{limits: slo.Limits(f.o.SLO)}
	metrics := make([]*timing, len(g.limits))
	for i, l := range g.limits {
		metrics[i] = timingOf(l.ID())
	}
	values, applies := make([]*column, len(metrics)), make([]*column, len(metrics))
	return g, func(x *frame) {
		for k, t := range metrics {
			if values[k] = t.value(x); t.applies != nil {
				applies[k] = t.applies(x)
			}
		}
		marks, arrived, in, plannedIn := x.marks(), x.arrived(), x.col(cIn), x.col(cPlannedIn)
		for i := range x.n {
			ok := marks[i]&isOK > 0
			good, unmeasured := slo.Good(ok, g.limits, func(k int) slo.Measure {
				return slo.Measure{OK: ok, Value: unpack(values[k][i]), Applies: applies[k] == nil || applies[k][i] > 0, Input: unpack(either(in[i], plannedIn[i]))}
			})
			g.add(good, unmeasured, marks[i]&isPlanned > 0, marks[i]&isCut > 0, arrived[i])
		}
	}
}

func timingOf(id string) *timing {
	i := slices.IndexFunc(timings[:], func(t timing) bool { return t.id == id })
	if i < 0 {
		panic("internal error: objectives limit " + id + ", which is no metric")
	}
	return &timings[i]
}

// recount counts the good requests of a summary by other objectives than it was made
// with, from its columns.
func recount(s *summary.Summary, c *summary.Columns, set []slo.Objective, place string) error {
	if c == nil {
		return &formats.SyntaxError{Place: place, What: "columns", Got: "none", Want: "per-request columns, in which good requests are counted",
			Help: "give --slo to the reduce that reads the run"}
	}
	g := goodput{limits: slo.Limits(set)}
	for i := range c.N {
		row := slo.RowOf(c, i)
		good, unmeasured := row.Good(g.limits)
		g.add(good, unmeasured, row.Judged(), row.CutShort(), c.Ints["tokens_in_window"][i].Or(0))
	}
	sheet := newSheet()
	g.fill(sheet, s.Window.ToNS-s.Window.FromNS, s.Plan.InWindow)
	energy, reason := math.NaN(), "no energy was measured"
	if i := slices.IndexFunc(s.Scalars, func(v summary.Scalar) bool { return v.ID == "energy" }); i >= 0 {
		energy, reason = value(s.Scalars[i].Value), s.Scalars[i].Reason
	}
	perGood(sheet, energy, g.good, reason)
	ids := append(slices.Clone(goodScalars[:]), "j_per_good_request")
	s.Scalars = slices.DeleteFunc(s.Scalars, func(v summary.Scalar) bool { return slices.Contains(ids, v.ID) })
	for _, id := range ids {
		s.Scalars = append(s.Scalars, *sheet.values[id])
	}
	slices.SortFunc(s.Scalars, func(a, b summary.Scalar) int { return cmp.Compare(a.ID, b.ID) })
	s.Objectives = slo.Texts(set)
	return nil
}
