package aiperf

import (
	"math"

	"hydrant/formats"
	"hydrant/formats/run"
)

// tag is a metric of AIPerf with one value per request.
type tag struct {
	name, unit string
	scale      float64 // a value here is so many of AIPerf's unit: ns are written in ms
	whole      bool    // written as an integer
	of         func(q *run.Request, v *values) float64
}

// absent is the value of a metric that a request does not have.
var absent = math.NaN()

const nsPerMS = 1e6

// tags lists the metrics of an ok request in the order of AIPerf's own export. A formula
// may use those before it.
var tags = [tagCount]tag{
	{"request_latency", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(lastMoment(q), q.ConnAskedNS) }},
	{"time_to_first_token", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(q.FirstTokenNS, q.ConnAskedNS) }},
	{"time_to_second_token", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 {
		if len(q.ChunkGapUS) == 0 {
			return absent
		}
		return 1000 * float64(q.ChunkGapUS[0])
	}},
	{"time_to_first_output_token", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(q.FirstAnswerNS, q.ConnAskedNS) }},
	{"decode_duration", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(q.LastTokenNS, q.FirstTokenNS) }},
	{"inter_token_latency", "ms", nsPerMS, false, interToken},
	{"output_token_throughput_per_user", "tokens/sec/user", 1, false, func(_ *run.Request, v *values) float64 { return over(1e9, v[itlAt]) }},
	{"input_sequence_length", "tokens", 1, true, func(q *run.Request, _ *values) float64 { return number(q.InputTokens) }},
	{"output_sequence_length", "tokens", 1, true, func(q *run.Request, _ *values) float64 { return number(q.OutputTokens) }},
	{"output_token_count", "tokens", 1, true, func(q *run.Request, _ *values) float64 {
		return number(q.OutputTokens) - float64(q.ReasoningTokens.Or(0))
	}},
	{"reasoning_token_count", "tokens", 1, true, func(q *run.Request, _ *values) float64 { return number(q.ReasoningTokens) }},
	{"prefill_throughput_per_user", "tokens/sec/user", 1, false, func(_ *run.Request, v *values) float64 {
		return over(1e9*v[inputAt], v[ttftAt])
	}},
	{"e2e_output_token_throughput", "tokens/sec/user", 1, false, func(_ *run.Request, v *values) float64 {
		return over(1e9*v[outputAt], v[latencyAt])
	}},
	{"http_req_blocked", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 {
		return positive(diff(q.ConnReadyNS, q.ConnAskedNS) - dial(q) - lookup(q))
	}},
	{"http_req_dns_lookup", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return lookup(q) }},
	{"http_req_connecting", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return dial(q) }},
	{"http_req_sending", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(q.WriteDoneNS, q.ConnReadyNS) }},
	{"http_req_waiting", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return positive(diff(q.FirstByteNS, q.WriteDoneNS)) }},
	{"http_req_receiving", "ms", nsPerMS, false, func(q *run.Request, _ *values) float64 { return diff(q.EndNS, q.FirstByteNS) }},
}

// chunkTag is the one metric with a list of values per request.
const chunkTag = "inter_chunk_latency"

// values are those of one request by position in tags, in ns where AIPerf has ms.
type values [tagCount]float64

// tagCount is the length of tags, which the compiler cannot take from a table that uses it.
const tagCount = 19

// measure computes the values of an ok request.
func measure(q *run.Request) (v values) {
	for i := range tags {
		v[i] = tags[i].of(q, &v)
	}
	return v
}

// Positions in tags of what other formulas use; a test compares them with the table.
const (
	latencyAt   = 0
	ttftAt      = 1
	itlAt       = 5
	inputAt     = 7
	outputAt    = 8
	reasoningAt = 10
)

func number(v formats.Int) float64 {
	if !v.Valid {
		return absent
	}
	return float64(v.V)
}

func diff(a, b formats.Int) float64 { return number(a.Minus(b)) }

// over divides; what has no finite result is absent.
func over(a, b float64) float64 {
	if v := a / b; !math.IsInf(v, 0) {
		return v
	}
	return absent
}

// positive drops a value that AIPerf would not have: its clock never runs backwards.
func positive(v float64) float64 {
	if v < 0 {
		return absent
	}
	return v
}

// lastMoment is the last token, or the end for an endpoint without tokens.
func lastMoment(q *run.Request) formats.Int {
	if !q.LastTokenNS.Valid && !q.FirstTokenNS.Valid {
		return q.EndNS
	}
	return q.LastTokenNS
}

// lookup is the time of the name service, 0 when it was not asked.
func lookup(q *run.Request) float64 {
	if !q.DNSNS.Valid {
		return 0
	}
	return diff(q.DNSNS, q.ConnAskedNS)
}

// dial is the time the peer took to accept a connection, 0 when none was opened.
func dial(q *run.Request) float64 {
	if !q.ConnectNS.Valid {
		return 0
	}
	end, begin := q.TLSNS, q.DNSNS
	if !end.Valid {
		end = q.ConnectNS
	}
	if !begin.Valid {
		begin = q.ConnAskedNS
	}
	return diff(end, begin)
}

// interToken is AIPerf's rule: by the tokens after those of the first chunk where the
// server told them and they make sense, else by all but one. Answers whose tokens nobody
// counted have none.
func interToken(q *run.Request, v *values) float64 {
	if q.TokenSource == run.Events || q.TokenSource == "" || q.OutputTokens.Or(0) < 2 {
		return absent
	}
	later := q.OutputTokens.V - 1
	if first := q.FirstChunkTokens; first.Or(0) > 0 && first.V < q.OutputTokens.V {
		later = q.OutputTokens.V - first.V
	}
	return (v[latencyAt] - v[ttftAt]) / float64(later)
}
