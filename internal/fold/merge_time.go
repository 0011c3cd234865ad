package fold

import (
	"slices"
	"strconv"
	"strings"

	"hydrant/formats/summary"
)

// perSecond is a count per second that is being added up.
type perSecond struct {
	from   int64
	values []int64
	open   int64 // what goes on for ever after the last second
}

// addCounts adds counts whose seconds begin together; those of the window only do when
// all windows agree.
func (m *merger) addCounts(c summary.Counts, shift, open int64) bool {
	x := perSecond{from: c.FromNS + shift}
	if c.ID == "in_flight" {
		x.open = open
	}
	for text := range strings.FieldsSeq(c.Values) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return false
		}
		x.values = append(x.values, n)
	}
	have := m.counts[c.ID]
	if have == nil {
		m.counts[c.ID] = &x
		return true
	}
	return have.add(&x)
}

// add adds other counts, at their seconds.
func (p *perSecond) add(x *perSecond) bool {
	if len(x.values) == 0 {
		return true
	}
	if len(p.values) == 0 {
		*p = *x
		return true
	}
	from := min(p.from, x.from)
	to := max(p.from+int64(len(p.values))*second, x.from+int64(len(x.values))*second)
	n := (to - from + second - 1) / second
	if n > 2*maxSpan {
		return false
	}
	values := make([]int64, n)
	for _, q := range [...]*perSecond{p, x} {
		at := int((q.from - from) / second)
		for i := at; i < len(values); i++ {
			if i-at < len(q.values) {
				values[i] += q.values[i-at]
			} else {
				values[i] += q.open
			}
		}
	}
	p.from, p.values, p.open = from, values, p.open+x.open
	return true
}

// addBins adds rates over the thirtieths of a window: whole numbers over one length.
func (m *merger) addBins(v summary.Series, shift int64) {
	v.FromNS += shift
	have := m.bins[v.ID]
	if have == nil {
		v.Values = slices.Clone(v.Values)
		m.bins[v.ID] = &v
		return
	}
	if have.StepNS != v.StepNS || len(have.Values) != len(v.Values) {
		return // the windows do not agree: the series is not written
	}
	for i, y := range v.Values {
		if y == nil || have.Values[i] == nil {
			have.Values[i] = nil
			continue
		}
		n := binned(*have.Values[i], v.StepNS) + binned(*y, v.StepNS)
		sum := float64(n) * second / float64(v.StepNS)
		have.Values[i] = &sum
	}
}

// binned is the count behind a rate over a step.
func binned(v float64, step int64) int64 { return int64(v*float64(step)/second + 0.5) }
