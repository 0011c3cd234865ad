package schedule

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// Parser reads request lines into one Request that it uses again for each line. The
// zero value is ready.
type Parser struct {
	s      jsonl.Scanner
	r      Request
	blocks Blocks
	after  []int64 // kept here: a caller may put other slices into r
	add    []Run

	stream, context, model, class, scope name
}

// name keeps the latest text of a field, since most fields repeat it line by line.
type name struct{ last string }

func (n *name) of(b []byte) string {
	if string(b) != n.last {
		n.last = string(b)
	}
	return n.last
}

// Keys of a request line as bits, to refuse repeated keys and miss required ones.
const (
	hasID = 1 << iota
	hasAt
	hasAfter
	hasDelay
	hasSession
	hasStream
	hasTurn
	hasLast
	hasContext
	hasInput
	hasOutput
	hasBlocks
	hasModel
	hasClass
	hasPriority
	hasRecorded
	hasBody
	hasExtra
)

var required = []struct {
	bit uint32
	key string
}{{hasID, "id"}, {hasSession, "session"}, {hasStream, "stream"}, {hasTurn, "turn"}, {hasContext, "context"}}

// Parse reads one line. It checks what can be seen in the line alone; order,
// uniqueness and references are the Reader's. The result is valid until the next
// call and its Body and Extra lie in line.
func (p *Parser) Parse(line []byte) (*Request, error) {
	r, fault := p.request(line)
	if fault != nil {
		return nil, fault
	}
	return r, nil
}

// request parses a line. The result is valid until the next call.
func (p *Parser) request(line []byte) (*Request, *jsonl.Fault) {
	if !utf8.Valid(line) {
		return nil, &jsonl.Fault{What: "line", Got: "bytes that are not UTF-8", Want: "UTF-8 text"}
	}
	s := &p.s
	s.Reset(line)
	p.r = Request{}
	r := &p.r
	var seen uint32
	for ok := s.Open('{'); ok; ok = s.More('{') {
		bit := p.member(r, s.Key())
		if seen&bit != 0 {
			s.Fail("key", s.Field, "each key once")
		}
		seen |= bit
	}
	s.End()
	for _, q := range required {
		if seen&q.bit == 0 {
			s.Fail(q.key, "nothing", "this key on every line")
		}
	}
	if s.Err != nil {
		return nil, s.Err
	}
	return r, nil
}

// member reads the value of one key.
func (p *Parser) member(r *Request, key []byte) (bit uint32) {
	s := &p.s
	if s.Err != nil {
		return 0
	}
	switch string(key) {
	case "id":
		s.Field, bit = "id", hasID
		r.ID = s.Natural()
	case "at_ns":
		s.Field, bit = "at_ns", hasAt
		r.AtNS = natural(s)
	case "after":
		s.Field, bit = "after", hasAfter
		if !s.Null() {
			p.after = p.after[:0]
			for ok := s.Open('['); ok; ok = s.More('[') {
				p.after = append(p.after, s.Natural())
			}
			if len(p.after) > 0 {
				r.After = p.after
			}
		}
	case "delay_ns":
		s.Field, bit = "delay_ns", hasDelay
		r.DelayNS = natural(s)
	case "session":
		s.Field, bit = "session", hasSession
		if r.Session = s.Str(); r.Session == "" {
			s.Fail("session", "", "a name")
		}
	case "stream":
		s.Field, bit = "stream", hasStream
		if r.Stream = p.stream.of(s.Text()); r.Stream == "" {
			s.Fail("stream", "", "a name")
		}
	case "turn":
		s.Field, bit = "turn", hasTurn
		r.Turn = s.Natural()
	case "last":
		s.Field, bit = "last", hasLast
		r.Last = s.Bool()
	case "context":
		s.Field, bit = "context", hasContext
		r.Context = p.context.of(s.Text())
		if r.Context != Whole && r.Context != Delta {
			s.Fail("context", r.Context, strconv.Quote(Whole)+" or "+strconv.Quote(Delta))
		}
	case "input_tokens":
		s.Field, bit = "input_tokens", hasInput
		r.InputTokens = natural(s)
	case "output_tokens":
		s.Field, bit = "output_tokens", hasOutput
		r.OutputTokens = natural(s)
	case "blocks":
		s.Field, bit = "blocks", hasBlocks
		if !s.Null() {
			r.Blocks = p.readBlocks()
		}
	case "model":
		s.Field, bit = "model", hasModel
		r.Model = optional(s, &p.model)
	case "class":
		s.Field, bit = "class", hasClass
		r.Class = optional(s, &p.class)
	case "priority":
		s.Field, bit = "priority", hasPriority
		if !s.Null() {
			r.Priority = formats.Some(s.Int())
		}
	case "recorded":
		s.Field, bit = "recorded", hasRecorded
		if !s.Null() {
			r.Recorded = readRecorded(s)
		}
	case "body":
		s.Field, bit = "body", hasBody
		r.Body = object(s)
	case "extra":
		s.Field, bit = "extra", hasExtra
		r.Extra = object(s)
	default:
		s.Fail("key", string(key), "a key of docs/formats/schedule.md")
	}
	return bit
}

func (p *Parser) readBlocks() *Blocks {
	s, b := &p.s, &p.blocks
	*b = Blocks{}
	p.add = p.add[:0]
	var seen uint32
	for ok := s.Open('{'); ok; ok = s.More('{') {
		var bit uint32
		switch key := s.Key(); string(key) {
		case "scope":
			s.Field, bit = "blocks.scope", 1
			if b.Scope = p.scope.of(s.Text()); b.Scope == "" {
				s.Fail("blocks.scope", "", "a name")
			}
		case "keep":
			s.Field, bit = "blocks.keep", 2
			b.Keep = s.Natural()
		case "add":
			s.Field, bit = "blocks.add", 4
			for ok := s.Open('['); ok; ok = s.More('[') {
				p.add = append(p.add, readRun(s))
			}
			b.Add = p.add
		case "system":
			s.Field, bit = "blocks.system", 8
			if !s.Null() {
				b.System = s.Natural()
			}
		default:
			s.Fail("blocks key", string(key), "scope, keep, add or system")
		}
		if seen&bit != 0 {
			s.Fail("key", s.Field, "each key once")
		}
		seen |= bit
	}
	if seen&7 != 7 {
		s.Fail("blocks", "a key missing", "scope, keep and add")
	}
	return b
}

// readRun reads [first id, count].
func readRun(s *jsonl.Scanner) (run Run) {
	n := 0
	for ok := s.Open('['); ok; ok = s.More('[') {
		if n == 2 {
			s.Refuse("a run of two numbers, [first id, count]")
			return run
		}
		run[n] = s.Natural()
		n++
	}
	switch {
	case n != 2:
		s.Fail("blocks.add", strconv.Itoa(n)+" numbers", "runs of two numbers, [first id, count]")
	case !fits(run):
		s.Fail("blocks.add", printRun(run), wantRun)
	}
	return run
}

const wantRun = "a count of at least 1 and ids of 63 bits"

func fits(r Run) bool { return r[0] >= 0 && r[1] >= 1 && r[0] <= math.MaxInt64-(r[1]-1) }

func printRun(r Run) string {
	return "[" + strconv.FormatInt(r[0], 10) + "," + strconv.FormatInt(r[1], 10) + "]"
}

func readRecorded(s *jsonl.Scanner) (r Recorded) {
	var seen uint32
	for ok := s.Open('{'); ok; ok = s.More('{') {
		var bit uint32
		switch key := s.Key(); string(key) {
		case "ttft_ns":
			s.Field, bit = "recorded.ttft_ns", 1
			r.TTFTNS = natural(s)
		case "e2e_ns":
			s.Field, bit = "recorded.e2e_ns", 2
			r.E2ENS = natural(s)
		case "cached_tokens":
			s.Field, bit = "recorded.cached_tokens", 4
			r.CachedTokens = natural(s)
		default:
			s.Fail("recorded key", string(key), "ttft_ns, e2e_ns or cached_tokens")
		}
		if seen&bit != 0 {
			s.Fail("key", s.Field, "each key once")
		}
		seen |= bit
	}
	return r
}

// natural reads a whole number of at least 0, or null.
func natural(s *jsonl.Scanner) formats.Int {
	if s.Null() {
		return formats.Int{}
	}
	return formats.Some(s.Natural())
}

// optional reads a name, or null as "".
func optional(s *jsonl.Scanner, n *name) string {
	if s.Null() {
		return ""
	}
	text := n.of(s.Text())
	if text == "" {
		s.Fail(s.Field, "", "a name, or null")
	}
	return text
}

// object reads a literal JSON object, or null as nil.
func object(s *jsonl.Scanner) json.RawMessage {
	if s.Null() {
		return nil
	}
	if s.Peek() != '{' {
		s.Refuse("an object, or null")
		return nil
	}
	return s.Raw()
}

// Clone returns a copy that stays valid.
func (r *Request) Clone() *Request {
	c := *r
	c.After = slices.Clone(r.After)
	c.Body = bytes.Clone(r.Body)
	c.Extra = bytes.Clone(r.Extra)
	if r.Blocks != nil {
		b := *r.Blocks
		b.Add = slices.Clone(r.Blocks.Add)
		c.Blocks = &b
	}
	return &c
}
