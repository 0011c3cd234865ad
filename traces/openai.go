package traces

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// recordedQuantum is the time grain taken of recorded requests and spans, 1 ms.
const recordedQuantum = 1_000_000

var openaiFormat = Format{
	Name:  "openai-jsonl",
	Usage: "from recorded OpenAI request bodies, JSON Lines",
	Text: `Each row is a request: a time (timestamp, time, start_time or created_at: s, ms, us
or ns since 1970, s since the start, or ISO 8601; or timestamp_ms) and a body (body,
request or request_body: an object, or one as text), which is sent as it is. If
there: session_id, end_time or duration_ms or latency_ms, ttft_ms, usage or a
response with it. Rows of SageMaker's data capture are read as well, and OpenAI's
batch files where a time was added to each row.

  tracegen openai-jsonl requests.jsonl -o requests.sched.zst
  tracegen openai-jsonl requests.jsonl --session-key body.metadata.user_id --speed 2 | replay http://server:8000 --endpoint chat | reduce`,
	Options: []string{"session-key", "strict"},
	Sniff: func(head []byte, _ []string) bool {
		if hasKeys(head, "captureData") {
			return true
		}
		for _, body := range bodyKeys {
			if hasKeys(head, body) {
				return true
			}
		}
		return false
	},
	Read: OpenAI,
}

// Keys of a row. Of the first two lists it has one each.
var (
	timeKeys = []string{"timestamp", "time", "start_time", "created_at", "timestamp_ms"}
	bodyKeys = []string{"body", "request", "request_body"}

	batchKeys = []string{"custom_id", "method", "url", "id"} // of OpenAI's batch files; not carried
	otherKeys = []string{"session_id", "end_time", "duration_ms", "latency_ms", "ttft_ms", "usage", "response", "captureData", "eventMetadata", "eventVersion"}
)

// OpenAI reads recorded requests of OpenAI's API from JSON Lines.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the input and of the temporary file.
func OpenAI(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	p := &openai{intake: in, o: o, recording: newRecording(in)}
	if err := p.lines(f.R, f.Name, p.row); err != nil {
		p.rows.close()
		return nil, err
	}
	t, err := p.finish()
	if err == nil && o.SessionKey != "" && !p.keyed {
		t.Idle = "session-key"
	}
	return t, err
}

// openai is a trace while it is read.
type openai struct {
	*intake
	*recording
	o     Options
	keys  members
	keyed bool // a row has the key of --session-key
}

// row checks one row and stores it.
func (p *openai) row(line []byte) (*jsonl.Fault, error) {
	m := &p.keys
	var timeKey, bodyKey, session string
	var at, end formats.Int
	var body, usage json.RawMessage
	r := schedule.Request{Stream: "0", Context: schedule.Whole}
	batch := false
	fault := m.each(line, nil, func(key string) bool {
		switch {
		case slices.Contains(timeKeys, key):
			if m.s.Null() {
				return true
			}
			if timeKey != "" {
				m.s.Fail(key, "a second time beside "+timeKey, "one of "+strings.Join(timeKeys, ", "))
			}
			timeKey = key
			at = formats.Some(m.instant())
		case slices.Contains(bodyKeys, key):
			if bodyKey != "" {
				m.s.Fail(key, "a second body beside "+bodyKey, "one of "+strings.Join(bodyKeys, ", "))
			}
			bodyKey = key
			body = m.object()
		default:
			return p.other(key, &r, &end, &body, &usage, &at, &session, &batch)
		}
		return true
	})
	switch {
	case fault != nil:
		return fault, nil
	case body == nil:
		return &jsonl.Fault{What: "row", Got: "no body", Want: "one of " + strings.Join(bodyKeys, ", ")}, nil
	case !at.Valid && batch:
		e := p.syntax(&jsonl.Fault{What: "row", Got: "no time", Want: "one of " + strings.Join(timeKeys, ", ")})
		e.Help = "a batch file says no times: add a timestamp to each row, as {\"timestamp\": 0}; --arrivals then sets others"
		return nil, e
	case !at.Valid:
		return &jsonl.Fault{What: "row", Got: "no time", Want: "one of " + strings.Join(timeKeys, ", ")}, nil
	}
	if end.Valid {
		if end.V < at.V {
			return &jsonl.Fault{What: "end_time", Got: "a time before the start", Want: "one at or after it"}, nil
		}
		r.Recorded.E2ENS = formats.Some(end.V - at.V)
	}
	if fault := p.ignored(m.unknown); fault != nil {
		return fault, nil
	}
	if fault := fill(&r, body, usage); fault != nil {
		return fault, nil
	}
	r.AtNS = at
	if key := p.o.SessionKey; key != "" {
		session = p.named(line, body, key)
	}
	return nil, p.add(&r, session)
}

// other reads the keys that a row need not have.
func (p *openai) other(key string, r *schedule.Request, end *formats.Int, body, usage *json.RawMessage, at *formats.Int, session *string, batch *bool) bool {
	m := &p.keys
	if slices.Contains(batchKeys, key) {
		*batch = true
		m.s.Raw()
		return true
	}
	if !slices.Contains(otherKeys, key) {
		return false
	}
	if m.s.Null() {
		return true
	}
	switch key {
	case "session_id":
		*session = m.name()
	case "end_time":
		*end = formats.Some(m.instant())
	case "duration_ms", "latency_ms":
		r.Recorded.E2ENS = formats.Some(m.milliseconds())
	case "ttft_ms":
		r.Recorded.TTFTNS = formats.Some(m.milliseconds())
	case "usage":
		*usage = m.s.Raw()
	case "response":
		v := m.s.Raw()
		if u := member(v, "usage"); u != nil {
			*usage = u
		} else if u := member(member(v, "body"), "usage"); u != nil {
			*usage = u
		}
	case "captureData":
		*body, *usage = m.captured()
	case "eventMetadata":
		var s jsonl.Scanner
		s.Reset(member(m.s.Raw(), "inferenceTime"))
		text := s.Str()
		ns, ok := isoTime(text)
		if s.Err != nil || !ok {
			m.s.Fail("eventMetadata.inferenceTime", text, "a time of ISO 8601")
		}
		*at = formats.Some(ns)
	default:
		m.s.Raw()
	}
	return true
}

// captured reads what SageMaker caught of a request and of its response.
func (m *members) captured() (body, usage json.RawMessage) {
	v := m.s.Raw()
	if m.s.Err != nil {
		return nil, nil
	}
	part := func(name string) json.RawMessage {
		text, err := capture(member(v, name))
		if err != nil {
			m.s.Fail("captureData."+name, err.Error(), "data with encoding JSON or BASE64, of a JSON object")
		}
		return text
	}
	if body = part("endpointInput"); body == nil {
		m.s.Fail("captureData.endpointInput", "nothing", "the request")
	}
	if out := member(v, "endpointOutput"); out != nil {
		if text, err := capture(out); err == nil { // a stream of events is no object
			usage = member(text, "usage")
		}
	}
	return body, usage
}

// capture decodes {data, encoding}.
func capture(v json.RawMessage) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	var s jsonl.Scanner
	s.Reset(member(v, "data"))
	text := s.Str()
	if s.Err != nil {
		return nil, errors.New("no data")
	}
	s.Reset(member(v, "encoding"))
	switch encoding := s.Str(); encoding {
	case "JSON":
	case "BASE64":
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, errors.New("damaged base64")
		}
		text = string(raw)
	default:
		return nil, fmt.Errorf("encoding %s", encoding)
	}
	return wholeObject(text)
}

// wholeObject checks that a text is one JSON object.
func wholeObject(text string) (json.RawMessage, error) {
	var s jsonl.Scanner
	s.Reset([]byte(text))
	s.Field = "object"
	if s.Peek() != '{' {
		s.Refuse("an object")
	}
	v := s.Raw()
	s.End()
	if s.Err != nil || !json.Valid(v) {
		return nil, errors.New("no JSON object")
	}
	return v, nil
}

// named finds the session under a key of the row, or below body under one with dots.
func (p *openai) named(line []byte, body json.RawMessage, path string) string {
	v := json.RawMessage(line)
	if rest, ok := strings.CutPrefix(path, "body."); ok {
		v, path = body, rest
	}
	name := nameAt(v, path)
	p.keyed = p.keyed || name != ""
	return name
}

// fill takes what a body and the usage of its response say of a request.
func fill(r *schedule.Request, body, usage json.RawMessage) *jsonl.Fault {
	if !has(body, "messages") && !has(body, "prompt") {
		return &jsonl.Fault{What: "body", Got: "neither messages nor prompt", Want: "the body of a chat or of a completion"}
	}
	r.Body = body
	var s jsonl.Scanner
	if v := member(body, "model"); v != nil && v[0] == '"' {
		s.Reset(v)
		r.Model = s.Str()
	}
	count := func(v json.RawMessage, keys ...string) formats.Int {
		for _, key := range keys {
			if n, ok := whole(member(v, key)); ok && n >= 0 {
				return formats.Some(n)
			}
		}
		return formats.Int{}
	}
	if len(usage) == 0 || usage[0] != '{' {
		usage = nil
	}
	r.InputTokens = count(usage, "prompt_tokens", "input_tokens")
	if r.OutputTokens = count(body, "max_tokens", "max_completion_tokens"); !r.OutputTokens.Valid {
		r.OutputTokens = count(usage, "completion_tokens", "output_tokens")
	}
	for _, details := range []string{"prompt_tokens_details", "input_tokens_details"} {
		if v := member(usage, details); len(v) > 0 && v[0] == '{' && !r.Recorded.CachedTokens.Valid {
			r.Recorded.CachedTokens = count(v, "cached_tokens")
		}
	}
	return nil
}
