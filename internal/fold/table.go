package fold

// Populations: the rows a distribution is over. All of them lie in the window.
const (
	popAll        = "all"        // every planned row
	popDispatched = "dispatched" // rows that were dispatched
	popOK         = "ok"         // rows with outcome ok
	popPlanned    = "planned"    // every planned row but those the plan cut short; a miss ranks as +infinity
	popFailed     = "failed"     // sent rows that did not end ok
	popGaps       = "ok, by gap" // gaps between token events of ok rows
	popTokens     = "ok, by token"
	popWindow     = "window" // instants or seconds of the window
)

// Weightings.
const (
	byRequest = "request"
	byGap     = "gap"
	byToken   = "token"
	byTime    = "time"
)

const (
	sideUser = "user"
	sideWire = "wire"
	sideSent = "sent"
)

const (
	exact   = "exact nearest rank"
	sketchy = "HdrHistogram, 3 digits"
	timed   = "exact, weighted by time"
)

// timing is a metric with one value per request. Its planned twin, over all planned
// rows with misses as +infinity, exists where the judge may decide by it.
type timing struct {
	id, side, unit, pop, formula string
	value                        func(*frame) *column
	planned                      bool
	applies                      func(*frame) *column // 0: not to this row; nil: to every row
}

// timings lists the metrics of one request in the order of docs/metrics.md.
var timings = [...]timing{
	{"lag", "", "ns", popDispatched, "dispatched_ns − due_ns", (*frame).lag, false, nil},
	{"handoff", "", "ns", popDispatched, "conn_asked_ns − dispatched_ns", (*frame).handoff, false, nil},
	{"send_lag", "", "ns", popDispatched, "conn_asked_ns − due_ns", (*frame).sendLag, false, nil},
	{"slip", "", "ns", popAll, "due_ns − scheduled_ns", (*frame).slip, false, nil},
	{"prepare_lead", "", "ns", popAll, "due_ns − prepared_ns", (*frame).lead, false, nil},
	{"conn_wait", "", "ns", popOK, "conn_ready_ns − conn_asked_ns − dial", (*frame).connWait, false, nil},
	{"dial_time", "", "ns", popOK, "dial, of rows that dialled", (*frame).dialTime, false, nil},
	{"upload", "", "ns", popOK, "write_done_ns − conn_ready_ns", (*frame).upload, false, nil},
	{"ttfb_user", sideUser, "ns", popOK, "first_byte_ns − due_ns", (*frame).ttfbUser, false, nil},
	{"ttfb_wire", sideWire, "ns", popOK, "first_byte_kernel_ns − write_done_ns + dial", (*frame).ttfbWire, false, nil},
	{"ttft_user", sideUser, "ns", popOK, "first_token_ns − due_ns", (*frame).ttftUser, true, nil},
	{"ttft_wire", sideWire, "ns", popOK, "first_token_kernel_ns − write_done_ns + dial", (*frame).ttftWire, true, nil},
	{"ttft_sent", sideSent, "ns", popOK, "first_token_ns − write_done_ns + dial", (*frame).ttftSent, true, nil},
	{"ttfo_user", sideUser, "ns", popOK, "first_answer_ns − due_ns", (*frame).ttfoUser, true, nil},
	{"ttfo_wire", sideWire, "ns", popOK, "first_answer_kernel_ns − write_done_ns + dial", (*frame).ttfoWire, true, nil},
	{"ttfo_sent", sideSent, "ns", popOK, "first_answer_ns − write_done_ns + dial", (*frame).ttfoSent, true, nil},
	{"e2e_user", sideUser, "ns", popOK, "last_token_ns − due_ns", (*frame).e2eUser, true, nil},
	{"e2e_wire", sideWire, "ns", popOK, "last_token_kernel_ns − write_done_ns + dial", (*frame).e2eWire, true, nil},
	{"e2e_sent", sideSent, "ns", popOK, "last_token_ns − write_done_ns + dial", (*frame).e2eSent, true, nil},
	{"close_user", sideUser, "ns", popOK, "end_ns − due_ns", (*frame).closeUser, false, nil},
	{"decode_user", sideUser, "ns", popOK, "last_token_ns − first_token_ns", (*frame).decodeUser, false, nil},
	{"decode_wire", sideWire, "ns", popOK, "last_token_kernel_ns − first_token_kernel_ns", (*frame).decodeWire, false, nil},
	{"think", sideUser, "ns", popOK, "first_answer_ns − first_token_ns", (*frame).think, false, nil},
	{"tpot_user", sideUser, "ns", popOK, "decode_user/(output_tokens − first_chunk_tokens), rounded half up", (*frame).tpotUser, true, (*frame).tpotApplies},
	{"tpot_wire", sideWire, "ns", popOK, "decode_wire/(output_tokens − first_chunk_tokens), rounded half up", (*frame).tpotWire, true, (*frame).tpotApplies},
	{"speed", sideUser, "0.001 tokens/s", popOK, "1/tpot_user", (*frame).speed, false, nil},
	{"ntpot", sideUser, "ns", popOK, "e2e_user/output_tokens", (*frame).ntpot, false, nil},
	{"prefill_speed", sideWire, "0.001 tokens/s", popOK, "(input_tokens − cached_tokens)/ttft_wire", (*frame).prefillSpeed, false, nil},
	{"icl_mean", sideUser, "ns", popOK, "mean gap between token events of the request, rounded half up", (*frame).iclMean, true, (*frame).iclApplies},
	{"icl_p99", sideUser, "ns", popOK, "nearest-rank p99 of the gaps of the request", (*frame).iclP99, true, (*frame).iclApplies},
	{"icl_max", sideUser, "ns", popOK, "largest gap of the request", (*frame).iclMax, true, (*frame).iclApplies},
	{"fluidity", sideUser, "0.000001", popOK, "1 − missed/all deadlines of the tokens of the request", (*frame).fluid, false, nil},
	{"client_time", "", "ns", popOK, "send_lag + conn_wait + (first_token_ns − first_token_kernel_ns)", (*frame).clientTime, false, nil},
	{"time_to_failure", sideUser, "ns", popFailed, "end_ns − due_ns", (*frame).timeToFailure, false, nil},
}

// gathered lists the distributions that are not over requests.
type gathered struct{ id, side, unit, pop, weighting, method, formula string }

var gatherings = [...]gathered{
	{"icl", sideUser, "ns", popGaps, byGap, sketchy, "chunk_ns[i] − chunk_ns[i−1]"},
	{"icl_wire", sideWire, "ns", popGaps, byGap, sketchy, "chunk_kernel_ns[i] − chunk_kernel_ns[i−1]"},
	{"itl_even", sideUser, "ns", popTokens, byToken, sketchy, "a gap dt that brought k tokens counts as k values dt/k"},
	{"itl_stall", sideUser, "ns", popTokens, byToken, sketchy, "a gap dt that brought k tokens counts as one value dt and k−1 zeros"},
	{"recv_delay", "", "ns", popGaps, byGap, sketchy, "chunk_ns[i] − chunk_kernel_ns[i]"},
	{"out_tps_1s", "", "tokens/s", popWindow, byTime, exact, "tokens that arrived in each whole second of the window"},
	{"in_flight", "", "requests", popWindow, byTime, timed, "requests with conn_asked_ns ≤ t < end_ns"},
	{"wire_in_flight", "", "requests", popWindow, byTime, timed, "requests with write_done_ns ≤ t < last token arrival"},
	{"prefilling", "", "requests", popWindow, byTime, timed, "requests with write_done_ns ≤ t < first token arrival"},
	{"decoding", "", "requests", popWindow, byTime, timed, "requests with first token arrival ≤ t < last token arrival"},
	{"waiting_client", "", "requests", popWindow, byTime, timed, "requests with due_ns ≤ t < conn_asked_ns"},
	{"sessions_open", "", "sessions", popWindow, byTime, timed, "sessions with first conn_asked_ns ≤ t < last end_ns"},
	{"tokens_in_flight", "", "tokens", popWindow, byTime, timed, "input_tokens + tokens arrived, summed over wire_in_flight"},
}
