package traces

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// mooncakeRow is one row as written. A key that is null counts as absent.
type mooncakeRow struct {
	at, delay     formats.Int // ns
	input, output formats.Int
	ids           int64 // −1: no hash_ids
	runs          []schedule.Run
	session       string // "": none
	text          []byte // the JSON string
	messages      json.RawMessage
	tools         json.RawMessage
	payload       json.RawMessage
	extra         json.RawMessage
	delta         bool // message_mode delta
	mode          bool // message_mode given
	context       string
	headers       bool
	kind          rowKind
	unknown       []string // valid until the next row
}

// rowKind is where the prompt of a row comes from.
type rowKind uint8

const (
	synthesised rowKind = iota + 1 // input_length
	textInput
	messageList
	wholePayload
)

var kindKeys = [...]string{synthesised: "input_length", textInput: "text_input", messageList: "messages", wholePayload: "payload"}

// mooncakeParser reads rows into one mooncakeRow.
type mooncakeParser struct {
	s      jsonl.Scanner
	row    mooncakeRow
	seen   uint            // bits of mooncakeKeys
	others map[string]bool // keys beyond them
}

// mooncakeKeys are the keys that a row may have.
var mooncakeKeys = [...]string{"timestamp", "input_length", "output_length", "hash_ids", "session_id", "delay", "text_input", "messages", "tools", "payload",
	"message_mode", "context_mode", "extra", "headers", "type"}

// again notes a key of the row in hand and reports whether it had been there.
func (p *mooncakeParser) again(key []byte) bool {
	for i, k := range mooncakeKeys {
		if string(key) == k {
			was := p.seen
			p.seen |= 1 << i
			return p.seen == was
		}
	}
	if p.others[string(key)] {
		return true
	}
	if p.others == nil {
		p.others = map[string]bool{}
	}
	p.others[string(key)] = true
	return false
}

// parse reads a line. Keys may stand in any order.
func (p *mooncakeParser) parse(line []byte) (*mooncakeRow, *jsonl.Fault) {
	if !utf8.Valid(line) {
		return nil, &jsonl.Fault{What: "row", Got: "bytes that are not UTF-8", Want: "a JSON object"}
	}
	s, row := &p.s, &p.row
	*row = mooncakeRow{ids: -1, runs: row.runs[:0], unknown: row.unknown[:0]}
	p.seen = 0
	clear(p.others)
	s.Reset(line)
	s.Field = "row"
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Key()
		if s.Err != nil {
			break
		}
		if p.again(key) {
			s.Fail("key", string(key), "each key once")
		}
		p.member(row, key)
	}
	s.End()
	p.together(row)
	if s.Err != nil {
		return nil, s.Err
	}
	return row, nil
}

// member reads the value of one key.
func (p *mooncakeParser) member(row *mooncakeRow, key []byte) {
	s := &p.s
	switch string(key) {
	case "timestamp":
		s.Field = "timestamp"
		row.at = p.time()
	case "delay":
		s.Field = "delay"
		row.delay = p.time()
	case "input_length":
		s.Field = "input_length"
		row.input = p.length(1)
	case "output_length":
		s.Field = "output_length"
		row.output = p.length(0)
	case "hash_ids":
		s.Field = "hash_ids"
		p.hashIDs(row)
	case "session_id":
		s.Field = "session_id"
		if !s.Null() {
			if row.session = s.Str(); row.session == "" {
				s.Fail("session_id", "", "a name, or null")
			}
		}
	case "text_input":
		s.Field = "text_input"
		if !s.Null() {
			if s.Peek() != '"' {
				s.Refuse("a string")
			}
			row.text = s.Raw()
		}
	case "messages":
		s.Field = "messages"
		row.messages = p.messages()
	case "tools":
		s.Field = "tools"
		row.tools = p.raw('[', "a list that is not empty")
	case "payload":
		s.Field = "payload"
		row.payload = p.raw('{', "an object that is not empty")
	case "message_mode":
		s.Field = "message_mode"
		if !s.Null() {
			switch mode := s.Str(); mode {
			case "history", "delta":
				row.delta, row.mode = mode == "delta", true
			default:
				s.Fail("message_mode", mode, "history or delta")
			}
		}
	case "context_mode":
		s.Field = "context_mode"
		if !s.Null() {
			if row.context = s.Str(); contextModes[row.context] == "" {
				s.Fail("context_mode", row.context, "deltas_without_responses, message_array_with_responses or deltas_with_responses")
			}
		}
	case "extra":
		s.Field = "extra"
		if !s.Null() {
			if s.Peek() != '{' {
				s.Refuse("an object")
			}
			row.extra = s.Raw()
		}
	case "headers":
		s.Field = "headers"
		row.headers = !s.Null()
		if row.headers {
			if s.Peek() != '{' {
				s.Refuse("an object")
			}
			s.Raw()
		}
	case "type": // a tag for other tools
		s.Raw()
	default:
		name := string(key)
		s.Field = name
		s.Raw()
		row.unknown = append(row.unknown, name)
	}
}

// contextModes says what a declared mode makes of the rows of a session.
var contextModes = map[string]string{
	"deltas_without_responses":     schedule.Delta,
	"message_array_with_responses": schedule.Whole,
	joined:                         schedule.Whole,
}

// joined is the mode whose rows hold new texts with the recorded answers among them:
// the prompt is all of them joined.
const joined = "deltas_with_responses"

// together checks what no single key shows.
func (p *mooncakeParser) together(row *mooncakeRow) {
	s := &p.s
	n := 0
	for kind, has := range [...]bool{synthesised: row.input.Valid, textInput: row.text != nil, messageList: row.messages != nil, wholePayload: row.payload != nil} {
		if has {
			n++
			row.kind = rowKind(kind)
		}
	}
	const one = "one of input_length, text_input, messages and payload"
	switch {
	case s.Err != nil:
	case row.ids >= 0 && !row.input.Valid:
		s.Fail("hash_ids", "ids without input_length", "input_length on the same row")
	case n == 0:
		s.Fail("prompt", "none", one)
	case n > 1:
		s.Fail("prompt", strconv.Itoa(n), one)
	case row.tools != nil && row.messages == nil:
		s.Fail("tools", "tools without messages", "messages on the same row")
	case row.delta && row.messages == nil:
		s.Fail("message_mode", "delta without messages", "messages on the same row")
	case row.delta && has(row.extra, "messages"):
		s.Fail("extra.messages", "messages in a row of message_mode delta", "none")
	}
}

// time reads milliseconds as ns, or null.
func (p *mooncakeParser) time() formats.Int {
	s := &p.s
	if s.Err != nil || s.Null() {
		return formats.Int{}
	}
	text := []byte(nil)
	if ms, ok := s.Digits(); !ok {
		text = s.Number()
	} else if ms <= math.MaxInt64/mooncakeQuantum {
		return formats.Some(ms * mooncakeQuantum)
	} else {
		text = strconv.AppendInt(nil, ms, 10)
	}
	if s.Err != nil {
		s.Err.Want = "a time in ms, or null"
		return formats.Int{}
	}
	ns, ok := milliseconds(text)
	if d := parseDecimal(text); !ok || d.neg && len(d.digits) > 0 {
		s.Fail(s.Field, string(text), "a time in ms of at least 0 and within 292 years")
	}
	return formats.Some(ns)
}

// length reads a token count, or null.
func (p *mooncakeParser) length(least int64) formats.Int {
	s := &p.s
	if s.Null() {
		return formats.Int{}
	}
	return formats.Some(p.whole(least))
}

// whole reads a whole number.
func (p *mooncakeParser) whole(least int64) int64 {
	s := &p.s
	if s.Err != nil {
		return 0
	}
	v, ok := s.Digits()
	text := []byte(nil)
	if ok && v >= least {
		return v
	} else if ok {
		text = strconv.AppendInt(nil, v, 10)
	} else {
		text = s.Number()
		v, ok = whole(text)
	}
	if s.Err != nil {
		s.Err.Want = "a whole number of at least " + strconv.FormatInt(least, 10)
	} else if !ok || v < least {
		s.Fail(s.Field, string(text), "a whole number of at least "+strconv.FormatInt(least, 10))
	}
	return v
}

// hashIDs reads the block ids as runs.
func (p *mooncakeParser) hashIDs(row *mooncakeRow) {
	s := &p.s
	if s.Null() {
		return
	}
	row.ids = 0
	for ok := s.Open('['); ok; ok = s.More('[') {
		id, plain := s.Digits()
		if !plain {
			id = p.whole(0)
		}
		if n := len(row.runs); n > 0 && row.runs[n-1][0]+row.runs[n-1][1] == id {
			row.runs[n-1][1]++
		} else {
			row.runs = append(row.runs, schedule.Run{id, 1})
		}
		row.ids++
	}
}

// raw reads a literal list or object that is not empty, or null.
func (p *mooncakeParser) raw(left byte, want string) json.RawMessage {
	s := &p.s
	if s.Null() {
		return nil
	}
	if s.Peek() != left {
		s.Refuse(want)
		return nil
	}
	raw := s.Raw()
	if len(bytes.TrimSpace(raw[min(1, len(raw)):max(len(raw)-1, min(1, len(raw)))])) == 0 {
		s.Fail(s.Field, string(raw), want)
	}
	return raw
}

// messages reads a list of objects that each have a role.
func (p *mooncakeParser) messages() json.RawMessage {
	const want = "a list, not empty, of objects with a role"
	raw := p.raw('[', want)
	if raw == nil || p.s.Err != nil {
		return raw
	}
	var s jsonl.Scanner
	s.Reset(raw)
	s.Field = "messages"
	for ok := s.Open('['); ok; ok = s.More('[') {
		if s.Peek() != '{' {
			s.Refuse(want)
			break
		}
		if m := s.Raw(); !has(m, "role") {
			s.Fail("messages", "a message without role", want)
		}
	}
	if s.Err != nil {
		p.s.Fail(s.Err.What, s.Err.Got, s.Err.Want)
	}
	return raw
}

// has reports whether an object has a key.
func has(object json.RawMessage, key string) bool { return member(object, key) != nil }

// member returns the value of a key of a valid object, nil when it has none.
func member(object json.RawMessage, key string) json.RawMessage {
	if object == nil {
		return nil
	}
	var s jsonl.Scanner
	s.Reset(object)
	for ok := s.Open('{'); ok; ok = s.More('{') {
		name := string(s.Key())
		value := s.Raw()
		if name == key {
			return value
		}
	}
	return nil
}

// planned returns the output tokens of a row: a payload without output_length says it
// in its own words.
func (row *mooncakeRow) planned() formats.Int {
	if row.output.Valid || row.kind != wholePayload {
		return row.output
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if v, ok := whole(member(row.payload, key)); ok && v >= 0 {
			return formats.Some(v)
		}
	}
	return formats.Int{}
}
