package traces

import (
	"encoding/json"
	"strings"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// spanBody makes the body of a chat from the messages of a span.
func spanBody(a map[string]json.RawMessage) (json.RawMessage, *jsonl.Fault) {
	list, fault := spanMessages("gen_ai.input.messages", a["gen_ai.input.messages"])
	if fault != nil {
		return nil, fault
	}
	body := []byte(`{"messages":[`)
	if system := a["gen_ai.system_instructions"]; system != nil {
		content, fault := joinParts("gen_ai.system_instructions", unquoted(system))
		if fault != nil {
			return nil, fault
		}
		body = append(jsonl.AppendString(append(body, `{"role":"system","content":`...), content), '}')
		if len(list) > 0 {
			body = append(body, ',')
		}
	}
	return append(append(body, list...), ']', '}'), nil
}

// unquoted returns the JSON that stands in a string, or the value itself.
func unquoted(v json.RawMessage) json.RawMessage {
	if len(v) > 0 && v[0] == '"' {
		return json.RawMessage(plainText(v))
	}
	return v
}

// spanMessages returns the elements of a list of messages, with commas between them.
// Messages in parts, as newer conventions have them, become messages with content.
func spanMessages(name string, v json.RawMessage) ([]byte, *jsonl.Fault) {
	var s jsonl.Scanner
	var out []byte
	raw := unquoted(v)
	s.Reset(raw)
	s.Field = name
	for ok := s.Open('['); ok; ok = s.More('[') {
		m := s.Raw()
		role := member(m, "role")
		if s.Err == nil && plainText(role) == "" {
			s.Fail(name, formats.Clip(string(m)), "messages with a role")
		}
		if s.Err != nil {
			break
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		parts := member(m, "parts")
		if parts == nil {
			out = append(out, m...)
			continue
		}
		content, fault := joinParts(name, parts)
		if fault != nil {
			return nil, fault
		}
		out = append(append(append(out, `{"role":`...), role...), `,"content":`...)
		out = append(jsonl.AppendString(out, content), '}')
	}
	s.End()
	if s.Err == nil && !json.Valid(raw) {
		s.Fail(name, formats.Clip(string(raw)), "JSON")
	}
	return out, s.Err
}

// joinParts joins the parts of a message, which must be text.
func joinParts(name string, parts json.RawMessage) (string, *jsonl.Fault) {
	var s jsonl.Scanner
	var b strings.Builder
	s.Reset(parts)
	s.Field = name
	for ok := s.Open('['); ok; ok = s.More('[') {
		part := s.Raw()
		content := member(part, "content")
		if s.Err == nil && (plainText(member(part, "type")) != "text" || len(content) == 0 || content[0] != '"') {
			s.Fail(name, formats.Clip(string(part)), "parts of type text")
		}
		b.WriteString(plainText(content))
	}
	s.End()
	return b.String(), s.Err
}
