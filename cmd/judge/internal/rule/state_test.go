package rule

import (
	"encoding/json"
	"slices"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// rows is the size of the run that tests perturb: 700 s at 20 requests a second.
const rows = 14000

// sample returns a run without any fault: every check of A, B and D1 is OK.
func sample() Input {
	c := summary.NewColumns(rows)
	for name, v := range map[string]int64{ // offsets from the planned time where the name says _ns
		"u_ns": 0, "dispatched_ns": 20e3, "conn_asked_ns": 30e3, "end_ns": 2e9,
	} {
		for i := range rows {
			c.Ints[name][i] = formats.Some(int64(i)*50e6 + v)
		}
	}
	for name, v := range map[string]int64{
		"in_window": 1, "sent": 1, "send_lag_ns": 30e3,
		"conn_wait_ns": 10e3, "upload_ns": 960e3, "client_time_ns": 140e3, // send_lag, conn_wait and 100 µs to the parser
		"ttft_user_ns": 400e6, "ttft_sent_ns": 399e6, "ttft_wire_ns": 398.9e6, "tpot_user_ns": 20e6, "tpot_wire_ns": 20e6,
		"e2e_user_ns": 2e9, "e2e_sent_ns": 2e9 - 1e6, "e2e_wire_ns": 2e9 - 1.1e6,
		"planned_input_tokens": 100, "planned_output_tokens": 80, "input_tokens": 100, "output_tokens": 80, "token_events": 80,
	} {
		for i := range rows {
			c.Ints[name][i] = formats.Some(v)
		}
	}
	for i := range rows {
		c.Ints["request_id"][i], c.Ints["worker"][i] = formats.Some(int64(i)), formats.Some(int64(i%2))
		c.Strings["outcome"][i], c.Strings["remote_addr"][i] = run.OK, "127.0.0.1:8000"
	}
	s := &summary.Summary{
		Window:   summary.Window{FromNS: 0, ToNS: 700e9, LoadTo: (rows - 1) * 50e6},
		Plan:     summary.Plan{Requests: rows, InputTokens: rows * 100, OutputTokens: rows * 80, InWindow: rows, Rows: rows, Distinct: rows},
		Outcomes: []summary.Outcome{{Name: run.OK, N: rows, InWindow: rows}},
		Clients:  []summary.Client{{Worker: 0, Rows: 700}, {Worker: 1, Rows: 700}},
	}
	for id, v := range map[string]float64{
		"conservation": 0, "order_rows": 0, "order_over": 0, "order_max_ns": 0, "early_sends": 0, "clock_drift_ns": 20e3,
		"dispatched_gap": 0, "completed_gap": 0, "count_gap": 0.001, "mixed_source": 0, "tpot_first_assumed": rows,
		"tokens_per_event": 1, "token_event_share": 1, "gap_share": 1, "cache_excess": 0, "sent_share": 1,
		"window_count": 700, "window_short_share": 0, "window_min": 1, "rate_ratio": 1,
		"idc_planned_100ms": 1, "idc_mean_100ms": 2, "idc_windows_100ms": 7000, "idc_ratio_100ms": 3, // too few per window to count
		"idc_planned_1s": 1, "idc_mean_1s": 20, "idc_windows_1s": 700, "idc_ratio_1s": 1,
		"idc_planned_10s": 1, "idc_mean_10s": 200, "idc_windows_10s": 70, "idc_ratio_10s": 1,
		"turn_rows": 10, "turn_disorder": 0, "turn_send_lag_p99_ns": 1e6, "cap_seconds": 0, "input_error": 0, "output_error": 0,
		"length_miss_share": 0, "conn_slow_share": 0, "local_errors": 0, "sent_rps": 20,
		"cpu_per_event": 9000, "event_ceiling": 200e3, "unseen_share": 0,
		"headroom": 5, "headroom_requests": 9, "headroom_events": 5, "headroom_bytes": 7, "headroom_peak": 4, "stamp_share": 1,
		"cpu_share": 0.3, "host_cpu_share": 0.3, "wait_per_slice": 30e3, "run_wait_ratio": 0.5, "psi_share": 0.01, "throttled": 0, "steal_share": 0,
		"hiccup_thread": 0, "hiccup_goroutine": 0, "hiccup_thread_max": 1e6, "hiccup_goroutine_max": 1e6, "kappa": 1, "kappa_excess": 0,
		"recv_delay_p99": 3e5, "read_delay_p99": 5e5, "read_delay_seconds_p99": 5e5, "same_read_gaps": 0.01, "same_read_excess": 0,
		"client_share_p50": 0.001, "client_share_p90": 0.001, "client_share_p99": 0.001, "ttft_of_e2e": 0.2,
		"sched_p99": 1e5, "gc_pause_max": 1e5, "gc_pause_share": 1e-5, "backlog_rows_max": 10, "retransmit_share": 0,
		"mser_batches": 140, "mser_in_flight": 2, "mser_ttft": 2, "mser_out_tps": 2,
		"backlog_growth": 0.001, "backlog_spread": 5, "backlog_arrivals": 11200, "half_ttft_p50": 1, "half_ttft_p90": 1, "half_out_tps": 1, "censored": 0,
	} {
		s.Scalars = append(s.Scalars, summary.Scalar{ID: id, Value: &v, N: rows})
	}
	slices.SortFunc(s.Scalars, func(a, b summary.Scalar) int { return compare(a.ID, b.ID) })
	in := Input{Place: "test", Summary: s, Columns: c, Options: Options{Build: "hydrant test", AcceptUnproven: true}}
	in.part(func(h *run.Header, d *run.Detail, e *summary.PartEnd) {})
	return in
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// part replaces the one part of a sample by a good one with a change.
func (in *Input) part(change func(*run.Header, *run.Detail, *summary.PartEnd)) {
	h := run.Header{Endpoint: "chat", Model: "sim", Streaming: true, Engine: "http", Timing: "schedule", Workers: 2, Seed: 7,
		Target: []string{"http://127.0.0.1:8000"}, Host: run.Host{Hostname: "lab", BootID: "b1", CPUsAllowed: 2}}
	d := run.Detail{
		Workers:        []run.WorkerExit{{Worker: 0, PID: 11, Rows: rows / 2}, {Worker: 1, PID: 12, Rows: rows / 2}},
		Clocks:         []run.Clock{{Worker: 0, BootID: "b1"}, {Worker: 1, BootID: "b1"}},
		ScheduleSHA256: []string{"aa11"},
	}
	e := summary.PartEnd{Status: run.Complete, Planned: rows, RequestsRows: rows, ClientRows: 1400, SHA256: "cc33"}
	change(&h, &d, &e)
	header, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	if e.Detail, err = json.Marshal(d); err != nil {
		panic(err)
	}
	in.Summary.Parts = []summary.Part{{Header: header, End: e}}
}

// set changes one scalar.
// capped says that the run was given a cap.
func (in *Input) capped() {
	in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) {
		h.Flags = map[string]string{"concurrency": "8"}
	})
}

func (in *Input) set(id string, v float64) {
	for i := range in.Summary.Scalars {
		if in.Summary.Scalars[i].ID == id {
			in.Summary.Scalars[i].Value = &v
			return
		}
	}
	panic("no scalar " + id)
}

// forget removes the value of one scalar.
func (in *Input) forget(id string) {
	for i := range in.Summary.Scalars {
		if in.Summary.Scalars[i].ID == id {
			in.Summary.Scalars[i].Value = nil
			in.Summary.Scalars[i].Reason = "forgotten by the test"
			return
		}
	}
	panic("no scalar " + id)
}

// column sets one column of the rows from first on.
func (in *Input) column(name string, first int, v int64) {
	for i := first; i < in.Columns.N; i++ {
		in.Columns.Ints[name][i] = formats.Some(v)
	}
}

// slos adds objectives.
func (in *Input) slos(texts ...string) {
	for _, text := range texts {
		o, err := slo.Parse("test", text)
		if err != nil {
			panic(err)
		}
		in.Set = append(in.Set, o...)
	}
}

// limit changes limits.
func (in *Input) limit(texts ...string) {
	for _, text := range texts {
		o, err := ParseOverride(text)
		if err != nil {
			panic(err)
		}
		in.Options.Limits = append(in.Options.Limits, o)
	}
}

func judge(t *testing.T, in Input) *verdict.Verdict {
	t.Helper()
	v, err := Judge(in)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func check(t *testing.T, v *verdict.Verdict, id string) verdict.Check {
	t.Helper()
	i := slices.IndexFunc(v.Checks, func(c verdict.Check) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %s", id)
	}
	return v.Checks[i]
}
