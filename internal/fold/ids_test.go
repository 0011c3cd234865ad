package fold

import (
	"strings"
	"testing"

	"hydrant/formats/run"
)

// specified lists every id of the definition of metrics, by its sections, with the ids
// under which a summary has it where one id stands for several numbers.
var specified = map[string]string{
	// 5. times of one request
	"lag": "", "handoff": "", "send_lag": "", "slip": "", "prepare_lead": "", "conn_wait": "", "dial_time": "", "upload": "",
	"ttfb_user": "", "ttfb_wire": "", "ttft_user": "", "ttft_wire": "", "ttft_sent": "", "ttfo_user": "", "ttfo_wire": "",
	"e2e_user": "", "e2e_wire": "", "close_user": "", "decode_user": "", "decode_wire": "", "think": "", "tpot_user": "", "tpot_wire": "",
	"tpot_first_assumed": "", "speed": "", "ntpot": "", "prefill_speed": "", "icl": "icl icl_wire", "icl_mean": "", "icl_p99": "", "icl_max": "",
	"itl_even": "", "itl_stall": "", "client_time": "", "client_share_p": "client_share_p50 client_share_p90 client_share_p99",
	"recv_delay": "", "fluidity": "", "disorder": "", "time_to_failure": "",
	// 6. tokens
	"tokens_per_event": "", "input_error": "input_error input_overhead", "output_error": "", "length_miss_share": "", "token_event_share": "",
	"source_share": "source_share_usage_chunks source_share_usage source_share_tokenizer source_share_events source_share_none mixed_source",
	// 7. rates and totals
	"planned_rps": "", "sent_rps": "", "ok_rps": "", "ended_rps": "", "out_tps": "", "out_tps_1s": "", "reasoning_tps": "", "answer_tps": "",
	"in_tps": "", "in_uncached_tps": "", "total_tps": "", "attainment": "", "goodput_rps": "", "good_tps": "", "conservation": "",
	"failure_share": "failure_share share_ok share_http_error share_stream_error share_malformed share_truncated share_empty share_timeout_first_byte " +
		"share_timeout_idle share_timeout_total share_connect_error share_cancelled share_cancelled_planned share_not_sent",
	"per_gpu": "ok_rps_per_gpu out_tps_per_gpu", "span": "span_rps span_out_tps",
	// 8. concurrency
	"in_flight": "", "effective_concurrency": "", "wire_in_flight": "", "prefilling": "", "decoding": "", "waiting_client": "", "sessions_open": "",
	"tokens_in_flight": "", "count_gap": "",
	// 9. load delivered
	"sent_share": "", "late_share_x": "late_share_1ms late_share_2ms late_share_5ms late_share_10ms late_share_50ms", "rate_ratio": "",
	"window_ratio": "window_min window_short_share window_width_s window_count",
	"idc_planned":  "idc_planned_100ms idc_planned_1s idc_planned_10s", "idc_sent": "idc_sent_100ms idc_sent_1s idc_sent_10s",
	"idc_ratio": "idc_ratio_100ms idc_ratio_1s idc_ratio_10s", "stretch": "", "gap_ks": "", "turn_disorder": "", "local_errors": "",
	// 10. client evidence
	"cpu_share": "cpu_share cpu_share_mean", "host_cpu_share": "", "cpu_per_event": "", "event_ceiling": "event_ceiling request_ceiling",
	"wait_per_slice": "", "run_wait_ratio": "", "throttled": "throttled steal_share psi_share", "hiccup_thread": "hiccup_thread hiccup_thread_max",
	"hiccup_goroutine": "hiccup_goroutine hiccup_goroutine_max", "scheduler": "sched_p99 gc_pause_max gc_pause_share", "kappa": "",
	"multi_event_share": "", "same_read_gaps": "", "conn_reuse_share": "conn_reuse_share conns_opened in_flight_peak", "retransmit_share": "",
	"maxima":   "rss_max fds_max backlog_prepare_max backlog_dispatch_max backlog_rows_max",
	"headroom": "headroom headroom_requests headroom_events headroom_bytes headroom_peak",
	// 11. cache, energy, server
	"cache_planned": "", "cache_reported": "cache_reported cache_coverage", "cache_gap": "", "cache_server": "", "energy_check": "", "energy": "",
	"power": "", "j_per_out_token": "", "j_per_token": "", "j_per_good_request": "", "tokens_per_j": "",
	"throttled_share": "throttled_share_power throttled_share_thermal", "idle_power": "", "server_gap": "",
}

// planned lists the metrics that must also be over all planned requests, misses as
// +infinity.
var planned = strings.Fields("ttft_user ttft_wire ttft_sent ttfo_user ttfo_wire e2e_user e2e_wire tpot_user tpot_wire icl_mean icl_p99 icl_max")

// A summary has every number of the definition, with a value or with the reason why not.
func TestEveryID(t *testing.T) {
	s := reduce(t, whole(), encode(t, testHeader(), randomRows(61, 300), nil, run.End{}, 100))
	has := map[string]string{} // id → why it is not good; empty: it is
	pops := map[string]bool{}
	for _, m := range s.Metrics {
		why := ""
		if m.N == 0 && m.Note == "" && m.Nulls == 0 && m.ID != "time_to_failure" {
			why = "no value, no null and no note"
		}
		has[m.ID] = why
		pops[m.ID+" "+m.Population] = true
	}
	for _, x := range s.Scalars {
		if has[x.ID] = ""; x.Value == nil && x.Reason == "" {
			has[x.ID] = "no value and no reason"
		}
	}
	for id, ids := range specified {
		if ids == "" {
			ids = id
		}
		for name := range strings.FieldsSeq(ids) {
			if why, ok := has[name]; !ok {
				t.Errorf("%s: no %s", id, name)
			} else if why != "" {
				t.Errorf("%s: %s: %s", id, name, why)
			}
		}
	}
	for _, id := range planned {
		if !pops[id+" "+popPlanned] {
			t.Errorf("%s: not over planned requests", id)
		}
	}
}
