package traces

import (
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// wekaTrace is one trace object: the requests of a session and of its subagents, in
// listed order, those of a subagent at its place.
type wekaTrace struct {
	id       string
	scope    string // hash_id_scope: local, global or ""
	block    int64
	requests []wekaRequest
	agents   []wekaAgent
	runs     []schedule.Run // of all requests
	entries  int            // of the list of requests
	system   int64          // tokens of tools and system prompt, with which the parent's prompts begin
	totals   []byte         // as written
}

// What hash_id_scope may say.
const (
	localScope  = "local"  // ids mean nothing outside of the trace
	globalScope = "global" // one scope for the input
)

// wekaRequest is one request as written; times are ns.
type wekaRequest struct {
	at    int // index in its list
	agent int // index of its subagent, −1 for the parent

	t                int64
	api, ttft, think formats.Int
	in, out          int64
	model            string
	ids              int64 // −1: no hash_ids
	from, to         int   // its part of runs
}

// wekaAgent is one subagent.
type wekaAgent struct {
	at       int    // index in the list of requests
	id       string // agent_id
	class    string // subagent_type
	status   string
	t        int64       // ns
	duration formats.Int // ns
	requests int         // of its own
	system   int64       // as in wekaTrace
}

// wekaParser reads trace objects. unknown is called for each key that is not known.
type wekaParser struct {
	s       jsonl.Scanner
	trace   *wekaTrace
	model   string
	unknown func(key string) *jsonl.Fault
}

// leading adds up the lengths of what prompts begin with, if key is one of them.
func (p *wekaParser) leading(seen *keys, key string, tokens *int64) bool {
	s := &p.s
	switch key {
	case "tool_tokens":
		seen.add(s, keyToolTokens, key)
	case "system_tokens":
		seen.add(s, keySystemTokens, key)
	default:
		return false
	}
	s.Field = key
	if !s.Null() {
		*tokens = later(*tokens, wholeNumber(s, 0))
	}
	return true
}

// other steps over the value of a key that is not used.
func (p *wekaParser) other(seen *keys, name string) {
	s := &p.s
	s.Field = name
	if n, ok := ignoredKeys[name]; ok {
		seen.add(s, keyIgnored+n, name)
	} else if s.Err == nil {
		s.Err = p.unknown(name)
	}
	s.Raw()
}

// object reads the next trace of a stream into t.
func (p *wekaParser) object(r *pieces, t *wekaTrace) {
	*t = wekaTrace{requests: t.requests[:0], agents: t.agents[:0], runs: t.runs[:0], totals: t.totals[:0]}
	p.trace = t
	var seen keys
	for ok := r.open('{', "trace"); ok; ok = r.next('{', "trace") {
		key := r.key()
		if key == "requests" && r.err == nil {
			p.s.Reset(nil)
			if seen.add(&p.s, keyRequests, key); p.s.Err == nil {
				p.list(r)
			}
		} else if b := r.value(key); r.err == nil {
			p.s.Reset(b)
			p.header(&seen, key)
			p.s.End()
		}
		if r.err == nil && p.s.Err != nil {
			r.err = p.s.Err
		}
	}
	if r.err != nil {
		return
	}
	p.s.Reset(nil)
	for _, need := range []struct {
		n    uint
		name string
	}{{keyID, "id"}, {keyBlockSize, "block_size"}, {keyRequests, "requests"}} {
		if !seen.has(need.n) {
			p.s.Fail(need.name, "nothing", "this key in each trace")
		}
	}
	if len(t.requests) == 0 {
		p.s.Fail("requests", "an empty list", "a request")
	}
	if p.s.Err != nil {
		r.err = p.s.Err
	}
}

// header reads the value of a key of the trace itself.
func (p *wekaParser) header(seen *keys, key string) {
	s, t := &p.s, p.trace
	s.Field = key
	switch key {
	case "id":
		seen.add(s, keyID, key)
		if t.id = s.Str(); t.id == "" {
			s.Fail("id", "", "a name")
		}
	case "block_size":
		seen.add(s, keyBlockSize, key)
		t.block = wholeNumber(s, 1)
		if t.block > MaxBlockSize {
			s.Fail(key, strconv.FormatInt(t.block, 10), "at most "+strconv.Itoa(MaxBlockSize))
		}
	case "hash_id_scope":
		seen.add(s, keyScope, key)
		switch t.scope = s.Str(); t.scope {
		case localScope, globalScope:
		default:
			s.Fail(key, t.scope, "local or global")
		}
	case "totals":
		seen.add(s, keyTotals, key)
		t.totals = append(t.totals, s.Raw()...)
	default:
		if !p.leading(seen, key, &t.system) {
			p.other(seen, key)
		}
	}
}

// list reads the list of requests and subagents.
func (p *wekaParser) list(r *pieces) {
	t := p.trace
	for ok := r.open('[', "requests"); ok; ok = r.next('[', "requests") {
		b := r.value("requests[" + strconv.Itoa(t.entries) + "]")
		if r.err != nil {
			return
		}
		p.s.Reset(b)
		p.s.Field = "request"
		p.entry(t.entries)
		p.s.End()
		if f := p.s.Err; f != nil {
			r.err = &jsonl.Fault{What: "requests[" + strconv.Itoa(t.entries) + "]." + f.What, Got: f.Got, Want: f.Want}
			return
		}
		t.entries++
	}
}

// entry reads a request or a subagent of the list.
func (p *wekaParser) entry(at int) {
	s, t := &p.s, p.trace
	first := len(t.requests)
	r := wekaRequest{at: at, agent: -1, ids: -1}
	a := wekaAgent{at: at, requests: -1}
	var seen keys
	kind := p.members(&seen, &r, &a)
	if kind != "subagent" {
		if s.Err == nil && len(t.requests) > first {
			s.Fail("requests", "a list", "none in a request of type "+kind)
		}
		p.required(seen, keyT, keyType, keyIn, keyOut)
		t.requests = append(t.requests, r)
		return
	}
	p.required(seen, keyT, keyAgentID, keyStatus, keyRequests)
	switch {
	case r.ids >= 0:
		s.Fail("hash_ids", "a list", "none in a subagent")
	case a.status == "completed" && !a.duration.Valid:
		s.Fail("duration_ms", "nothing", "the wall time of a completed subagent")
	}
	a.t = r.t
	for i := first; i < len(t.requests); i++ {
		t.requests[i].agent = len(t.agents)
	}
	a.requests = len(t.requests) - first
	t.agents = append(t.agents, a)
}

// required refuses an object that lacks a key.
func (p *wekaParser) required(seen keys, need ...uint) {
	for _, n := range need {
		if !seen.has(n) {
			p.s.Fail(map[uint]string{keyT: "t", keyType: "type", keyIn: "in", keyOut: "out", keyAgentID: "agent_id", keyStatus: "status", keyRequests: "requests"}[n], "nothing", "this key in each entry of its kind")
		}
	}
}

// members reads the keys of a request or a subagent, which say in any order which of the
// two it is. a is nil inside of a subagent.
func (p *wekaParser) members(seen *keys, r *wekaRequest, a *wekaAgent) (kind string) {
	s := &p.s
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Key()
		switch string(key) {
		case "t":
			s.Field = "t"
			seen.add(s, keyT, s.Field)
			if s.Null() {
				s.Fail(s.Field, "null", wantSpan)
			}
			r.t = nanoseconds(s).V
		case "type":
			s.Field = "type"
			seen.add(s, keyType, s.Field)
			switch text := s.Text(); {
			case string(text) == "n":
				kind = "n"
			case string(text) == "s":
				kind = "s"
			case string(text) == "subagent" && a != nil:
				kind = "subagent"
			case string(text) == "subagent":
				s.Fail(s.Field, "subagent", "n or s: a subagent within a subagent is not read")
			default:
				s.Fail(s.Field, string(text), "n, s or subagent")
			}
		case "model":
			s.Field = "model"
			seen.add(s, keyModel, s.Field)
			if text := s.Text(); string(text) != p.model {
				p.model = string(text)
			}
			r.model = p.model
		case "in":
			s.Field = "in"
			seen.add(s, keyIn, s.Field)
			r.in = wholeNumber(s, 0)
		case "out":
			s.Field = "out"
			seen.add(s, keyOut, s.Field)
			r.out = wholeNumber(s, 0)
		case "hash_ids":
			s.Field = "hash_ids"
			seen.add(s, keyHashIDs, s.Field)
			p.hashIDs(r)
		case "api_time":
			s.Field = "api_time"
			seen.add(s, keyAPITime, s.Field)
			r.api = nanoseconds(s)
		case "think_time":
			s.Field = "think_time"
			seen.add(s, keyThinkTime, s.Field)
			r.think = nanoseconds(s)
		case "ttft":
			s.Field = "ttft"
			seen.add(s, keyTTFT, s.Field)
			r.ttft = nanoseconds(s)
		default:
			name := string(key)
			if a == nil || !p.agentMember(seen, a, name) {
				p.other(seen, name)
			}
		}
	}
	return kind
}

// agentMember reads the value of a key that only subagents have.
func (p *wekaParser) agentMember(seen *keys, a *wekaAgent, name string) bool {
	s := &p.s
	s.Field = name
	switch name {
	case "agent_id":
		seen.add(s, keyAgentID, name)
		if a.id = s.Str(); a.id == "" {
			s.Fail(name, "", "a name")
		}
	case "subagent_type":
		seen.add(s, keyAgentType, name)
		a.class = s.Str()
	case "status":
		seen.add(s, keyStatus, name)
		a.status = s.Str()
	case "duration_ms":
		seen.add(s, keyDuration, name)
		if !s.Null() {
			ms := wholeNumber(s, 0)
			if ms > maxSpan/1_000_000 {
				s.Fail(name, strconv.FormatInt(ms, 10), "at most 50 years")
			}
			a.duration = formats.Some(ms * 1_000_000)
		}
	case "requests":
		seen.add(s, keyRequests, name)
		p.inner(a)
	default:
		return p.leading(seen, name, &a.system)
	}
	return true
}

// inner reads the requests of a subagent.
func (p *wekaParser) inner(a *wekaAgent) {
	s := &p.s
	n := 0
	for ok := s.Open('['); ok; ok = s.More('[') {
		r := wekaRequest{at: n, ids: -1}
		var seen keys
		p.members(&seen, &r, nil)
		p.required(seen, keyT, keyType, keyIn, keyOut)
		if s.Err != nil {
			s.Err = &jsonl.Fault{What: "requests[" + strconv.Itoa(n) + "]." + s.Err.What, Got: s.Err.Got, Want: s.Err.Want}
			return
		}
		p.trace.requests = append(p.trace.requests, r)
		n++
	}
}

// hashIDs reads the block ids as runs.
func (p *wekaParser) hashIDs(r *wekaRequest) {
	s, t := &p.s, p.trace
	if s.Null() {
		return
	}
	r.ids, r.from = 0, len(t.runs)
	last, run := int64(-2), schedule.Run{}
	for ok := s.Open('['); ok; ok = s.More('[') {
		id := wholeNumber(s, 0)
		if id == last+1 {
			run[1]++
		} else {
			if run[1] > 0 {
				t.runs = append(t.runs, run)
			}
			run = schedule.Run{id, 1}
		}
		last = id
		r.ids++
	}
	if run[1] > 0 {
		t.runs = append(t.runs, run)
	}
	r.to = len(t.runs)
}
