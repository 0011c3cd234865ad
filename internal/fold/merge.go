package fold

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// merge adds summaries that have no rows, and the parts of the runs that were read, each
// reduced by itself: only then is the result the same for any order and any grouping.
func (f *fold) merge(ctx context.Context, bare []*summary.Summary, places []string) (*summary.Summary, error) {
	m := &merger{o: f.o, totals: map[string][2]stats.Sum{}, given: map[string]int{}, spreads: map[string]*spread{}, counts: map[string]*perSecond{}, sketches: map[string]*stats.Histogram{},
		scalars: map[string][]summary.Scalar{}, outcomes: map[string]summary.Outcome{}, notes: map[string]bool{}, bins: map[string]*summary.Series{}}
	objectives, same := bare[0].Objectives, true
	for _, s := range bare {
		same = same && slices.Equal(s.Objectives, objectives)
	}
	if want := slo.Texts(f.o.SLO); len(want) > 0 && (!same || !slices.Equal(want, objectives)) {
		return nil, &formats.SyntaxError{Place: places[0], What: "objectives", Got: "others, or none", Want: strings.Join(want, " "),
			Help: "good requests are counted in the rows: give --slo to the reduce that reads the runs"}
	}
	if f.o.MaxColumns > DefaultMaxColumns {
		return nil, &formats.SyntaxError{Place: places[0], What: "rows", Got: "a summary without rows", Want: "one with rows, as --columns on asks for",
			Help: "without --columns on, what can be added is merged"}
	}
	if m.objectives = objectives; !same {
		m.objectives = nil
		m.notes["the objectives of the inputs are not the same: no request is called good"] = true
	}
	all, names := slices.Clone(bare), slices.Clone(places)
	if f.cut {
		return nil, &formats.SyntaxError{Place: f.parts[len(f.parts)-1].place, What: "inputs", Got: "a truncated run", Want: "whole runs beside a summary without rows"}
	}
	if len(f.parts) > 0 {
		parts, err := f.apart(ctx, m)
		if err != nil {
			return nil, err
		}
		for _, s := range parts {
			all, names = append(all, s), append(names, f.parts[0].place)
		}
		m.order = f.order
	}
	if err := m.align(all, names); err != nil {
		return nil, err
	}
	for i, s := range all {
		if err := m.add(s, names[i]); err != nil {
			return nil, err
		}
	}
	return m.summary()
}

// apart reduces each part that was read by itself, without rows.
func (f *fold) apart(ctx context.Context, m *merger) (made []*summary.Summary, err error) {
	position, err := f.align()
	if err != nil {
		return nil, err
	}
	f.position = position
	f.arrange(position)
	if err := f.identify(); err != nil {
		return nil, err
	}
	rows, err := f.carryAll()
	if err != nil {
		return nil, err
	}
	m.inputs = f.inputs
	o := Options{Build: f.o.Build, NoColumns: true}
	for _, text := range m.objectives {
		x, err := slo.Parse("objectives", text)
		if err != nil {
			return nil, err
		}
		o.SLO = append(o.SLO, x...)
	}
	text := base64.NewDecoder(base64.StdEncoding, strings.NewReader(rows.Run))
	r, err := run.NewReader(text, "rows")
	if err != nil {
		return nil, err
	}
	for _, p := range f.parts {
		next, err := r.NextPart()
		if err != nil {
			return nil, err
		}
		g := newFold(o)
		defer g.close()
		detail, err := json.Marshal(p.end.Detail)
		if err != nil {
			return nil, err
		}
		q := &part{place: p.place, file: p.file, header: next.Header(), told: &told{place: p.place, file: p.file, header: p.raw,
			end: summary.PartEnd{Status: p.end.Status, Planned: p.end.Planned, RequestsRows: p.end.RequestsRows, ClientRows: p.end.ClientRows, SHA256: p.end.SHA256, Detail: detail}}}
		if err := g.readPart(ctx, q, next); err != nil {
			return nil, err
		}
		if err := g.settle(ctx); err != nil {
			return nil, err
		}
		s, err := g.summary()
		if err != nil {
			return nil, err
		}
		made = append(made, s)
	}
	if _, err := r.NextPart(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("internal error: parts: got more, want %d (%w)", len(f.parts), err)
	}
	return made, nil
}

// merger holds the totals of the summaries that were added. Whole numbers are added,
// extremes compared and sets united, so that no order of the additions shows.
type merger struct {
	o          Options
	objectives []string
	epoch      int64 // wall clock of the earliest part
	inputs     []summary.Input
	parts      []*part
	number     map[string]int64 // of each part by its hash
	clients    []summary.Client
	window     summary.Window
	sums       summary.SumWindow
	plan       summary.Plan
	order      order
	sample     sample
	outcomes   map[string]summary.Outcome
	totals     map[string][2]stats.Sum
	given      map[string]int // summaries with such a total
	spreads    map[string]*spread
	counts     map[string]*perSecond
	sketches   map[string]*stats.Histogram
	scalars    map[string][]summary.Scalar
	notes      map[string]bool
	bins       map[string]*summary.Series // over thirtieths of the one window
	lowerBound bool                       // client times lack the part after the kernel
	added      int
}

// spread is a distribution that is being added up.
type spread struct {
	summary.Spread
	all  stats.Moments
	wide stats.Wide
}

// align puts the parts of all summaries in order.
func (m *merger) align(all []*summary.Summary, places []string) error {
	m.number = map[string]int64{}
	for i, s := range all {
		for _, p := range s.Parts {
			q := &part{place: places[i], raw: p.Header}
			if err := json.Unmarshal(p.Header, &q.header); err != nil {
				return &formats.SyntaxError{Place: places[i], What: "parts", Got: "no header of a run", Want: "one", Err: err}
			}
			if err := json.Unmarshal(p.End.Detail, &q.end.Detail); err != nil {
				return &formats.SyntaxError{Place: places[i], What: "parts", Got: "no end of a run", Want: "one", Err: err}
			}
			q.end.Status, q.end.Planned, q.end.RequestsRows, q.end.ClientRows, q.end.SHA256 = p.End.Status, p.End.Planned, p.End.RequestsRows, p.End.ClientRows, p.End.SHA256
			if _, twice := m.number[p.End.SHA256]; twice {
				return &formats.SyntaxError{Place: places[i], What: "parts", Got: p.End.SHA256, Want: "each part once", Help: "the same run was given twice"}
			}
			m.number[p.End.SHA256] = 0
			m.parts = append(m.parts, q)
		}
	}
	f := fold{parts: m.parts} // the same order and the same checks
	if _, err := f.align(); err != nil {
		return err
	}
	m.parts = f.parts
	for i, p := range m.parts {
		m.number[p.end.SHA256] = int64(i)
	}
	m.epoch = f.epoch.WallNS
	return nil
}

// add takes in one summary.
func (m *merger) add(s *summary.Summary, place string) error {
	x := s.Sums
	bad := func(what, got string) error {
		return &formats.SyntaxError{Place: place, What: "sums." + what, Got: formats.Clip(got), Want: "what reduce writes", Help: "reduce the run again"}
	}
	var first run.Header
	_ = json.Unmarshal(s.Parts[0].Header, &first) // align read it
	if s.Partial {
		return &formats.SyntaxError{Place: place, What: "partial", Got: "true", Want: "a summary of whole runs", Help: "parts of runs are not added up"}
	}
	shift := first.Epoch.WallNS - m.epoch
	if err := m.addWindow(s, shift, place); err != nil {
		return err
	}
	if !m.sample.join(x.Sample) {
		return &formats.SyntaxError{Place: place, What: "request_id", Got: "ids that another input has", Want: "ids of its own", Help: "the same run was given twice, or two runs replay the same requests"}
	}
	for _, in := range s.Inputs {
		if in.Kind == kindRun {
			m.inputs = append(m.inputs, in)
		}
	}
	p := s.Plan
	m.plan.Requests += p.Requests
	m.plan.InputTokens += p.InputTokens
	m.plan.OutputTokens += p.OutputTokens
	if p.ExpectedCachedTokens.Valid {
		m.plan.ExpectedCachedTokens = formats.Some(m.plan.ExpectedCachedTokens.Or(0) + p.ExpectedCachedTokens.V)
	}
	m.plan.InWindow += p.InWindow
	m.plan.Rows += p.Rows
	m.plan.Distinct += p.Distinct
	m.plan.Duplicates += p.Duplicates
	for _, o := range s.Outcomes {
		k := m.outcomes[o.Name]
		m.outcomes[o.Name] = summary.Outcome{Name: o.Name, N: k.N + o.N, InWindow: k.InWindow + o.InWindow}
	}
	for _, c := range s.Clients {
		c.Part = m.number[s.Parts[c.Part].End.SHA256]
		m.clients = append(m.clients, c)
	}
	m.order.merge(order{rows: x.Order.Rows, over: x.Order.Over, most: x.Order.MostNS, worst: x.Order.WorstID, early: x.Order.Early})
	var open int64
	for _, t := range x.Tallies {
		a, okA := stats.ParseSum(t.A.String())
		b, okB := stats.ParseSum(t.B.String())
		if !okA || !okB {
			return bad("tallies", t.A.String()+" "+t.B.String())
		}
		if t.ID == "open" {
			open = int64(a.Float())
		}
		k := m.totals[t.ID]
		k[0].AddSum(a)
		k[1].AddSum(b)
		m.totals[t.ID] = k
		m.given[t.ID]++
	}
	for _, q := range x.Spreads {
		if !m.addSpread(q) {
			return bad("spreads", q.ID)
		}
	}
	for _, k := range s.Sketches {
		h, err := stats.DecodeHistogram(k.Data)
		if err != nil {
			return bad("sketches", err.Error())
		}
		if gatheringAt(k.ID) < 0 {
			return bad("sketches", k.ID)
		}
		if old := m.sketches[k.ID]; old == nil {
			m.sketches[k.ID] = h
		} else if err := old.Merge(h); err != nil {
			return bad("sketches", err.Error())
		}
	}
	for _, c := range x.Counts {
		if !m.addCounts(c, shift, open) {
			return bad("counts", c.ID)
		}
	}
	for _, v := range s.Series {
		if strings.HasPrefix(v.ID, "batch_") {
			m.addBins(v, shift)
		}
	}
	for _, v := range s.Metrics {
		m.lowerBound = m.lowerBound || v.ID == "client_time" && strings.Contains(v.Note, lowerBoundNote)
	}
	for _, v := range s.Scalars {
		m.scalars[v.ID] = append(m.scalars[v.ID], v)
	}
	for _, text := range s.Notes {
		if !strings.Contains(text, "no planned time and belong") {
			m.notes[text] = true
		}
	}
	m.added++
	return nil
}

// addWindow keeps what the windows have in common. Windows that were asked for have to
// be the same, and any two have to overlap.
func (m *merger) addWindow(s *summary.Summary, shift int64, place string) error {
	x, w := s.Sums.Window, s.Window
	x.FromLeast, x.FromMost, x.ToLeast, x.ToMost = x.FromLeast+shift, x.FromMost+shift, x.ToLeast+shift, x.ToMost+shift
	if x.SpanTo.Valid {
		x.SpanFrom, x.SpanTo = formats.Some(x.SpanFrom.V+shift), formats.Some(x.SpanTo.V+shift)
	}
	if m.added == 0 {
		m.sums, m.window = x, summary.Window{LoadFrom: w.LoadFrom + shift, LoadTo: w.LoadTo + shift, WarmupNS: w.WarmupNS, RampNS: w.RampNS}
	} else {
		t := &m.sums
		if t.Given != x.Given {
			return &formats.SyntaxError{Place: place, What: "window", Got: cmp.Or(x.Given, "the steady one"), Want: cmp.Or(t.Given, "the steady one") + ", as the others",
				Help: "a sketch holds one window: reduce each run with the same --window"}
		}
		t.FromLeast, t.FromMost = min(t.FromLeast, x.FromLeast), max(t.FromMost, x.FromMost)
		t.ToLeast, t.ToMost = min(t.ToLeast, x.ToLeast), max(t.ToMost, x.ToMost)
		if x.SpanTo.Valid && t.SpanTo.Valid {
			t.SpanFrom, t.SpanTo = formats.Some(min(t.SpanFrom.V, x.SpanFrom.V)), formats.Some(max(t.SpanTo.V, x.SpanTo.V))
		} else if x.SpanTo.Valid {
			t.SpanFrom, t.SpanTo = x.SpanFrom, x.SpanTo
		}
		v := &m.window
		v.LoadFrom, v.LoadTo = min(v.LoadFrom, w.LoadFrom+shift), max(v.LoadTo, w.LoadTo+shift)
		v.WarmupNS, v.RampNS = max(v.WarmupNS, w.WarmupNS), max(v.RampNS, w.RampNS)
	}
	m.window.FromNS, m.window.ToNS = m.sums.FromMost, m.sums.ToLeast
	if m.window.ToNS <= m.window.FromNS {
		return &formats.SyntaxError{Place: place, What: "window", Got: fmt.Sprintf("%.9g s to %.9g s", float64(x.FromMost)/second, float64(x.ToLeast)/second),
			Want: "one that overlaps those of the other inputs", Help: "shards of one run go on at the same time: merge those, or give runs or summaries with rows"}
	}
	m.window.MSERNote = needsRows
	return nil
}

// agree says whether all windows are the same to the nanosecond.
func (m *merger) agree() bool {
	return m.sums.FromLeast == m.sums.FromMost && m.sums.ToLeast == m.sums.ToMost
}

func (m *merger) addSpread(x summary.Spread) bool {
	s := m.spreads[x.ID]
	if s == nil {
		s = &spread{Spread: summary.Spread{ID: x.ID, Side: x.Side, Neff: slices.Clone(x.Neff)}}
		m.spreads[x.ID] = s
	}
	known := slices.ContainsFunc(timings[:], func(t timing) bool { return t.id == x.ID }) || gatheringAt(x.ID) >= 0
	sum, ok := stats.ParseSum(x.Sum.String())
	squares, ok2 := stats.ParseSum(x.Squares.String())
	if !known || !ok || !ok2 || s.Side != x.Side || len(x.Neff) != len(s.Neff) {
		return false
	}
	if x.Min.Valid {
		s.all.Merge(&stats.Moments{N: x.N, Sum: sum, Squares: squares, Min: x.Min.V, Max: x.Max.Or(x.Min.V)})
	} else {
		s.all.Sum.AddSum(sum) // an area, or nothing
	}
	before := s.wide.N()
	sketched := slices.ContainsFunc(timings[:], func(t timing) bool { return t.id == x.ID })
	if s.wide.Decode(x.Over, x.Under) != nil || sketched && s.wide.N()-before != x.N {
		return false
	}
	s.N += x.N
	s.Nulls += x.Nulls
	s.Misses += x.Misses
	s.Neutral += x.Neutral
	for i, n := range x.Neff {
		switch {
		case n == nil || s.Neff[i] == nil:
			s.Neff[i] = nil
		case *n < *s.Neff[i]:
			s.Neff[i] = n
		}
	}
	return true
}
