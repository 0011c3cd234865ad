package rows

// notHappened and the like say what null means.
const (
	notHappened = "it did not happen"
	notCounted  = "not counted"
	noValue     = "the metric has no value, metrics.md 5"
)

// Ints are the columns of whole numbers, before those of text. Offsets count from the
// epoch of the earliest part; columns named like a metric hold it as metrics.md defines
// it, whatever the outcome of the request: filter by outcome and in_window to get what a
// summary is over.
var Ints = [...]Column{
	{"part", "", "index of the part of the run", "never"},
	{"request_id", "", "id of the request", "never"},
	{"turn", "", "position in its stream", "never"},
	{"worker", "", "worker process", "none had it"},
	{"in_window", "", "1 when planned in the window, else 0", "never"},
	{"sent", "", "1 when sent, metrics.md 2, else 0", "never"},
	{"u_ns", "ns", "planned time, offset", "only dependencies time the request"},
	{"u_unix_ns", "ns", "planned time, Unix", "as u_ns"},
	{"dispatched_ns", "ns", "offset", notHappened},
	{"conn_asked_ns", "ns", "offset", notHappened},
	{"first_token_ns", "ns", "offset", notHappened},
	{"last_token_ns", "ns", "offset", notHappened},
	{"end_ns", "ns", "offset", notHappened},
	{"lag", "ns", "metric", noValue},
	{"handoff", "ns", "metric", noValue},
	{"send_lag", "ns", "metric", noValue},
	{"slip", "ns", "metric", noValue},
	{"prepare_lead", "ns", "metric", noValue},
	{"conn_wait", "ns", "metric", noValue},
	{"dial_time", "ns", "metric", noValue},
	{"upload", "ns", "metric", noValue},
	{"ttfb_user", "ns", "metric", noValue},
	{"ttfb_wire", "ns", "metric", noValue},
	{"ttft_user", "ns", "metric", noValue},
	{"ttft_wire", "ns", "metric", noValue},
	{"ttft_sent", "ns", "metric", noValue},
	{"ttfo_user", "ns", "metric", noValue},
	{"ttfo_wire", "ns", "metric", noValue},
	{"ttfo_sent", "ns", "metric", noValue},
	{"e2e_user", "ns", "metric", noValue},
	{"e2e_wire", "ns", "metric", noValue},
	{"e2e_sent", "ns", "metric", noValue},
	{"close_user", "ns", "metric", noValue},
	{"decode_user", "ns", "metric", noValue},
	{"decode_wire", "ns", "metric", noValue},
	{"think", "ns", "metric", noValue},
	{"tpot_user", "ns", "metric", noValue},
	{"tpot_wire", "ns", "metric", noValue},
	{"speed", "0.001 tokens/s", "metric", noValue},
	{"ntpot", "ns", "metric", noValue},
	{"prefill_speed", "0.001 tokens/s", "metric", noValue},
	{"icl_mean", "ns", "metric", noValue},
	{"icl_p99", "ns", "metric", noValue},
	{"icl_max", "ns", "metric", noValue},
	{"fluidity", "0.000001", "metric", noValue},
	{"client_time", "ns", "metric", noValue},
	{"time_to_failure", "ns", "metric", noValue},
	{"planned_input_tokens", "tokens", "as planned", "not planned"},
	{"planned_output_tokens", "tokens", "as planned", "not planned"},
	{"expected_cached_tokens", "tokens", "as planned", "no block ids"},
	{"input_tokens", "tokens", "as the server counted", notCounted},
	{"output_tokens", "tokens", "as the server counted", notCounted},
	{"reasoning_tokens", "tokens", "as the server counted", notCounted},
	{"cached_tokens", "tokens", "as the server counted", notCounted},
	{"token_events", "events", "token events", notCounted},
	{"tokens_in_window", "tokens", "tokens that arrived in the window", "never"},
}

// Texts are the columns of text.
var Texts = [...]Column{
	{"outcome", "", "outcome", "never"},
	{"class", "", "class of the request", "none"},
	{"model", "", "model it named", "none"},
	{"session", "", "session", "none"},
	{"remote_addr", "", "peer", "none"},
	{"token_source", "", "where token counts are from", "none"},
}
