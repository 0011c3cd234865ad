package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// Reasons for what a merger of sums cannot say.
const (
	needsRows   = "needs per-request columns"
	windowsVary = "the windows of the merged summaries are not the same"
	noInterval  = "no interval: " + needsRows
	bySketch    = "by sketch: a percentile is at most 0.1 % too high, and has no interval"
)

// summary writes what was added up.
func (m *merger) summary() (*summary.Summary, error) {
	w := m.window
	slices.SortFunc(m.inputs, func(a, b summary.Input) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.clients, func(a, b summary.Client) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.PID, b.PID))
	})
	s := &summary.Summary{Format: summary.Format, Version: summary.Version, Build: m.o.Build, Inputs: m.inputs, Window: w, Plan: m.plan, Objectives: m.objectives,
		Clients: m.clients, GPUNote: "no gpu stream"}
	for _, p := range m.parts {
		detail, err := json.Marshal(p.end.Detail)
		if err != nil {
			return nil, err
		}
		s.Parts = append(s.Parts, summary.Part{Header: p.raw, End: summary.PartEnd{Status: p.end.Status, Planned: p.end.Planned,
			RequestsRows: p.end.RequestsRows, ClientRows: p.end.ClientRows, SHA256: p.end.SHA256, Detail: detail}})
	}
	for _, name := range run.Outcomes {
		o := m.outcomes[name]
		s.Outcomes = append(s.Outcomes, summary.Outcome{Name: name, N: o.N, InWindow: o.InWindow})
	}
	for i := range timings {
		s.Metrics = append(s.Metrics, m.timing(&timings[i])...)
	}
	for _, g := range gatherings {
		s.Metrics = append(s.Metrics, m.gathered(g.id))
	}
	sortMetrics(s.Metrics)
	for id, h := range m.sketches {
		data, err := h.Encode()
		if err != nil {
			return nil, err
		}
		s.Sketches = append(s.Sketches, summary.Sketch{ID: id, Side: gathering(id).Side, Digits: h.Digits(), Data: data})
	}
	sortSketches(s.Sketches)
	for _, d := range scalarTable {
		x := m.scalar(d.id)
		x.ID, x.Unit, x.Definition = d.id, d.unit, d.formula
		s.Scalars = append(s.Scalars, x)
	}
	slices.SortFunc(s.Scalars, func(a, b summary.Scalar) int { return cmp.Compare(a.ID, b.ID) })
	s.Series = m.series()
	var err error
	if s.Sums, err = m.encode(); err != nil {
		return nil, err
	}
	s.Seal()
	m.notes["merged from summaries without rows: counts, sums and extremes are exact, percentiles are by sketch, and what "+needsRows+" is null"] = true
	if !m.agree() {
		m.notes[windowsVary+": each counts over its own, and nothing is said per second"] = true
	}
	if len(m.parts) > 1 {
		m.notes["the parts are aligned by wall clock"] = true
	}
	if n := m.total("untimed", 0); n == 1 {
		m.notes["1 request has no planned time and belongs to no window"] = true
	} else if n > 1 {
		m.notes[fmt.Sprintf("%d requests have no planned time and belong to no window", n)] = true
	}
	for text := range m.notes {
		s.Notes = append(s.Notes, text)
	}
	slices.Sort(s.Notes)
	return s, nil
}

// total is one of a pair of totals, 0 when no summary has it.
func (m *merger) total(id string, half int) int64 {
	t := m.totals[id]
	return t[half].Big().Int64()
}

// fillBySketch fills a distribution from a sketch and what is exact beside it; the misses
// rank behind its values.
func (s *spread) fill(m *summary.Metric, misses int64) {
	m.Method, m.Note = sketchy, bySketch
	m.N = s.all.N + misses
	if misses == 0 {
		moments(m, &s.all)
	}
	m.Percentiles = make([]summary.Percentile, len(Levels))
	var ranks []int64
	var of []*summary.Percentile
	for i, level := range Levels {
		p := &m.Percentiles[i]
		p.Level = level
		if m.N < floorOf[i] {
			p.Reason = fmt.Sprintf("needs %d values, has %d", floorOf[i], m.N)
		} else if rank := stats.NearestRank(m.N, level); rank > s.all.N {
			p.Infinite, p.Reason = true, "the rank falls on a miss"
		} else {
			ranks, of = append(ranks, rank), append(of, p)
		}
	}
	for i, v := range s.wide.At(ranks) {
		of[i].Value, of[i].Reason = formats.Some(min(max(v, s.all.Min), s.all.Max)), noInterval
	}
}

// timing returns a distribution over requests, and its twin over the planned ones.
func (m *merger) timing(t *timing) []summary.Metric {
	x := t.metric(t.pop)
	s := m.spreads[t.id]
	if s == nil {
		(&spread{}).fill(&x, 0)
		x.Note = needsRows
		return []summary.Metric{x}
	}
	s.fill(&x, 0)
	x.Nulls = s.Nulls
	if t.id == "client_time" && m.lowerBound {
		x.Note += "; " + lowerBoundNote
	}
	if !t.planned {
		return []summary.Metric{x}
	}
	y := t.metric(popPlanned)
	if s.all.N == 0 {
		(&spread{}).fill(&y, 0)
		y.Nulls, y.Note = s.Neutral+s.Misses, "no request has a value"
		return []summary.Metric{x, y}
	}
	s.fill(&y, s.Misses)
	y.Nulls = s.Neutral
	if s.Misses > 0 {
		y.Note += fmt.Sprintf("; %d of %d are misses and rank as +infinity", s.Misses, y.N)
	}
	return []summary.Metric{x, y}
}

// lowerBoundNote is that of client_time without kernel stamps.
const lowerBoundNote = "lower bound: without kernel stamps the way from the kernel to the parser is not in it"

// gathered returns a distribution that is not over requests.
func (m *merger) gathered(id string) summary.Metric {
	x := gathering(id)
	s := m.spreads[id]
	if s == nil {
		s = &spread{}
	}
	reason, note := needsRows, needsRows
	if !m.agree() {
		reason, note = windowsVary, windowsVary
	}
	switch {
	case x.Method == sketchy:
		h := m.sketches[id]
		if h == nil {
			h = stats.NewHistogram(3)
		}
		sketched(&x, h, &s.all)
		if n := h.Digits(); n != 3 {
			x.Method = fmt.Sprintf("HdrHistogram, %d digits", n)
		}
		return x
	case id == "out_tps_1s":
		var values []int64
		if c := m.counts[id]; c != nil && m.agree() && len(c.values) >= 10 {
			values = c.values
		} else if m.agree() {
			note = "fewer than 10 whole seconds in the window"
		}
		var d ranker
		if d.fill(&x, slices.Clone(values)); len(values) == 0 {
			x.Note = note
		}
		return x
	}
	x.N = s.N
	if id == "sessions_open" {
		reason, note = needsRows, needsRows+": a session may have requests in several summaries"
	} else if m.agree() {
		x.Mean, note = number(s.all.Sum.OverInt(m.window.ToNS-m.window.FromNS)), "mean only: percentiles over time need the rows"
	}
	x.Note = note
	for _, k := range Levels {
		x.Percentiles = append(x.Percentiles, summary.Percentile{Level: k, Reason: reason})
	}
	return x
}

// series returns the values by second of the wall clock, and those over thirtieths of the
// window when all windows agree.
func (m *merger) series() (out []summary.Series) {
	for _, id := range [...]string{"planned", "sent", "ok", "ended", "out_tps", "in_flight"} {
		c := m.counts[id]
		if c == nil {
			continue
		}
		first := max(0, (m.window.LoadFrom-c.from+second-1)/second)
		last := min(int64(len(c.values)), (m.window.LoadTo-c.from)/second)
		if last <= first {
			continue
		}
		unit := "1/s"
		switch id {
		case "out_tps":
			unit = "tokens/s"
		case "in_flight":
			unit = "requests"
		}
		out = append(out, seriesOf(id, unit, c.from+first*second, second, c.values[first:last]))
	}
	for _, v := range m.bins {
		if m.agree() {
			out = append(out, *v)
		}
	}
	slices.SortFunc(out, func(a, b summary.Series) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// encode writes the sums, to be merged again.
func (m *merger) encode() (*summary.Sums, error) {
	out := &summary.Sums{Window: m.sums, Sample: m.sample.encode(),
		Order: summary.Order{Rows: m.order.rows, Over: m.order.over, MostNS: m.order.most, WorstID: m.order.worst, Early: m.order.early}}
	for id, t := range m.totals {
		if !m.have(id) || len(m.objectives) == 0 && slices.Contains(ofObjectives, id) {
			continue // a sum over some summaries is none over all
		}
		out.Tallies = append(out.Tallies, summary.Tally{ID: id, A: json.Number(t[0].String()), B: json.Number(t[1].String())})
	}
	for _, s := range m.spreads {
		x := s.Spread
		put(&x, &s.all)
		var err error
		if x.Over, x.Under, err = s.wide.Encode(); err != nil {
			return nil, err
		}
		out.Spreads = append(out.Spreads, x)
	}
	for id, c := range m.counts {
		if id == "out_tps_1s" && !m.agree() {
			c = &perSecond{from: m.window.FromNS}
		}
		out.Counts = append(out.Counts, summary.Counts{ID: id, FromNS: c.from, Values: blanks(c.values)})
	}
	sortSums(out)
	return out, nil
}

// ofObjectives are the totals that depend on the objectives.
var ofObjectives = append(slices.Clone(goodScalars[:]), "unmeasured")
