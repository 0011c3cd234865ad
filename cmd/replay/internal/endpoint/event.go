package endpoint

import (
	"bytes"
	"errors"
	"strings"

	"hydrant/formats"
)

// Usage is what the server counted. Null is what it did not say.
type Usage struct {
	Input     formats.Int // prompt tokens
	Output    formats.Int // completion tokens, reasoning included
	Cached    formats.Int // prompt tokens taken from a cache
	Reasoning formats.Int // completion tokens that are reasoning
}

// Known reports whether the server counted anything.
func (u Usage) Known() bool { return u.Input.Valid || u.Output.Valid }

// Merge takes over each count that v knows: the last word of a server counts, also
// when its last usage is silent about a detail that an earlier one had.
func (u *Usage) Merge(v Usage) {
	for _, p := range [...]struct {
		to   *formats.Int
		from formats.Int
	}{{&u.Input, v.Input}, {&u.Output, v.Output}, {&u.Cached, v.Cached}, {&u.Reasoning, v.Reasoning}} {
		if p.from.Valid {
			*p.to = p.from
		}
	}
}

// An Event is what one event of a stream, or one JSON answer, said. An event that is
// nothing of all this, like one that only names the role, is still an event.
type Event struct {
	Answer    bool   // non-empty text that is not reasoning, or token ids
	Reasoning bool   // non-empty reasoning text
	Tool      bool   // non-empty name or arguments of a tool call
	Choices   bool   // had a list of choices, empty or not
	Usage     Usage  //
	Finish    string // finish reason
	Error     string // text of an error object, never empty when there was one
	Done      bool   // [DONE]

	Collect bool   // in: whether to append answer text to Text
	Text    []byte // answer text of choice 0, appended; the caller's to cut

	ids  bool    // had token ids
	scan scanner // here so that an event costs no allocation
}

// Token reports whether the event carried any token: a token event.
func (e *Event) Token() bool { return e.Answer || e.Reasoning || e.Tool }

// errNotJSON says that an event's data is no JSON object.
var errNotJSON = errors.New("not a JSON object")

// Read classifies one event by its type ("" is message) and its data, which may also
// be a whole JSON answer. It overwrites ev but for Collect and Text. An error says
// that the data is no JSON object; ev then holds nothing.
func (e *Endpoint) Read(typ string, data []byte, ev *Event) error {
	*ev = Event{Collect: ev.Collect, Text: ev.Text}
	data = bytes.Trim(data, " \t\r\n")
	switch {
	case typ == "error":
		ev.Error = ErrorText(data)
		return nil
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		ev.Done = true
		return nil
	}
	before := len(ev.Text)
	s := &ev.scan
	s.reset(data)
	e.read(s, ev)
	ok := s.ok()
	s.reset(nil)
	if !ok {
		*ev = Event{Collect: ev.Collect, Text: ev.Text[:before]}
		if typ != "" && typ != "message" {
			return nil // another type of event owes us no JSON: a keep-alive with text
		}
		return errNotJSON
	}
	return nil
}

// openAI reads a chunk or an answer of /v1/chat/completions and /v1/completions.
func openAI(s *scanner, ev *Event) {
	var isError bool
	var message string
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "choices":
			if s.peek() != '[' {
				s.skip()
				continue
			}
			ev.Choices = true
			index := 0
			for s.open('['); s.more(']'); {
				if s.peek() != '{' {
					s.skip()
					continue
				}
				choice(s, ev, index)
				index++
			}
		case "usage":
			usage(s, &ev.Usage)
		case "error":
			if text, ok := errorValue(s.raw()); ok {
				ev.Error = text
			}
		case "object", "type":
			t, _ := s.text()
			isError = isError || string(t) == "error"
		case "message":
			t, _ := s.text()
			message = string(unquote(nil, t))
		default:
			s.skip()
		}
	}
	// some servers put the error at the top: {"object":"error","message":…}
	if isError && ev.Error == "" {
		ev.Error = orUnknown(message)
	}
}

// choice reads one element of choices. Its text is in delta (a chunk), in message (an
// answer) or in text (either, of completions).
func choice(s *scanner, ev *Event, index int) {
	collect := ev.Collect && index == 0
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "delta", "message":
			if s.peek() != '{' {
				s.skip()
				continue
			}
			delta(s, ev, collect)
		case "text":
			answer(s, ev, collect)
		case "reasoning_content", "reasoning":
			t, _ := s.text()
			ev.Reasoning = ev.Reasoning || len(t) > 0
		case "token_ids":
			if s.peek() != '[' {
				s.skip()
				continue
			}
			for s.open('['); s.more(']'); {
				s.skip()
				ev.ids = true
			}
		case "finish_reason":
			if t, ok := s.text(); ok && len(t) > 0 {
				ev.Finish = string(unquote(nil, t))
			}
		case "usage":
			usage(s, &ev.Usage)
		default:
			s.skip()
		}
	}
	// ids without text: the server holds back an unfinished character
	if ev.ids && !ev.Reasoning && !ev.Tool {
		ev.Answer = true
	}
}

// delta reads the message of a choice, or the part of it that a chunk adds.
func delta(s *scanner, ev *Event, collect bool) {
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "content":
			if s.peek() == '[' {
				for s.open('['); s.more(']'); {
					part(s, ev, collect)
				}
				continue
			}
			answer(s, ev, collect)
		case "refusal":
			answer(s, ev, collect)
		case "reasoning_content", "reasoning":
			t, _ := s.text()
			ev.Reasoning = ev.Reasoning || len(t) > 0
		case "tool_calls":
			if s.peek() != '[' {
				s.skip()
				continue
			}
			for s.open('['); s.more(']'); {
				toolCall(s, ev)
			}
		case "function_call":
			function(s, ev)
		default:
			s.skip()
		}
	}
}

// answer reads text that is not reasoning.
func answer(s *scanner, ev *Event, collect bool) {
	t, _ := s.text()
	if len(t) == 0 {
		return
	}
	ev.Answer = true
	if collect {
		ev.Text = unquote(ev.Text, t)
	}
}

// part reads one element of a content list, {"type":"text","text":…} or
// {"type":"thinking","thinking":[…]}.
func part(s *scanner, ev *Event, collect bool) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "text":
			answer(s, ev, collect)
		case "thinking":
			ev.Reasoning = len(s.raw()) > 2 || ev.Reasoning // more than "" or []
		default:
			s.skip()
		}
	}
}

func toolCall(s *scanner, ev *Event) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.open('{'); s.more('}'); {
		if string(s.key()) == "function" {
			function(s, ev)
		} else {
			s.skip()
		}
	}
}

func function(s *scanner, ev *Event) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "name", "arguments":
			t, _ := s.text()
			ev.Tool = ev.Tool || len(t) > 0
		default:
			s.skip()
		}
	}
}

// usage reads a usage object. Details that only one server names are taken where the
// common place is silent.
func usage(s *scanner, u *Usage) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	var v, other Usage
	for s.open('{'); s.more('}'); {
		switch string(s.key()) {
		case "prompt_tokens":
			number(s, &v.Input)
		case "completion_tokens":
			number(s, &v.Output)
		case "prompt_tokens_details":
			detail(s, "cached_tokens", &v.Cached)
		case "completion_tokens_details":
			detail(s, "reasoning_tokens", &v.Reasoning)
		case "cached_tokens", "prompt_cache_hit_tokens":
			number(s, &other.Cached)
		case "reasoning_tokens":
			number(s, &other.Reasoning)
		default:
			s.skip()
		}
	}
	other.Merge(v)
	if other.Known() {
		u.Merge(other)
	}
}

func detail(s *scanner, name string, to *formats.Int) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	for s.open('{'); s.more('}'); {
		if string(s.key()) == name {
			number(s, to)
		} else {
			s.skip()
		}
	}
}

func number(s *scanner, to *formats.Int) {
	if n, ok := s.count(); ok {
		*to = formats.Some(n)
	}
}

// ErrorText finds the words of a server's error in the body it sent: the message of an
// error object in any of the usual shapes, else the body itself. It is never empty.
func ErrorText(body []byte) string {
	body = bytes.TrimSpace(body)
	var s scanner
	s.reset(body)
	var found string
	if s.peek() == '{' {
		for s.open('{'); s.more('}'); {
			switch string(s.key()) {
			case "error":
				if text, ok := errorValue(s.raw()); ok {
					found = text
				}
			case "message", "detail":
				if text, ok := errorValue(s.raw()); ok && found == "" {
					found = text
				}
			default:
				s.skip()
			}
		}
	}
	if found == "" || !s.ok() {
		found = string(body)
	}
	return orUnknown(found)
}

// errorValue returns the words of the value of an error key. null, false and "" are no error.
func errorValue(raw []byte) (string, bool) {
	var s scanner
	s.reset(raw)
	switch s.peek() {
	case 0, 'n', 'f':
		return "", false
	case '"':
		t := string(unquote(nil, s.str()))
		return t, t != ""
	case '{':
		var message string
		for s.open('{'); s.more('}'); {
			if string(s.key()) == "message" {
				t, _ := s.text()
				message = string(unquote(nil, t))
			} else {
				s.skip()
			}
		}
		if message != "" {
			return message, true
		}
	}
	return string(raw), true
}

func orUnknown(text string) string {
	if text = strings.ToValidUTF8(text, "\uFFFD"); text == "" {
		return "error without a text"
	}
	return text
}
