package rule

import (
	"encoding/json"
	"path"
	"slices"
	"sort"
	"strings"

	"hydrant/cmd/judge/internal/decide"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/fold"
	"hydrant/internal/slo"
)

// shownLatencies are the distributions that a verdict repeats from the summary.
var shownLatencies = [...]string{"ttft_user", "ttft_sent", "ttft_wire", "ttfo_user", "ttfo_sent", "ttfo_wire", "tpot_user", "tpot_wire",
	"icl", "icl_wire", "e2e_user", "e2e_sent", "e2e_wire", "send_lag"}

// shownLevels are their levels, in thousandths.
var shownLevels = [...]int64{500, 900, 950, 990, 999}

// shownNumbers are the scalars that a verdict repeats from the summary: rates, what
// was delivered, and what the client itself cost.
var shownNumbers = [...]string{
	"cache_excess", "cache_planned", "cache_reported", "client_share_p50", "client_share_p90", "client_share_p99", "cpu_per_event",
	"cpu_share", "effective_concurrency", "energy", "event_ceiling", "failure_share", "host_cpu_share", "idc_planned_1s", "in_flight_peak", "in_tps",
	"ok_rps", "out_tps", "planned_rps", "power", "rate_ratio", "request_ceiling", "run_wait_ratio", "sent_rps", "sent_share",
	"tokens_per_event", "wait_per_slice", "window_min", "window_s",
}

// facts copies from the summary what the verdict shows without judging it.
func (s *state) facts(v *verdict.Verdict) {
	for _, in := range s.sum.Inputs {
		v.Inputs = append(v.Inputs, verdict.Input{Name: in.Name, Kind: in.Kind, SHA256: in.SHA256})
	}
	if s.Plan != nil {
		v.Inputs = append(v.Inputs, verdict.Input{Name: path.Base(s.Plan.Place), Kind: "schedule", SHA256: strings.Join(s.Plan.SHA256, " ")})
	}
	for _, id := range shownLatencies {
		for i := range s.sum.Metrics {
			if m := &s.sum.Metrics[i]; m.ID == id {
				v.Latencies = append(v.Latencies, latency(m))
			}
		}
	}
	for _, id := range shownNumbers {
		if x := s.scalar(id); x.Value != nil || !strings.HasPrefix(x.Reason, "the summary has no ") {
			v.Numbers = append(v.Numbers, verdict.Number{ID: id, Unit: x.Unit, Value: x.Value, Reason: x.Reason, Evidence: x.Evidence})
		}
	}
	for _, g := range s.sum.GPUs {
		out := verdict.GPU{Host: g.Host, Index: g.Index, UUID: g.UUID, Name: g.Name, Samples: g.Samples, Reason: g.Reason}
		for id, x := range g.Values {
			out.Values = append(out.Values, verdict.Value{ID: id, Value: x})
		}
		sort.Slice(out.Values, func(a, b int) bool { return out.Values[a].ID < out.Values[b].ID })
		v.GPUs = append(v.GPUs, out)
	}
	v.GPUNote = s.sum.GPUNote
	for _, o := range s.sum.Outcomes {
		v.Outcomes = append(v.Outcomes, verdict.Outcome{Name: o.Name, N: o.N, InWindow: o.InWindow})
	}
	w := s.sum.Window
	v.Window = verdict.Window{FromNS: w.FromNS, ToNS: w.ToNS, LoadFrom: w.LoadFrom, LoadTo: w.LoadTo, Rows: s.sum.Plan.InWindow}
	v.Worst = s.worst()
	v.Run = s.run()
	v.NotMeasured = s.notMeasured(v.Checks)
	v.Notes = s.sum.Notes
}

func latency(m *summary.Metric) verdict.Latency {
	out := verdict.Latency{ID: m.ID, Side: m.Side, Unit: m.Unit, Population: m.Population, Weighting: m.Weighting,
		N: m.N, Nulls: m.Nulls, Mean: m.Mean}
	for _, k := range shownLevels {
		if p, ok := level(m, k); ok {
			out.Percentiles = append(out.Percentiles, verdict.Percentile{Level: p.Level, Value: p.Value, Low: p.Low, High: p.High,
				Tau: p.Tau, Neff: p.Neff, Infinite: p.Infinite, Reason: p.Reason})
		}
	}
	return out
}

// run says what was run; of several parts the first speaks for all.
func (s *state) run() verdict.Run {
	p := s.sum.Plan
	out := verdict.Run{Planned: p.Requests, InputTokens: p.InputTokens, OutputTokens: p.OutputTokens, Parts: int64(len(s.headers))}
	if len(s.headers) == 0 {
		return out
	}
	h := s.headers[0]
	out.Build, out.Seed, out.Timing, out.Target = h.Build, h.Seed, h.Timing, h.Target
	out.Endpoint, out.Model, out.Engine, out.Prompt = h.Endpoint, h.Model, h.Engine, h.Prompt
	out.Workers, out.Host, out.Kernel, out.CPUs = int64(h.Workers), h.Host.Hostname, h.Host.Kernel, int64(h.Host.CPUsAllowed)
	for _, d := range s.details {
		for _, hash := range d.ScheduleSHA256 {
			if !slices.Contains(out.ScheduleSHA256, hash) {
				out.ScheduleSHA256 = append(out.ScheduleSHA256, hash)
			}
		}
	}
	out.Labels, out.Injected, out.Flags = pairs(h.Labels), pairs(h.Injected), pairs(h.Flags)
	out.Streaming, out.Server, out.Schedule = h.Streaming, serverVersion(h.Server), origin(h.Schedule)
	return out
}

// serverVersion is the version that the server stated of itself, "" when it did not.
func serverVersion(raw json.RawMessage) string {
	var said struct {
		Version struct {
			Version string `json:"version"`
		} `json:"version"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return ""
	}
	return said.Version.Version
}

// origin says how a schedule was made: what it was read from, then each transform.
func origin(raw json.RawMessage) []string {
	var h struct {
		Sources []struct {
			Name   string `json:"name"`
			Format string `json:"format"`
		} `json:"sources"`
		Transforms []struct {
			Name   string            `json:"name"`
			Params map[string]string `json:"params"`
		} `json:"transforms"`
	}
	if json.Unmarshal(raw, &h) != nil {
		return nil
	}
	var out []string
	for _, s := range h.Sources {
		out = append(out, strings.TrimSpace(s.Format+" "+s.Name))
	}
	for _, t := range h.Transforms {
		out = append(out, strings.Join(append([]string{t.Name}, pairs(t.Params)...), " "))
	}
	return out
}

func pairs(m map[string]string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// notMeasured lists what the verdict does not rest on.
func (s *state) notMeasured(checks []verdict.Check) []string {
	var out []string
	if s.Columns == nil {
		out = append(out, "per-request columns (objectives over requests, exact lags)")
	}
	if m := s.metric("ttft_wire"); m == nil || m.N == 0 {
		out = append(out, "wire times (no kernel stamps: the sent side stands in)")
	}
	if x := s.scalar("headroom"); x.Value == nil {
		out = append(out, "headroom and K_client ("+x.Reason+")")
	}
	if len(s.sum.GPUs) == 0 {
		note := s.sum.GPUNote
		if note == "" {
			note = "no gpu stream"
		}
		out = append(out, "GPU and energy ("+note+")")
	}
	for _, c := range checks {
		if !c.Required && c.Status == verdict.Unknown {
			out = append(out, c.ID+" ("+c.Reason+")")
		}
	}
	return out
}

// objective turns a decision into its place in the verdict.
func (s *state) objective(i int) verdict.Objective {
	d := s.decisions[i]
	o := d.Objective
	out := verdict.Objective{ID: o.ID(), Text: o.Text, Result: d.Result, Reason: d.Reason,
		N: d.N, Misses: d.Misses, LeftOut: d.LeftOut, Unmeasured: d.Unmeasured,
		Value: d.Quantile, Infinite: d.Infinite, Low: d.Low, High: d.High, ProjectedN: d.ProjectedN}
	switch o.Kind {
	case slo.Quantile:
		out.Kind, out.Metric, out.Side = "quantile", o.Limit.Metric, o.Limit.Side
	case slo.Share:
		out.Kind, out.Metric = "share", "error_rate"
	case slo.Joint:
		out.Kind, out.Metric = "joint", "good"
	case slo.Rate:
		out.Kind, out.Metric, out.Rate = "rate", o.Rate, rateOf(d)
	}
	if o.Kind != slo.Rate {
		out.P = &o.P
	}
	if d.Decided {
		d5 := d.D5()
		out.Tau, out.Settled, out.Neff, out.D5 = &d.Tau, d.Settled, &d.Neff, &d5
		out.PPass, out.PFail, out.FailBelow = &d.PPass, &d.PFail, &d.FailBelow
		out.Independent = &verdict.Independent{Result: d.Independent.Result, PPass: d.Independent.PPass,
			PFail: d.Independent.PFail, ProjectedN: d.Independent.ProjectedN}
	}
	if cell, ok := s.cells[i]; ok {
		out.Invariance = &cell
	}
	other := func(side string, at []int, all []decide.Decision) {
		for k, place := range at {
			if o := all[k]; place == i && o.Decided {
				out.OtherSides = append(out.OtherSides, verdict.OtherSide{Side: side, Result: o.Result, Misses: o.Misses,
					Value: o.Quantile, Infinite: o.Infinite})
			}
		}
	}
	other(slo.Sent, s.sentAt, s.sent)
	other(slo.Wire, s.wireAt, s.wire)
	return out
}

func rateOf(d decide.Decision) *verdict.Rate {
	out := &verdict.Rate{Unit: "1/s", Op: map[bool]string{true: atLeast, false: atMost}[d.Objective.AtLeast], Bound: d.Objective.Bound}
	if d.Rate.Measured {
		r := d.Rate
		out.Mean, out.StdErr, out.Batches, out.LagOne = &r.Mean, &r.SE, int64(r.K), &r.Lag1
		if r.OK {
			out.Low, out.High = &r.Low, &r.High
		}
	}
	return out
}

// goodput counts the rows that meet every limit of the set, as metrics.md defines
// attainment and goodput_rps.
func (s *state) goodput() *verdict.Goodput {
	if len(s.Set) == 0 || s.Columns == nil {
		return nil
	}
	limits := slo.Limits(s.Set)
	planned, n := s.rows.Good(limits)
	out := &verdict.Goodput{Good: int64(len(planned)), N: n}
	for _, l := range limits {
		out.Limits = append(out.Limits, l.String())
	}
	if n > 0 {
		share := float64(out.Good) / float64(n)
		out.Attainment = &share
	}
	if length := s.sum.Window.ToNS - s.sum.Window.FromNS; fold.NoRates(length, s.sum.Plan.InWindow) == "" {
		rate := float64(out.Good) * 1e9 / float64(length)
		out.Rate = &rate
	}
	return out
}
