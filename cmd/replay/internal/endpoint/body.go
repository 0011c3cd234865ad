package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"hydrant/cmd/replay/internal/prompt"
	"hydrant/formats"
)

// Options are what all bodies of a run have in common.
type Options struct {
	Model           string          // beats the model of the trace; "" leaves that
	Stream          bool            // ask for a stream and its usage
	IgnoreEOS       bool            // ignore_eos: do not stop before max_tokens
	MinTokens       bool            // min_tokens = max_tokens
	UsageEveryChunk bool            // stream_options.continuous_usage_stats
	Extra           json.RawMessage // an object merged into every body, before the row's; nil: none
}

// Input is what one body is made of.
type Input struct {
	Model        string          // of the trace; "" when it has none
	OutputTokens formats.Int     // as planned; null leaves max_tokens out
	Kind         prompt.Kind     // what Prompt is
	Prompt       []byte          // as prompt.Builder appends it; unused when Body is set
	System       int             // leading bytes of Prompt that are a system message on a chat endpoint; 0: none
	Body         json.RawMessage // literal prompt, messages or payload of the trace; nil: none
	Extra        json.RawMessage // merged last; nil: none
	History      *History        // what a delta session said before; nil: the prompt is whole
}

// Bodies builds the request bodies of a run. One goroutine uses it.
type Bodies struct {
	e      *Endpoint
	o      Options
	extra  []member
	fields fields // of the body being built
}

// Bodies returns the builder for bodies with options o. Extra must be an object, and
// its stream, if any, what o says.
func (e *Endpoint) Bodies(o Options) (*Bodies, error) {
	b := &Bodies{e: e, o: o}
	var err error
	b.extra, err = b.merge(o.Extra, "--extra")
	return b, err
}

// merge reads an extra object and refuses one that contradicts the flags.
func (b *Bodies) merge(extra json.RawMessage, place string) ([]member, error) {
	if extra == nil {
		return nil, nil
	}
	list, err := members(extra, place)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.key == `stream` && string(m.value) != strconv.FormatBool(b.o.Stream) {
			return nil, &formats.SyntaxError{Place: place, What: "stream", Got: string(m.value),
				Want: strconv.FormatBool(b.o.Stream) + ", as the flags say",
				Help: "streaming is chosen by a flag of replay, for all requests"}
		}
	}
	return list, nil
}

// Build appends a request body to dst and says whether it asks for a stream.
//
// A synthesised or literal prompt gets model, max_tokens (at least 1), stream,
// stream_options and the pinned lengths around it, then the extra of the run, then the
// extra of the row, a later key in place of an earlier one. A literal payload is
// sent as it is, but for the extras. The error of a body that cannot be built is a
// SyntaxError; dst is then returned unchanged.
func (b *Bodies) Build(dst []byte, in *Input) (body []byte, stream bool, err error) {
	f := &b.fields
	defer f.reset()
	stream = b.o.Stream
	if in.Body != nil {
		stream, err = b.literal(f, in)
	} else {
		err = b.synthesised(f, in)
	}
	if err != nil {
		return dst, false, err
	}
	extra, err := b.merge(in.Extra, "extra")
	if err != nil {
		return dst, false, err
	}
	for _, list := range [...][]member{b.extra, extra} {
		for _, m := range list {
			if want := f.pinned(m.key); want != "" && want != string(m.value) {
				return dst, false, &formats.SyntaxError{Place: "extra", What: m.key, Got: string(m.value), Want: want + ", the pinned length",
					Help: "--pin-output off leaves the length to the line"}
			}
			f.set(m.key, m.value)
			if m.key == "stream" {
				stream = b.o.Stream
			}
		}
	}
	return f.append(dst), stream, nil
}

func (b *Bodies) synthesised(f *fields, in *Input) error {
	if !b.e.Accepts(in.Kind) {
		return &formats.SyntaxError{Place: "endpoint " + b.e.Name, What: "prompt", Got: string(in.Kind), Want: fmt.Sprint(b.e.Prompts),
			Help: "token ids go to --endpoint completions"}
	}
	if err := b.model(f, in); err != nil {
		return err
	}
	if err := b.e.content(f, in, in.Kind, in.Prompt); err != nil {
		return err
	}
	b.lengths(f, in)
	return nil
}

// literal takes a body of the trace: {prompt}, {messages} and {messages, tools} are
// the content of a body, anything else is a whole one.
func (b *Bodies) literal(f *fields, in *Input) (stream bool, err error) {
	list, err := members(in.Body, "body")
	if err != nil {
		return false, err
	}
	only := func(keys ...string) bool {
		return len(list) > 0 && !slices.ContainsFunc(list, func(m member) bool { return !slices.Contains(keys, m.key) })
	}
	switch {
	case only("prompt"):
		if err := b.model(f, in); err != nil {
			return false, err
		}
		if err := b.e.literal(f, in, list[0].value); err != nil {
			return false, err
		}
		b.lengths(f, in)
		return b.o.Stream, nil
	case only("messages", "tools"):
		if b.e.messages == nil {
			return false, &formats.SyntaxError{Place: "endpoint " + b.e.Name, What: "body", Got: "messages", Want: "a prompt",
				Help: "messages go to --endpoint chat"}
		}
		if err := b.model(f, in); err != nil {
			return false, err
		}
		for _, m := range list {
			if m.key != "messages" {
				f.set(m.key, m.value)
			} else if err := b.e.messages(f, in, m.value); err != nil {
				return false, err
			}
		}
		b.lengths(f, in)
		return b.o.Stream, nil
	}
	for _, m := range list {
		f.set(m.key, m.value)
		if m.key == "stream" {
			stream = string(m.value) == "true"
		}
	}
	return stream, nil
}

func (b *Bodies) model(f *fields, in *Input) error {
	model := b.o.Model
	if model == "" {
		model = in.Model
	}
	if model == "" {
		return &formats.SyntaxError{Place: "endpoint " + b.e.Name, What: "model", Want: "a name", Help: "name it with --model"}
	}
	at := len(f.small)
	f.small = append(quote(append(f.small, '"'), []byte(model)), '"')
	f.set("model", f.small[at:])
	return nil
}

// lengths sets what follows the prompt.
func (b *Bodies) lengths(f *fields, in *Input) {
	at := len(f.small)
	f.small = strconv.AppendInt(f.small, max(1, in.OutputTokens.V), 10)
	limit := f.small[at:]
	if in.OutputTokens.Valid {
		f.set("max_tokens", limit)
	}
	if b.o.Stream {
		f.set("stream", jsonTrue)
	} else {
		f.set("stream", jsonFalse)
	}
	switch {
	case b.o.Stream && b.o.UsageEveryChunk:
		f.set("stream_options", usageOfChunks)
	case b.o.Stream:
		f.set("stream_options", usageAtEnd)
	}
	if b.o.IgnoreEOS {
		f.set("ignore_eos", jsonTrue)
	}
	if b.o.MinTokens && in.OutputTokens.Valid {
		f.set("min_tokens", limit)
	}
	f.pin = b.o.IgnoreEOS || b.o.MinTokens
}

// Values that are the same in many bodies.
var (
	jsonTrue, jsonFalse = []byte("true"), []byte("false")
	usageAtEnd          = []byte(`{"include_usage":true}`)
	usageOfChunks       = []byte(`{"include_usage":true,"continuous_usage_stats":true}`)
)

// A member is one key of an object and the text of its value.
type member struct {
	key   string
	value []byte
}

// members reads an object one level deep.
func members(raw json.RawMessage, place string) ([]member, error) {
	var list []member
	var s scanner
	s.reset(raw)
	for s.open('{'); s.more('}'); {
		key := string(unquote(nil, s.key()))
		list = append(list, member{key, s.raw()})
	}
	if !s.ok() {
		return nil, &formats.SyntaxError{Place: place, What: "JSON", Got: clip(string(raw)), Want: "an object"}
	}
	return list, nil
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// fields is a body in the making: keys in order, each value in parts that are copied
// once, into the body.
type fields struct {
	list  []fieldParts
	pin   bool   // the keys of the length are those of the run
	small []byte // of values that are made here
}

// reset empties f, which keeps its memory.
func (f *fields) reset() {
	clear(f.list)
	f.list, f.small, f.pin = f.list[:0], f.small[:0], false
}

// pinned returns the value of key that an extra may not change, "" when it may.
func (f *fields) pinned(key string) string {
	if !f.pin || key != "max_tokens" && key != "min_tokens" && key != "ignore_eos" {
		return ""
	}
	i := f.index(key)
	if i < 0 {
		return ""
	}
	return string(f.list[i].parts[0])
}

type fieldParts struct {
	key   string
	parts [5][]byte
}

// index is where key stands, −1 for nowhere.
func (f *fields) index(key string) int {
	for i := range f.list {
		if f.list[i].key == key {
			return i
		}
	}
	return -1
}

// set gives key its value, in the place of an earlier one.
func (f *fields) set(key string, parts ...[]byte) {
	var v fieldParts
	v.key = key
	copy(v.parts[:], parts)
	if i := f.index(key); i >= 0 {
		f.list[i] = v
		return
	}
	f.list = append(f.list, v)
}

func (f *fields) append(dst []byte) []byte {
	n := 2
	for i := range f.list {
		v := &f.list[i]
		n += len(v.key) + 4
		for _, p := range v.parts {
			n += len(p)
		}
	}
	dst = append(slices.Grow(dst, n), '{')
	for i := range f.list {
		v := &f.list[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = quote(dst, []byte(v.key))
		dst = append(dst, '"', ':')
		for _, p := range v.parts {
			dst = append(dst, p...)
		}
	}
	return append(dst, '}')
}
