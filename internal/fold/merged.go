package fold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

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

// How a scalar of several summaries follows from theirs, by id. Those that are not here
// need the rows.
var (
	addedUp = []string{"conservation", "dispatched_gap", "completed_gap", "disorder", "tpot_first_assumed", "input_tokens_total", "output_tokens_total",
		"reasoning_tokens_total", "cached_tokens_total", "token_events_total", "turn_rows", "cap_rows", "local_errors", "conns_opened", "censored"}
	largest = []string{"clock_drift_ns", "cpu_share", "wait_per_slice", "run_wait_ratio", "throttled", "steal_share_max", "hiccup_thread_max", "hiccup_goroutine_max",
		"sched_p99", "gc_pause_max", "gc_pause_share", "read_delay_p99", "rss_max", "fds_max", "backlog_prepare_max", "backlog_dispatch_max", "backlog_rows_max"}
	ratios = []string{"sent_share", "late_share_1ms", "late_share_2ms", "late_share_5ms", "late_share_10ms", "late_share_50ms", "conn_slow_share", "rate_ratio",
		"cache_planned", "cache_reported", "cache_coverage", "cache_excess", "unseen_share", "source_share_usage_chunks", "source_share_usage", "source_share_tokenizer",
		"source_share_events", "source_share_none", "tokens_per_event", "token_event_share", "gap_share", "length_miss_share", "kappa", "multi_event_share",
		"conn_reuse_share", "retransmit_share", "stamp_share", "same_read_gaps", "hiccup_thread", "hiccup_goroutine", "attainment", "cpu_per_event",
		"failure_share", "output_error", "steal_share", "psi_share"}
	perTime = []string{"planned_rps", "sent_rps", "ok_rps", "ended_rps", "out_tps", "goodput_rps", "good_tps"}
	unknown = []string{"cache_server", "server_gap", "gpu_devices", "energy", "power", "energy_check", "idle_power", "j_per_out_token", "j_per_token", "j_per_good_request",
		"tokens_per_j", "throttled_share_power", "throttled_share_thermal", "ok_rps_per_gpu", "out_tps_per_gpu"}
	leasts = []string{"allowance", "headroom_requests", "headroom_events", "headroom_bytes", "headroom", "headroom_peak"}
)

// scalar returns one number of all summaries.
func (m *merger) scalar(id string) (x summary.Scalar) {
	all := m.scalars[id]
	value, n, reason := math.NaN(), int64(0), ""
	nulls := 0
	for _, v := range all {
		n += v.N
		if v.Value == nil {
			if nulls++; reason == "" || v.Reason < reason {
				reason = v.Reason
			}
		}
	}
	pick := func(better func(a, b float64) bool) {
		for _, v := range all {
			if v.Value != nil && (math.IsNaN(value) || better(*v.Value, value)) {
				value = *v.Value
			}
		}
	}
	length := m.window.ToNS - m.window.FromNS
	rate := func(n int64) {
		if value = float64(n) * second / float64(length); !m.agree() {
			value, reason = math.NaN(), windowsVary
		}
		if why := NoRates(length, m.plan.InWindow); why != "" {
			value, reason = math.NaN(), why
		}
	}
	switch {
	case len(m.objectives) == 0 && slices.Contains(goodScalars[:], id):
		reason = "no objective given"
	case slices.Contains(addedUp, id):
		var sum int64
		for _, v := range all {
			if v.Value != nil {
				sum += int64(*v.Value)
			}
		}
		if nulls < len(all) {
			value = float64(sum)
		}
	case slices.Contains(largest, id):
		pick(func(a, b float64) bool { return a > b })
	case slices.Contains(leasts, id):
		if nulls == 0 || id == "allowance" {
			pick(func(a, b float64) bool { return a < b })
		}
		for _, v := range all { // what it is the least of
			if v.Value != nil && *v.Value == value && id == "headroom" && (x.Evidence == "" || v.Evidence < x.Evidence) {
				x.Evidence = v.Evidence
			}
		}
	case slices.Contains(ratios, id) || strings.HasPrefix(id, "share_"):
		value, n, reason = m.ratio(id, n, reason)
		if k := m.total("unmeasured", 0); id == "attainment" && k > 0 {
			x.Evidence = fmt.Sprintf("%d ok requests lack a value that an objective asks for", k)
		}
	case slices.Contains(perTime, id):
		if m.have(id) {
			n = m.total(id, 0)
			rate(n)
		}
	case slices.Contains(unknown, id):
	default:
		value, n, reason = m.single(id, n, rate, &value, &reason)
	}
	if m.order.rows > 0 && (id == "order_rows" || id == "order_max_ns") {
		x.Evidence = fmt.Sprintf("request %d", m.order.worst)
	}
	if x.N, x.Value = n, number(value); x.Value == nil {
		x.N, x.Reason = 0, cmp.Or(reason, needsRows)
	}
	return x
}

// have says whether every summary has the totals of a scalar.
func (m *merger) have(id string) bool { return m.given[id] == m.added }

// ratio divides totals.
func (m *merger) ratio(id string, n int64, reason string) (float64, int64, string) {
	if !m.have(id) {
		return math.NaN(), 0, reason
	}
	t := m.totals[id]
	v := t[0].Over(t[1])
	switch id {
	case "failure_share":
		v = 1 - v
	case "output_error":
		v--
	case "steal_share", "psi_share":
		v /= 1e6
	}
	return v, n, reason
}

// single returns the scalars that follow a rule of their own.
func (m *merger) single(id string, n int64, rate func(int64), value *float64, reason *string) (float64, int64, string) {
	one := func(v, n int64) (float64, int64, string) { return float64(v), n, "" }
	null := func(why string) (float64, int64, string) { return math.NaN(), 0, why }
	w := m.window
	switch id {
	case "order_rows":
		return one(m.order.rows, m.plan.Rows)
	case "order_over":
		return one(m.order.over, m.plan.Rows)
	case "order_max_ns":
		return one(m.order.most, m.plan.Rows)
	case "early_sends":
		return one(m.order.early, m.plan.Rows)
	case "window_s":
		return float64(w.ToNS-w.FromNS) / second, m.plan.InWindow, ""
	case "turn_disorder":
		if !m.have(id) {
			return null(*reason)
		}
		if m.total(id, 1) > 0 {
			return null("a request waits for one that its summary does not have")
		}
		return one(m.total(id, 0), n)
	case "mixed_source":
		distinct := int64(0)
		for _, source := range [...]string{"usage_chunks", "usage", "tokenizer", "events", "none"} {
			if m.total("source_share_"+source, 0) > 0 {
				distinct++
			}
		}
		return one(max(0, distinct-1), n)
	case "recv_delay_p99":
		if h := m.sketches["recv_delay"]; h != nil && h.N() > 0 {
			return one(h.Quantiles([]int64{990})[0], h.N())
		}
		return null("no chunk lists with kernel stamps")
	case "effective_concurrency":
		if s := m.spreads["in_flight"]; s != nil && m.agree() {
			return s.all.Sum.OverInt(w.ToNS - w.FromNS), s.N, "the window is empty"
		}
		return null(windowsVary)
	case "cache_gap":
		if a, b := m.totals[id], m.totals["cache_gap_planned"]; m.have(id) {
			return a[0].Over(a[1]) - b[0].Over(b[1]), n, "no row has both sides"
		}
	case "span_rps", "span_out_tps":
		span := math.NaN()
		if m.sums.SpanTo.Valid && m.sums.SpanTo.V > m.sums.SpanFrom.V {
			span = float64(m.sums.SpanTo.V - m.sums.SpanFrom.V)
		}
		rows := m.total("span", 0)
		half := 0
		if id == "span_out_tps" {
			half = 1
		}
		return float64(m.total("span", half)) * second / span, rows, "no ok rows with tokens"
	case "in_tps", "total_tps", "in_uncached_tps":
		noInput, noCached := m.total("uncounted", 0), m.total("uncounted", 1)
		count := m.total("in_tps", 0)
		switch id {
		case "total_tps":
			count += m.total("out_tps", 0)
		case "in_uncached_tps":
			count = m.total(id, 0)
		}
		if rate(count); math.IsNaN(*value) {
			return null(*reason)
		}
		if noInput > 0 && id != "in_uncached_tps" {
			return null(fmt.Sprintf("the server did not count the input tokens of %d requests", noInput))
		}
		if id == "in_uncached_tps" && noInput+noCached > 0 {
			return null(fmt.Sprintf("the server did not count the cached tokens of %d requests", noCached))
		}
		return *value, m.total("in_tps", 1), ""
	}
	return null(needsRows)
}
