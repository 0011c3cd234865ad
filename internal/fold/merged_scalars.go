package fold

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hydrant/formats/summary"
)

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
