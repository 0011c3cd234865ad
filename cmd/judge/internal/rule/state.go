package rule

import (
	"fmt"
	"math"
	"slices"

	"hydrant/cmd/judge/internal/decide"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// Input is everything that a run is judged by.
type Input struct {
	Place   string // names the summary in errors
	Summary *summary.Summary
	Columns *summary.Columns // nil: the summary carries none
	Plan    *Plan            // nil: no schedule was given
	Set     []slo.Objective
	Options Options
}

// Options is what was asked of the judge.
type Options struct {
	Build          string // of the judge
	Short          bool   // D1 asks for 30 s only
	AcceptUnproven bool   // missing evidence is named, not BAD
	Evidence       string // lowest evidence tier accepted, one of Tiers; "": T1
	Directional    bool   // what holds a fortiori decides the exit status
	Limits         []Override
}

// Plan is what the given schedule says of itself.
type Plan struct {
	Place        string
	SHA256       []string // of each schedule in it
	Requests     int64
	InputTokens  int64
	OutputTokens int64
	SpanNS       int64
}

// state is what checks read.
type state struct {
	Input
	sum       *summary.Summary
	rows      decide.Rows
	headers   []run.Header
	details   []run.Detail
	decisions []decide.Decision // on the sides that the objectives name
	sent      []decide.Decision // the same objectives on the sent side
	sentAt    []int             // their places in the set
	wire      []decide.Decision
	wireAt    []int
	pairs     []decide.Pair // the same objectives from two sides with one tau
	cells     map[int]verdict.Invariance
	table     map[string]Check
	done      map[string]verdict.Check
	byHand    map[string]float64 // limits changed by hand
	ttft      float64            // L_ttft, the tightest TTFT limit of the set; NaN when absent
	gap       float64            // L_gap, the tightest limit on gaps or time per token
	asap      bool
	strict    bool
}

func newState(in Input) (*state, error) {
	s := &state{Input: in, sum: in.Summary, ttft: math.NaN(), gap: math.NaN(), cells: map[int]verdict.Invariance{}, table: map[string]Check{},
		done: map[string]verdict.Check{}, byHand: map[string]float64{}}
	for _, c := range Checks() {
		s.table[c.ID] = c
	}
	for _, o := range in.Options.Limits {
		s.byHand[o.ID] = o.Value
	}
	for i, p := range in.Summary.Parts {
		var h run.Header
		if err := formats.DecodeJSON(p.Header, in.Place, fmt.Sprintf("parts[%d].header", i), &h); err != nil {
			return nil, err
		}
		var d run.Detail
		if err := formats.DecodeJSON(p.End.Detail, in.Place, fmt.Sprintf("parts[%d].end.detail", i), &d); err != nil {
			return nil, err
		}
		s.headers, s.details = append(s.headers, h), append(s.details, d)
		s.asap = s.asap || h.Timing == "asap"
		s.strict = s.strict || h.Timing == "strict"
	}
	if in.Columns != nil {
		s.rows = decide.NewRows(in.Columns)
	}
	s.decide()
	return s, nil
}

// decide decides the objectives first, since some limits of checks depend on them.
func (s *state) decide() {
	e := decide.Evidence{Columns: s.Columns, FromNS: s.sum.Window.FromNS, ToNS: s.sum.Window.ToNS, Series: s.sum.Series, Sums: s.sum.Sums, Metrics: s.sum.Metrics, Missing: map[string]string{}}
	for _, x := range s.sum.Scalars {
		if x.Value == nil {
			e.Missing[x.ID] = x.Reason
		}
	}
	for _, o := range s.Options.Limits {
		if o.ID == "D5.n_eff" {
			e.D5 = o.Value
		}
	}
	s.decisions = decide.All(s.Set, e)
	var on []slo.Objective
	on, s.sentAt = slo.On(s.Set, slo.Sent)
	s.sent = decide.All(on, e)
	on, s.wireAt = slo.On(s.Set, slo.Wire)
	s.wire = decide.All(on, e)
	if s.asap {
		s.noArrivalRate()
	} else {
		s.pairs = decide.Pairs(s.Set, e, s.side())
	}
	for i, d := range s.decisions {
		for _, l := range d.Limits {
			s.tighten(i, l)
		}
		if d.Objective.Kind == slo.Quantile {
			s.tighten(i, d.Objective.Limit)
		}
	}
}

// noArrivalRate leaves objectives over latencies open: under --timing asap requests come
// when answers go, so there is no rate of arrival that a latency could be judged at.
func (s *state) noArrivalRate() {
	for i := range s.decisions {
		if d := &s.decisions[i]; d.Objective.Kind == slo.Quantile || len(d.Limits) > 0 && d.Objective.Kind == slo.Joint {
			d.Result, d.Reason = decide.Inconclusive, "--timing asap: there is no arrival rate that a latency could be judged at"
		}
	}
}

// serverFails reports whether objective i also fails when no time of the client is in
// it: then no client time decides it. Time per token has no sent side of its own, so it
// is seen from the wire; where there is no such side, the decision itself speaks.
func (s *state) serverFails(i int) bool {
	for _, twin := range []struct {
		at  []int
		all []decide.Decision
	}{{s.sentAt, s.sent}, {s.wireAt, s.wire}} {
		for k, at := range twin.at {
			if at == i && twin.all[k].Decided {
				return twin.all[k].Result == decide.Fail
			}
		}
	}
	return s.decisions[i].Result == decide.Fail
}

// tighten lowers L_ttft or L_gap to a limit of objective i.
func (s *state) tighten(i int, l slo.Limit) {
	var to *float64
	switch l.Metric {
	case "ttft":
		to = &s.ttft
	case "tpot", "icl_mean", "icl_p99", "icl_max":
		to = &s.gap
	default:
		return
	}
	if s.serverFails(i) {
		return
	}
	v := float64(l.BaseNS)
	if s.Columns != nil {
		v = float64(s.rows.Tightest(l))
	}
	*to = least(*to, v)
}

// least is the smaller of two numbers that may be absent (NaN).
func least(a, b float64) float64 {
	if math.IsNaN(a) || !math.IsNaN(b) && b < a {
		return b
	}
	return a
}

// scalar returns a scalar of the summary; one that is absent has a reason.
func (s *state) scalar(id string) summary.Scalar {
	i := slices.IndexFunc(s.sum.Scalars, func(x summary.Scalar) bool { return x.ID == id })
	if i < 0 {
		return summary.Scalar{ID: id, Reason: "the summary has no " + id}
	}
	x := s.sum.Scalars[i]
	if x.Value == nil && x.Reason == "" {
		x.Reason = id + " was not measured"
	}
	return x
}

// take fills a term from a scalar: its value through f (nil: as it is), or its reason.
func (s *state) take(out *finding, term, id string, f func(float64) float64) bool {
	x := s.scalar(id)
	if x.Value == nil {
		out.unknown(term, x.Reason)
		return false
	}
	v := *x.Value
	if f != nil {
		v = f(v)
	}
	out.value(term, v, x.N)
	out.see(term, x.Evidence)
	return true
}

// metric returns the distribution of id, preferring the planned population.
func (s *state) metric(id string) *summary.Metric {
	var found *summary.Metric
	for i := range s.sum.Metrics {
		m := &s.sum.Metrics[i]
		if m.ID == id && (found == nil || m.Population == "planned") {
			found = m
		}
	}
	return found
}

// level returns a published percentile.
func level(m *summary.Metric, thousandths int64) (summary.Percentile, bool) {
	if m != nil {
		for _, p := range m.Percentiles {
			if p.Level == thousandths {
				return p, true
			}
		}
	}
	return summary.Percentile{}, false
}

// flag returns an effective flag of the run, "" when it is not set or off.
func (s *state) flag(name string) string {
	for _, h := range s.headers {
		switch v := h.Flags[name]; v {
		case "", "0", "0s", "false", "off", "none":
		default:
			return v
		}
	}
	return ""
}
