package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"hydrant/cmd/tracegen/internal/synth"
	"hydrant/internal/arrivals"
)

const (
	points  = 201 // quantiles of a length
	few     = 33  // quantiles of what is many or matters less
	cells   = 16  // shares of the ranks of input and output
	sizes   = 8   // shares of the ranks of input for turns
	fronts  = 32  // shares of the ranks of input for shared fronts
	perCell = 8   // requests that a share should have
)

// Starts say how sessions begin where the trace is not asked.
type Starts struct {
	Rate    []arrivals.Segment
	Process arrivals.Process
}

// ErrNoRate says that a trace does not tell how sessions begin.
var ErrNoRate = errors.New("more than half of the sessions start together, or none has a time, want a rate to fit")

// Describe returns the description of a workload like the one of p, with starts of its
// own or, where they are nil, with those of the trace. It has one class.
func (p *Profile) Describe(starts *Starts) (*synth.Spec, error) {
	if p.requests < 2 {
		return nil, errors.New("got fewer than two requests, want some to fit")
	}
	s := &synth.Spec{}
	c := synth.Class{Name: "like"}
	switch {
	case starts != nil:
		c.Arrivals, c.Rate, s.Requests = starts.Process, starts.Rate, p.requests
		if !math.IsInf(c.Rate[len(c.Rate)-1].Seconds, 1) {
			s.Requests = 0 // the rate has an end of its own
		}
	case together(p.starts):
		return nil, ErrNoRate
	default:
		l := fitLoad(p.starts)
		c.Arrivals, c.Rate, c.GridNS, s.DurationNS = l.process, l.rate, l.gridNS, l.endNS
	}
	if !p.models {
		c.Model = p.model
	}
	in := make([]int64, len(p.firsts))
	for i, f := range p.firsts {
		in[i] = f.input
	}
	c.Input = quantiles(in, points)
	c.Output = quantiles(p.output, points)
	c.Ranks = p.ranks()
	if p.Block != nil {
		b := *p.Block
		s.Block = &b
		c.Reuse = p.fronts()
	}
	if len(p.added) > 0 && len(p.think) > 0 {
		c.Session = &synth.Session{Turns: p.turns(), Think: quantiles(p.think, points), New: p.growth(), MaxContext: p.longest}
		if len(p.kept) > 0 {
			c.Session.Kept = quantiles(p.kept, few)
		}
	}
	s.Classes = []synth.Class{c}
	return s, s.Check()
}

// quantiles returns the distribution through the quantiles of values at equal steps.
func quantiles[T int64 | int32 | float64](values []T, n int) synth.Dist {
	v := slices.Clone(values)
	slices.Sort(v)
	n = max(2, min(n, len(v)))
	at := make([]float64, n)
	for i := range at {
		at[i] = float64(v[i*(len(v)-1)/(n-1)])
		if at[i] != math.Trunc(at[i]) {
			at[i] = rounded(at[i])
		}
	}
	slices.Sort(at) // rounding may turn two around
	d, err := synth.Quantiles(at)
	if err != nil {
		panic("internal error: fitted quantiles: " + err.Error())
	}
	return d
}

// counts returns the distribution of small whole numbers as they are, or their quantiles
// where there are many of them. Values are sorted.
func counts(values []int64) synth.Dist {
	var b strings.Builder
	different := 0
	for i := 0; i < len(values); different++ {
		n := i
		for i < len(values) && values[i] == values[n] {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d=%d", values[n], i-n)
	}
	if different > points {
		return quantiles(values, points)
	}
	d, err := synth.ParseDist("histogram:" + b.String())
	if err != nil {
		panic("internal error: a fitted histogram: " + err.Error())
	}
	return d
}

// turns returns how many turns sessions have, by shares of the ranks of their first
// prompts: a trace may mix kinds of sessions that differ in both.
func (p *Profile) turns() (all []synth.Dist) {
	n := len(p.firsts)
	g := shares(n/few, sizes)
	of := make([][]int64, g)
	for rank, i := range p.ranked(func(f first) int64 { return f.input }) {
		of[rank*g/n] = append(of[rank*g/n], p.firsts[i].turns)
	}
	for _, v := range of {
		slices.Sort(v)
		all = append(all, counts(v))
	}
	return all
}

// growth returns what turns add, by the size of what was there. A size that few turns
// had takes the values of the next smaller one that many had, or of all.
func (p *Profile) growth() (all []synth.Dist) {
	values := slices.Concat(p.added...)
	for _, v := range p.added {
		if len(v) >= few {
			values = v
		}
		all = append(all, quantiles(values, points))
	}
	return all
}

// shares is how many equal parts n requests are cut into: at most most, and so that each
// has enough of them.
func shares(n, most int) int { return max(1, min(most, n/perCell)) }

// ranked returns the order of the first requests by a length, ties as they came.
func (p *Profile) ranked(of func(first) int64) []int {
	order := make([]int, len(p.firsts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of(p.firsts[a]), of(p.firsts[b])) })
	return order
}

// ranks counts the first requests by equal shares of the ranks of input and output.
func (p *Profile) ranks() [][]float64 {
	n := len(p.firsts)
	g := shares(int(math.Sqrt(float64(n))), cells)
	if g == 1 {
		return nil
	}
	table := make([][]float64, g)
	row := make([]int, n)
	for i := range table {
		table[i] = make([]float64, g)
	}
	for rank, i := range p.ranked(func(f first) int64 { return f.input }) {
		row[i] = rank * g / n
	}
	for rank, i := range p.ranked(func(f first) int64 { return f.output }) {
		table[row[i]][rank*g/n]++
	}
	return table
}

// fronts says how first prompts begin like earlier ones; nil where none does.
func (p *Profile) fronts() *synth.Reuse {
	n := len(p.firsts)
	g := shares(n/few, fronts)
	shared := make([][]int64, g)
	some := false
	for rank, i := range p.ranked(func(f first) int64 { return f.input }) {
		some = some || p.firsts[i].shared > 0
		shared[rank*g/n] = append(shared[rank*g/n], p.firsts[i].shared)
	}
	if !some {
		return nil
	}
	r := &synth.Reuse{Share: rounded(float64(p.firstShared) / float64(p.firstBlocks))}
	for _, s := range shared {
		r.Blocks = append(r.Blocks, quantiles(s, few))
	}
	var last []int32
	for o := range p.ages {
		if len(p.ages[o]) > 0 {
			last = p.ages[o]
		} else if !slices.ContainsFunc(p.ages[o:], func(a []int32) bool { return len(a) > 0 }) {
			break
		}
		if last == nil {
			last = []int32{1}
		}
		r.Age = append(r.Age, quantiles(last, few))
	}
	return r
}
