package traces

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

var otelFormat = Format{
	Name:  "otel",
	Usage: "from OpenTelemetry spans of generative AI, JSON or JSON Lines",
	Text: `Reads a document with a list of spans, a list of them, JSON Lines of either, or
OTLP's JSON. A span with gen_ai.input.messages is a request; the others are left
out. A span waits for those of its session that had ended when it started. The
session is gen_ai.conversation.id, session.id or the attribute that ends in
.session.id, else the trace; --session-key takes another attribute.

  tracegen otel spans.json -o spans.sched.zst
  tracegen otel spans.jsonl --session-key user.id | replay http://server:8000 --endpoint chat --timing think | reduce`,
	Options: []string{"session-key", "strict"},
	Sniff: func(head []byte, _ []string) bool {
		for _, key := range []string{`"spans"`, `"resourceSpans"`, `"span_id"`, `"spanId"`} {
			if bytes.Contains(head, []byte(key)) {
				return true
			}
		}
		return false
	},
	Read: OTel,
}

// OTel reads spans of generative AI.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the number of the span,
// or those of the input and of the temporary file.
func OTel(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	p := &otel{intake: in, recording: newRecording(in), key: o.SessionKey}
	if err := p.document(f); err != nil {
		p.rows.close()
		return nil, err
	}
	if n := in.counts["spans_other"]; in.n == 0 && n > 0 {
		p.rows.close()
		return nil, &formats.SyntaxError{Place: f.Place, What: "spans", Got: fmt.Sprintf("%d without gen_ai.input.messages", n), Want: "one that has them",
			Help: "instrumentation leaves the messages out unless it is told to record content"}
	}
	t, err := p.finish()
	if err == nil && o.SessionKey != "" && !p.keyed {
		t.Idle = "session-key"
	}
	return t, err
}

// otel is a trace while it is read.
type otel struct {
	*intake
	*recording
	key   string // attribute that names the session
	keyed bool   // a span has it
	keys  members
	buf   []byte
}

// spanLists are the keys below which spans stand, one in the other in OTLP.
var spanLists = map[string]bool{"spans": true, "resourceSpans": true, "scopeSpans": true}

// document walks the JSON values of the input down to the spans, and holds one span at
// a time.
func (p *otel) document(f Input) error {
	d := newDigest()
	r := bufio.NewReaderSize(io.TeeReader(f.R, d), 64<<10)
	if mark, err := r.Peek(3); err == nil && string(mark) == "\uFEFF" {
		_, _ = r.Discard(3) // they were peeked at
	}
	dec := json.NewDecoder(r)
	dec.UseNumber()
	for {
		err := p.value(dec, 0)
		if err == io.EOF {
			p.source(f.Name, d)
			return nil
		}
		if err != nil {
			return p.unreadable(err, dec)
		}
	}
}

// unreadable says why the input ends where it does.
func (p *otel) unreadable(err error, dec *json.Decoder) error {
	var syntax *json.SyntaxError
	var ours *formats.SyntaxError
	switch {
	case errors.As(err, &ours):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &formats.TruncatedError{Place: p.span(), Want: "the rest of the spans", Err: err, Help: "the file was cut off; copy it again"}
	case errors.As(err, &syntax):
		return &formats.SyntaxError{Place: p.span(), What: fmt.Sprintf("byte %d", dec.InputOffset()), Err: err}
	}
	return fmt.Errorf("%s: %w", p.place, err)
}

// span is the place of the span in hand.
func (p *otel) span() string { return p.place + ": span " + strconv.FormatInt(p.line, 10) }

// maxNest bounds the lists that stand around spans.
const maxNest = 16

// value reads a value: a span, or something that has spans in it.
func (p *otel) value(dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	p.line++
	switch tok {
	case json.Delim('{'):
		return p.object(dec, depth)
	case json.Delim('['):
		p.line--
		for dec.More() {
			if err := p.value(dec, depth+1); err != nil {
				return inside(err)
			}
		}
		_, err := dec.Token()
		return inside(err)
	}
	return p.refuse("value", fmt.Sprint(tok), "a span, or a list or document of them")
}

// inside makes an end within a value what it is.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (p *otel) refuse(what, got, want string) error {
	return &formats.SyntaxError{Place: p.span(), What: what, Got: formats.Clip(got), Want: want}
}

// object reads an object behind its brace. One with a list of spans is a document, and
// its other keys say nothing of requests; any other is a span.
func (p *otel) object(dec *json.Decoder, depth int) error {
	if depth > maxNest {
		return p.refuse("document", fmt.Sprintf("%d lists in lists", depth), fmt.Sprintf("at most %d", maxNest))
	}
	span := append(p.buf[:0], '{')
	lists := false
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return inside(err)
		}
		key, _ := tok.(string)
		if seen[key] {
			return p.refuse("key", key, "each key once")
		}
		seen[key] = true
		if spanLists[key] {
			if !lists {
				p.line--
			}
			lists = true
			if err := p.list(dec, depth); err != nil {
				return err
			}
			continue
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return inside(err)
		}
		if len(span)+len(v) > jsonl.MaxLine {
			return p.refuse("span", fmt.Sprintf("%d bytes", len(span)+len(v)), fmt.Sprintf("at most %d", jsonl.MaxLine))
		}
		if len(span) > 1 {
			span = append(span, ',')
		}
		span = append(append(jsonl.AppendString(span, key), ':'), v...)
	}
	if _, err := dec.Token(); err != nil {
		return inside(err)
	}
	p.buf = append(span, '}')
	if lists {
		return nil
	}
	if seen["resource"] || seen["scope"] {
		p.line--
		return nil // OTLP without spans below it
	}
	fault, err := p.row(p.buf)
	if fault != nil {
		e := p.syntax(fault)
		e.Place = p.span()
		return e
	}
	return err
}

// list reads a list of spans, or of documents with such lists.
func (p *otel) list(dec *json.Decoder, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return inside(err)
	}
	if tok == nil {
		return nil
	}
	if tok != json.Delim('[') {
		return p.refuse("spans", fmt.Sprint(tok), "a list")
	}
	for dec.More() {
		if err := p.value(dec, depth+1); err != nil {
			return inside(err)
		}
	}
	_, err = dec.Token()
	return inside(err)
}

// spanKeys are those of a span, in both spellings. What is not read says nothing of
// requests.
var spanKeys = []string{"trace_id", "traceId", "span_id", "spanId", "parent_span_id", "parentSpanId", "name", "kind", "start_time", "startTimeUnixNano", "end_time", "endTimeUnixNano",
	"attributes", "resource_attributes", "status", "events", "links", "flags", "trace_state", "traceState", "dropped_attributes_count", "droppedAttributesCount",
	"droppedEventsCount", "droppedLinksCount", "span_count", "collected_at", "scope", "resource"}

// row checks one span and stores it.
func (p *otel) row(line []byte) (*jsonl.Fault, error) {
	m := &p.keys
	var start, end formats.Int
	var trace string
	var attributes, status json.RawMessage
	fault := m.each(line, nil, func(key string) bool {
		switch key {
		case "start_time", "startTimeUnixNano":
			start = formats.Some(m.instant())
		case "end_time", "endTimeUnixNano":
			if !m.s.Null() {
				end = formats.Some(m.instant())
			}
		case "trace_id", "traceId":
			if !m.s.Null() {
				trace = m.s.Str()
			}
		case "attributes":
			attributes = m.s.Raw()
		case "status":
			status = m.s.Raw()
		default:
			for _, known := range spanKeys {
				if key == known {
					m.s.Raw()
					return true
				}
			}
			return false
		}
		return true
	})
	if fault != nil {
		return fault, nil
	}
	if fault := p.ignored(m.unknown); fault != nil {
		return fault, nil
	}
	a, fault := p.attributes(attributes)
	if fault != nil {
		return fault, nil
	}
	if a["gen_ai.input.messages"] == nil {
		p.counts["spans_other"]++
		return nil, nil
	}
	switch {
	case !start.Valid:
		return &jsonl.Fault{What: "start_time", Got: "nothing", Want: "the start of the span"}, nil
	case end.Valid && end.V < start.V:
		return &jsonl.Fault{What: "end_time", Got: "a time before the start", Want: "one at or after it"}, nil
	}
	r := schedule.Request{
		AtNS: start, Stream: "0", Context: schedule.Whole, Model: plainText(a["gen_ai.request.model"]), Class: plainText(a["gen_ai.operation.name"]),
		InputTokens: natural(a["gen_ai.usage.input_tokens"]), OutputTokens: natural(a["gen_ai.usage.output_tokens"]),
	}
	if !r.OutputTokens.Valid {
		r.OutputTokens = natural(a["gen_ai.request.max_tokens"])
	}
	if end.Valid {
		r.Recorded.E2ENS = formats.Some(end.V - start.V)
	}
	r.Recorded.CachedTokens = natural(a["gen_ai.usage.cache_read.input_tokens"])
	if r.Body, fault = spanBody(a); fault != nil {
		return fault, nil
	}
	if code := member(status, "code"); string(code) == "2" || strings.Contains(string(code), "ERROR") {
		p.counts["failed_kept"]++
	}
	return nil, p.add(&r, p.session(a, trace))
}

// session names the session of a span.
func (p *otel) session(a map[string]json.RawMessage, trace string) string {
	if p.key != "" {
		name := plainText(a[p.key])
		p.keyed = p.keyed || name != ""
		return name
	}
	for _, key := range []string{"gen_ai.conversation.id", "session.id"} {
		if name := plainText(a[key]); name != "" {
			return name
		}
	}
	found := ""
	for key := range a {
		if strings.HasSuffix(key, ".session.id") && (found == "" || key < found) {
			found = key
		}
	}
	if name := plainText(a[found]); name != "" {
		return name
	}
	return trace
}

// attributes returns the attributes of a span by name: an object, or OTLP's list of
// keys and values.
func (p *otel) attributes(raw json.RawMessage) (map[string]json.RawMessage, *jsonl.Fault) {
	a := map[string]json.RawMessage{}
	var s jsonl.Scanner
	s.Reset(raw)
	s.Field = "attributes"
	switch {
	case len(raw) == 0 || s.Null():
	case s.Peek() == '{':
		for ok := s.Open('{'); ok; ok = s.More('{') {
			key := s.Name()
			if a[key] != nil {
				s.Fail("attributes", key, "each attribute once")
			}
			a[key] = s.Raw()
		}
	default:
		for ok := s.Open('['); ok; ok = s.More('[') {
			kv := s.Raw()
			key, v := plainText(member(kv, "key")), member(kv, "value")
			for _, kind := range []string{"stringValue", "intValue", "doubleValue", "boolValue"} {
				if one := member(v, kind); one != nil {
					a[key] = one
				}
			}
		}
	}
	return a, s.Err
}

// natural returns a whole number, or one as text, that is not negative.
func natural(v json.RawMessage) formats.Int {
	if t := []byte(plainText(v)); isDecimal(t) {
		if n, ok := whole(t); ok && n >= 0 {
			return formats.Some(n)
		}
	}
	return formats.Int{}
}
