package summary

import "hydrant/formats"

// IntColumns and StringColumns name the per-request columns that exact merging and
// the judge need. Rows are in order of (u_ns, request_id); part counts from 0. All
// _ns values are offsets from the summary's epoch, or durations.
var (
	IntColumns = [...]string{
		"part", "request_id", "turn", "worker", "u_ns", "in_window", "sent", // sent: 1 as metrics.md section 3 says
		"dispatched_ns", "conn_asked_ns", "end_ns", "send_lag_ns",
		"conn_wait_ns", "upload_ns", "client_time_ns",
		"ttft_user_ns", "ttft_wire_ns", "ttft_sent_ns",
		"ttfo_user_ns", "ttfo_wire_ns", "ttfo_sent_ns",
		"tpot_user_ns", "tpot_wire_ns", // rounded half up to whole ns
		"icl_mean_ns", "icl_p99_ns", "icl_max_ns",
		"e2e_user_ns", "e2e_wire_ns", "e2e_sent_ns",
		"planned_input_tokens", "planned_output_tokens", "input_tokens", "output_tokens", "token_events",
		"tokens_in_window",            // tokens that arrived in the window
		"tpot_applies", "icl_applies", // 0: the metric cannot exist for this row, which is then neutral in an SLO
	}
	StringColumns = [...]string{"outcome", "class", "model", "session", "remote_addr"}
)

// Columns holds the per-request columns by name; every slice has length N.
type Columns struct {
	N       int
	Ints    map[string][]formats.Int
	Strings map[string][]string
}
