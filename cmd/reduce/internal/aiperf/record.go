package aiperf

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// metadata is what a line says about its request; the order is AIPerf's.
type metadata struct {
	SessionNum        int    `json:"session_num"`
	RequestID         string `json:"x_request_id"`
	CorrelationID     string `json:"x_correlation_id"`
	ConversationID    string `json:"conversation_id"`
	TurnIndex         int32  `json:"turn_index"`
	CreditIssued      *int64 `json:"credit_issued_ns,omitempty"`
	RequestStart      int64  `json:"request_start_ns"`
	RequestAck        *int64 `json:"request_ack_ns,omitempty"`
	RequestEnd        int64  `json:"request_end_ns"`
	WorkerID          string `json:"worker_id"`
	ProcessorID       string `json:"record_processor_id"`
	Phase             string `json:"benchmark_phase"`
	PhaseIndex        int    `json:"phase_index"`
	ProfilingIndex    *int   `json:"profiling_index,omitempty"`
	PhaseName         string `json:"phase_name"`
	PhaseKind         string `json:"phase_kind"`
	WasCancelled      bool   `json:"was_cancelled"`
	CancellationTime  *int64 `json:"cancellation_time_ns,omitempty"`
	OverflowSkip      bool   `json:"context_overflow_skip"`
	AgentDepth        int    `json:"agent_depth"`
	RootCorrelationID string `json:"root_correlation_id"`
}

// failure is why a request is not valid.
type failure struct {
	Code    *int32 `json:"code,omitempty"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Phases of AIPerf.
const (
	warmup    = "warmup"
	profiling = "profiling"
)

// Records writes one line for each request that was sent, in order of planned time and
// request id.
func (e *Export) Records(w io.Writer, s *summary.Summary, o Options) error {
	c, err := e.settle(s, o)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	sessions := map[string]int{}
	for i := range e.rows {
		r := &e.rows[i]
		if !r.sent {
			continue
		}
		m := e.metadata(r, sessions, c)
		head, err := json.Marshal(m)
		if err != nil {
			return err
		}
		out.WriteString(`{"metadata":`) // the first error stays with out
		out.Write(head)
		out.WriteString(`,"metrics":{`)
		if err := e.metrics(out, i); err != nil {
			return err
		}
		out.WriteByte('}')
		if !r.ok {
			text, err := json.Marshal(e.failure(r))
			if err != nil {
				return err
			}
			out.WriteString(`,"error":`)
			out.Write(text)
		}
		out.WriteString("}\n")
	}
	return out.Flush()
}

func (e *Export) metadata(r *row, sessions map[string]int, c *context) metadata {
	id := strconv.FormatInt(r.id, 10)
	session := e.text[r.session]
	if session == "" {
		session = "request-" + id // a session of its own
	}
	n, known := sessions[session]
	if !known {
		n = len(sessions)
		sessions[session] = n
	}
	m := metadata{SessionNum: n, RequestID: id, CorrelationID: session, ConversationID: session, TurnIndex: r.turn, CreditIssued: when(r.dispatched),
		RequestStart: r.start, RequestAck: when(r.headers), RequestEnd: r.end, WorkerID: fmt.Sprintf("worker_%d", r.worker), ProcessorID: "reduce",
		Phase: profiling, WasCancelled: e.cancelled(r), RootCorrelationID: session}
	if c.warming(r) {
		m.Phase = warmup
	} else {
		m.ProfilingIndex = new(int)
		if c.warms() {
			m.PhaseIndex = 1
		}
	}
	m.PhaseName, m.PhaseKind = m.Phase, m.Phase
	if m.WasCancelled {
		m.CancellationTime = when(r.end)
	}
	return m
}

func (e *Export) cancelled(r *row) bool {
	o := e.text[r.outcome]
	return o == run.Cancelled || o == run.CancelledPlanned
}

func (e *Export) failure(r *row) failure {
	f := failure{Type: e.text[r.outcome], Message: e.text[r.errorAt]}
	if f.Message == "" {
		f.Message = f.Type
	}
	if r.status != 0 {
		f.Code = &r.status
	}
	if e.cancelled(r) {
		client := int32(499) // what AIPerf gives a request that its client cancelled
		f.Code, f.Type = &client, "RequestCancellationError"
	}
	return f
}

// metrics writes the values of row i; one that is absent is left out.
func (e *Export) metrics(out *bufio.Writer, i int) error {
	r := &e.rows[i]
	comma := ""
	put := func(name, unit, value string) {
		fmt.Fprintf(out, `%s"%s":{"value":%s,"unit":"%s"}`, comma, name, value, unit)
		comma = ","
	}
	if !r.ok {
		if r.input >= 0 {
			put("error_isl", "tokens", strconv.FormatInt(r.input, 10))
		}
		return nil
	}
	for j := range tags {
		t, v := &tags[j], r.values[j]
		switch {
		case math.IsNaN(v):
		case t.whole:
			put(t.name, t.unit, strconv.FormatInt(int64(v), 10))
		default:
			put(t.name, t.unit, decimal(v/t.scale))
		}
	}
	if e.goodOf != nil {
		good := "0"
		if e.goodOf[i] {
			good = "1"
		}
		put("good_request_count", "requests", good)
	}
	gaps, err := e.gapsOf(r)
	if err != nil || len(gaps) == 0 {
		return err
	}
	fmt.Fprintf(out, `%s"%s":{"value":[`, comma, chunkTag)
	for k, g := range gaps {
		if k > 0 {
			out.WriteByte(',')
		}
		out.WriteString(decimal(float64(g) / 1000))
	}
	out.WriteString(`],"unit":"ms"}`)
	return nil
}

// decimal writes a finite number as JSON does.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func when(t int64) *int64 {
	if t == unplanned {
		return nil
	}
	return &t
}
