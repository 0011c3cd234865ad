// Package cells takes a summary apart into its figures, one after the other, for the
// formats that write them as rows. A figure keeps the digits that the JSON has, so that
// no format can say something else. All is the whole of it.
package cells

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/summary"
)

// Kinds of figures, in the order in which All yields them.
const (
	Window  = "window"
	Plan    = "plan"
	Outcome = "outcome"
	Metric  = "metric"
	Scalar  = "scalar"
	Series  = "series"
	Client  = "client"
	GPU     = "gpu"
)

// Label is one key and its value of what a figure is over.
type Label struct{ Key, Value string }

// Cell is one figure.
type Cell struct {
	Group      []Label // what it is over; nil: the whole window
	Kind       string
	ID         string
	Side       string
	Population string
	Weighting  string
	Statistic  string      // n, mean, p99, p99_low, value, …
	Unit       string      // of Value
	FromNS     formats.Int // of a series: where the step begins, offset
	Value      string      // a JSON number; empty when null
	Reason     string      // why it is null, or what limits it
}

// GroupText writes a group as key=value pairs, "" for the whole.
func GroupText(group []Label) string {
	pairs := make([]string, len(group))
	for i, l := range group {
		pairs[i] = l.Key + "=" + l.Value
	}
	return strings.Join(pairs, ",")
}

// All yields every figure of a summary but those that only merging needs.
func All(s *summary.Summary) iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		e := &each{yield: yield}
		e.window(s)
		e.body(nil, s.Outcomes, s.Metrics, s.Scalars)
		for i := range s.Groups {
			g := &s.Groups[i]
			labels := make([]Label, len(g.Keys))
			for k, key := range g.Keys {
				labels[k] = Label{key.Name, key.Value}
			}
			e.body(labels, g.Outcomes, g.Metrics, g.Scalars)
		}
		e.series(s)
		e.clients(s)
		e.gpus(s)
	}
}

// each yields cells until it is told to stop.
type each struct {
	yield func(Cell) bool
	done  bool
}

func (e *each) cell(c Cell) {
	e.done = e.done || !e.yield(c)
}

func (e *each) window(s *summary.Summary) {
	w, p := &s.Window, &s.Plan
	for _, f := range []struct {
		id string
		v  formats.Int
		no string
	}{{"from", formats.Some(w.FromNS), ""}, {"to", formats.Some(w.ToNS), ""}, {"load_from", formats.Some(w.LoadFrom), ""}, {"load_to", formats.Some(w.LoadTo), ""},
		{"warmup", formats.Some(w.WarmupNS), ""}, {"ramp", formats.Some(w.RampNS), ""}, {"mser_cut", w.MSERCutNS, w.MSERNote}} {
		e.cell(Cell{Kind: Window, ID: f.id, Statistic: "value", Unit: "ns", Value: whole(f.v), Reason: f.no})
	}
	for _, f := range []struct {
		id, unit string
		v        formats.Int
		no       string
	}{{"requests", "requests", formats.Some(p.Requests), ""}, {"input_tokens", "tokens", formats.Some(p.InputTokens), ""},
		{"output_tokens", "tokens", formats.Some(p.OutputTokens), ""}, {"expected_cached_tokens", "tokens", p.ExpectedCachedTokens, "the plan has no block ids"},
		{"in_window", "requests", formats.Some(p.InWindow), ""}, {"rows", "rows", formats.Some(p.Rows), ""},
		{"distinct", "requests", formats.Some(p.Distinct), ""}, {"duplicates", "rows", formats.Some(p.Duplicates), ""}} {
		c := Cell{Kind: Plan, ID: f.id, Statistic: "value", Unit: f.unit, Value: whole(f.v)}
		if c.Value == "" {
			c.Reason = f.no
		}
		e.cell(c)
	}
}

// body yields what a group has like the whole.
func (e *each) body(group []Label, outcomes []summary.Outcome, metrics []summary.Metric, scalars []summary.Scalar) {
	for _, o := range outcomes {
		c := Cell{Group: group, Kind: Outcome, ID: o.Name, Statistic: "n", Unit: "requests", Value: strconv.FormatInt(o.N, 10)}
		e.cell(c)
		c.Statistic, c.Value = "in_window", strconv.FormatInt(o.InWindow, 10)
		e.cell(c)
	}
	for i := range metrics {
		e.metric(group, &metrics[i])
	}
	for _, v := range scalars {
		c := Cell{Group: group, Kind: Scalar, ID: v.ID, Statistic: "value", Unit: v.Unit, Value: Number(v.Value), Reason: v.Reason}
		e.cell(c)
		c.Statistic, c.Unit, c.Value, c.Reason = "n", "", strconv.FormatInt(v.N, 10), ""
		e.cell(c)
	}
}

func (e *each) metric(group []Label, m *summary.Metric) {
	base := Cell{Group: group, Kind: Metric, ID: m.ID, Side: m.Side, Population: m.Population, Weighting: m.Weighting}
	add := func(statistic, unit, value, reason string) {
		if e.done {
			return
		}
		c := base
		c.Statistic, c.Unit, c.Value = statistic, unit, value
		if value == "" {
			c.Reason = reason
		}
		e.cell(c)
	}
	add("n", "values", strconv.FormatInt(m.N, 10), "")
	add("nulls", "rows", strconv.FormatInt(m.Nulls, 10), "")
	none := Absent(m)
	sum := ""
	if m.Sum != nil {
		sum = m.Sum.String()
	}
	add("sum", m.Unit, sum, none)
	add("mean", m.Unit, Number(m.Mean), none)
	add("std", m.Unit, Number(m.Std), none)
	add("min", m.Unit, whole(m.Min), none)
	add("max", m.Unit, whole(m.Max), none)
	for _, p := range m.Percentiles {
		name := LevelName(p.Level)
		reason := p.Reason
		add(name, m.Unit, whole(p.Value), reason)
		if p.Value.Valid && reason == "" && !p.High.Valid {
			reason = "no rank bounds it"
		}
		add(name+"_low", m.Unit, whole(p.Low), reason)
		add(name+"_high", m.Unit, whole(p.High), reason)
		add(name+"_tau", "values", Number(p.Tau), reason)
		add(name+"_n_eff", "values", Number(p.Neff), reason)
	}
}

// Absent says why a metric has no moments.
func Absent(m *summary.Metric) string {
	switch {
	case m.N == 0 && m.Note != "":
		return m.Note
	case m.N == 0:
		return "no values"
	case m.Population == "planned" && m.Mean == nil:
		return m.Note
	case m.Weighting == "time":
		return "weighted by time"
	}
	return "fewer than two values"
}

func (e *each) series(s *summary.Summary) {
	for _, v := range s.Series {
		for i, x := range v.Values {
			if e.done {
				return
			}
			c := Cell{Kind: Series, ID: v.ID, Statistic: "value", Unit: v.Unit, FromNS: formats.Some(v.FromNS + int64(i)*v.StepNS), Value: Number(x)}
			if x == nil {
				c.Reason = "nothing measured"
			}
			e.cell(c)
		}
	}
}

func (e *each) clients(s *summary.Summary) {
	for _, k := range s.Clients {
		group := []Label{{"part", strconv.FormatInt(k.Part, 10)}, {"worker", strconv.FormatInt(k.Worker, 10)}}
		for _, f := range []struct {
			id, unit string
			v        formats.Int
		}{{"pid", "", formats.Some(k.PID)}, {"rows", "rows", formats.Some(k.Rows)}, {"dispatched", "requests", formats.Some(k.Dispatched)},
			{"completed", "requests", formats.Some(k.Completed)}, {"rows_sent", "requests", formats.Some(k.RowsSent)}, {"rows_ended", "requests", formats.Some(k.RowsEnded)},
			{"cpu_ns", "ns", k.CPUNS}, {"runqueue_ns", "ns", k.RunqueueNS}, {"timeslices", "", k.Timeslices}, {"token_events", "events", formats.Some(k.TokenEvents)}} {
			c := Cell{Group: group, Kind: Client, ID: f.id, Statistic: "value", Unit: f.unit, Value: whole(f.v)}
			if !f.v.Valid {
				c.Reason = "not measured"
			}
			e.cell(c)
		}
		for _, id := range slices.Sorted(maps.Keys(k.Values)) {
			v := k.Values[id]
			e.cell(Cell{Group: group, Kind: Client, ID: id, Statistic: "value", Value: Number(&v)})
		}
	}
}

func (e *each) gpus(s *summary.Summary) {
	for _, g := range s.GPUs {
		group := []Label{{"host", g.Host}, {"index", strconv.FormatInt(g.Index, 10)}, {"uuid", g.UUID}}
		e.cell(Cell{Group: group, Kind: GPU, ID: "samples", Statistic: "value", Unit: "samples", Value: strconv.FormatInt(g.Samples, 10)})
		for _, id := range slices.Sorted(maps.Keys(g.Values)) {
			c := Cell{Group: group, Kind: GPU, ID: id, Statistic: "value", Value: Number(g.Values[id])}
			if c.Value == "" {
				if c.Reason = g.Reason; c.Reason == "" {
					c.Reason = "not measured"
				}
			}
			e.cell(c)
		}
	}
}

// LevelName names a percentile that is given in thousandths: p50, p99.9.
func LevelName(level int64) string {
	s := "p" + strconv.FormatInt(level/10, 10)
	if level%10 != 0 {
		s += "." + strconv.FormatInt(level%10, 10)
	}
	return s
}

// Number writes a number as the JSON of the summary does, "" for null.
func Number(v *float64) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(*v)
	if err != nil {
		panic(fmt.Sprintf("internal error: a summary holds %v", *v))
	}
	return string(b)
}

func whole(v formats.Int) string {
	if !v.Valid {
		return ""
	}
	return strconv.FormatInt(v.V, 10)
}
