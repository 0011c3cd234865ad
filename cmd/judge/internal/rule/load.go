package rule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hydrant/internal/stats"
)

func sent(s *state, f *finding) { s.take(f, "share", "sent_share", nil) }

// lag judges by the lags of all rows of the window that have one: the sample floors
// of published percentiles do not bind a check.
func lag(s *state, f *finding) {
	if s.asap {
		f.skipAll("--timing asap")
		return
	}
	if !math.IsNaN(s.ttft) {
		f.limit("p99", min(f.check.Terms[0].Limit, 0.05*s.ttft))
		f.limit("max", s.ttft)
	}
	if s.Columns == nil {
		s.lagFromMetric(f)
		return
	}
	var lags []int64
	var worst, at int64
	for i, v := range s.Columns.Ints["send_lag_ns"] {
		if v.Valid && s.Columns.Ints["in_window"][i].Or(0) == 1 {
			lags = append(lags, v.V)
			if len(lags) == 1 || v.V > worst {
				worst, at = v.V, int64(i)
			}
		}
	}
	if len(lags) == 0 {
		f.unknown("p99", "no request was dispatched")
		f.unknown("max", "no request was dispatched")
		return
	}
	slices.Sort(lags)
	n := int64(len(lags))
	f.value("p99", float64(lags[stats.NearestRank(n, 990)-1]), n)
	f.value("max", float64(worst), n)
	f.see("max", fmt.Sprintf("request %d, worker %s, %.3f s", s.Columns.Ints["request_id"][at].V,
		s.Columns.Ints["worker"][at], float64(s.Columns.Ints["u_ns"][at].V-s.sum.Window.LoadFrom)/1e9))
}

// lagFromMetric falls back to what the summary published.
func (s *state) lagFromMetric(f *finding) {
	const reason = "the summary has no per-request columns"
	m := s.metric("send_lag")
	if p, ok := level(m, 990); ok && p.Value.Valid {
		f.value("p99", float64(p.Value.V), m.N)
	} else {
		f.unknown("p99", reason)
	}
	if m != nil && m.Max.Valid {
		f.value("max", float64(m.Max.V), m.N)
	} else {
		f.unknown("max", reason)
	}
}

func rate(s *state, f *finding) {
	if s.asap {
		f.skipAll("--timing asap")
		return
	}
	s.take(f, "rate", "rate_ratio", nil)
	windows := s.scalar("window_count")
	switch {
	case windows.Value == nil:
		f.unknown("windows", windows.Reason)
	case *windows.Value < 10:
		f.skip("windows", fmt.Sprintf("%.0f sub-windows, fewer than 10", *windows.Value))
	case s.take(f, "windows", "window_short_share", nil):
		// One bad second of fewer than 100 is more than 1 %: it alone decides nothing. What
		// it may lose is bounded by the rate over the window.
		f.limit("windows", max(f.check.Terms[0].Limit, 1 / *windows.Value))
		if x := s.scalar("window_min"); x.Value != nil {
			f.see("windows", strings.TrimSpace(fmt.Sprintf("lowest %.3g %s", *x.Value, x.Evidence)))
		}
	}
}

// bursts judges every scale that has a shape to keep.
func bursts(s *state, f *finding) {
	if s.asap {
		f.skipAll("--timing asap")
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	var n int64
	var seen []string
	for _, w := range []string{"100ms", "1s", "10s"} {
		planned, mean, windows := s.scalar("idc_planned_"+w), s.scalar("idc_mean_"+w), s.scalar("idc_windows_"+w)
		if windows.Value == nil {
			f.unknown("low", windows.Reason)
			f.unknown("high", windows.Reason)
			return
		}
		if planned.Value == nil || mean.Value == nil || *planned.Value < 0.05 || *mean.Value < 5 || *windows.Value < 30 {
			continue
		}
		x := s.scalar("idc_ratio_" + w)
		if x.Value == nil {
			f.unknown("low", x.Reason)
			f.unknown("high", x.Reason)
			return
		}
		low, high = min(low, *x.Value), max(high, *x.Value)
		n = max(n, int64(*windows.Value))
		seen = append(seen, fmt.Sprintf("%.3g at %s", *x.Value, w))
	}
	if len(seen) == 0 {
		f.skipAll("too few arrivals to have a shape")
		return
	}
	f.value("low", low, n)
	f.value("high", high, n)
	f.evidence = strings.Join(seen, ", ")
}

func plan(s *state, f *finding) {
	const reason = "no schedule was given: --plan"
	if s.Plan == nil {
		for _, t := range f.check.Terms {
			f.unknown(t.Name, reason)
		}
		return
	}
	for i := range s.details {
		if len(s.details[i].ScheduleSHA256) == 0 {
			for _, t := range f.check.Terms {
				f.unknown(t.Name, "the run does not say which schedule it read")
			}
			return
		}
	}
	f.evidence = "hash " + short(s.Plan.SHA256)
	if by := s.limitedBy(); by != "" {
		f.skipAll("the run took a part of the schedule (" + by + ")")
		f.evidence += ", which is equal; n/a: the run took a part of the schedule (" + by + ")"
		return
	}
	p := s.sum.Plan
	f.value("requests", math.Abs(float64(p.Requests-s.Plan.Requests)), s.Plan.Requests)
	f.value("tokens", math.Abs(float64(p.InputTokens-s.Plan.InputTokens))+math.Abs(float64(p.OutputTokens-s.Plan.OutputTokens)), s.Plan.Requests)
	if turns := s.scalar("turn_rows"); turns.Value == nil || *turns.Value > 0 || len(s.sum.Parts) > 1 || s.asap {
		f.skip("span", "due times depend on answers")
	} else {
		f.value("span", math.Abs(float64(s.sum.Window.LoadTo-s.sum.Window.LoadFrom-s.Plan.SpanNS)), s.Plan.Requests)
	}
}

// short prints the first digits of hashes.
func short(hashes []string) string {
	var out []string
	for _, h := range hashes {
		out = append(out, h[:min(8, len(h))])
	}
	return strings.Join(out, " ")
}

func turns(s *state, f *finding) {
	if s.asap {
		f.required = false
		f.skipAll("--timing asap")
		return
	}
	capped := s.flag("concurrency") != "" || s.flag("sessions") != ""
	n := s.scalar("turn_rows")
	switch {
	case n.Value == nil:
		f.unknown("disorder", n.Reason)
		f.unknown("lag", n.Reason)
	case *n.Value == 0:
		f.skip("disorder", "no turns")
		f.skip("lag", "no turns")
		f.required = capped
	default:
		if s.strict {
			f.skip("disorder", "--timing strict")
		} else {
			s.take(f, "disorder", "turn_disorder", nil)
		}
		s.take(f, "lag", "turn_send_lag_p99_ns", nil)
	}
	if capped {
		s.take(f, "cap", "cap_seconds", nil)
	} else if f.required {
		f.skip("cap", "no cap")
	} else {
		f.skip("cap", "no turns and no cap")
	}
}

func lengths(s *state, f *finding) {
	s.take(f, "input", "input_error", math.Abs)
	s.take(f, "output", "output_error", math.Abs)
	s.take(f, "length", "length_miss_share", nil)
}

func connections(s *state, f *finding) {
	s.take(f, "slow", "conn_slow_share", nil)
	s.take(f, "local", "local_errors", nil)
}
