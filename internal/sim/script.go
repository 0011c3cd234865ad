package sim

import (
	"bytes"
	"net/http"
)

// act is what happens to the connection after a piece has been written.
type act int

const (
	goOn  act = iota
	ended     // the response is whole
	shut      // close without a word
	reset     // close with RST
)

// phase is the place in the order of pieces of a response.
type phase int

const (
	atHead phase = iota
	atRole
	atTokens
	atMiddle // the fault's piece, between two token events
	atRest
	atTail
	atEnd
)

// script makes the pieces of one response, one after the other. Everything is a
// function of the request, so a slow reader costs no memory: what it has not
// taken yet is made when it can be written.
type script struct {
	spec    *Spec
	ask     *ask
	fault   string // kind, "" for none
	bytes   int64  // of a flood, still to be sent
	out     sink
	chunked bool // HTTP chunks around each event
	created int64
	reason  string // finish reason
	cached  int    // known once admitted

	output  int // tokens of the whole answer
	events  int // token events of the whole answer
	thought int // token events on the reasoning channel
	middle  int // token events before the fault's place

	at   phase
	sent int // token events made so far

	full    []byte // a token event of full size, ready but for its numbers
	kind    bool   // full is for the reasoning channel
	digits  int    // where the first number stands in full
	scratch []byte
}

const wordSize = len(" t0000") // one token of text

func (c *script) setup() {
	k := c.spec.TokensPerEvent
	c.events = (c.output + k - 1) / k
	if c.ask.chat {
		c.thought = min(c.events, (c.spec.Reasoning+k-1)/k)
	}
	c.middle = (c.events + 1) / 2
}

// inMiddle reports whether the fault puts something between two token events.
func (c *script) inMiddle() bool { return c.fault == "garbage" || c.stops() }

// stops reports whether the fault ends the answer in its middle.
func (c *script) stops() bool {
	switch c.fault {
	case "error_mid", "cut", "cut_event", "reset_mid", "flood":
		return true
	}
	return false
}

// tokensMade is how many tokens the model makes before the fault stops it.
func (c *script) tokensMade() int {
	if c.ask.stream && c.stops() {
		return min(c.output, c.middle*c.spec.TokensPerEvent)
	}
	return c.output
}

// allowed is what the model and the faults have released so far.
type allowed struct {
	head, role, tail bool
	tokens           int // token events
}

// next appends the next piece to dst if it has been released. ok is false when
// nothing more may be sent now.
func (c *script) next(dst []byte, a *allowed) (_ []byte, do act, ok bool) {
	switch c.at {
	case atHead:
		if !a.head {
			return dst, goOn, false
		}
		switch {
		case c.fault == "reset":
			c.at = atEnd
			return dst, reset, true
		case !c.ask.stream:
			if !a.tail {
				return dst, goOn, false
			}
			c.at = atEnd
			dst, do = c.whole(dst)
			return dst, do, true
		}
		c.at = atRole
		return c.out.head(dst, http.StatusOK, "text/event-stream; charset=utf-8", -1), goOn, true
	case atRole:
		switch c.fault {
		case "empty":
			c.at = atEnd
			return c.end(dst), ended, true
		case "error_first":
			c.at = atEnd
			return c.end(c.event(c.event(dst, errorObject("injected error before the first token", 500)), []byte("[DONE]"))), ended, true
		}
		c.at = atTokens
		if c.ask.chat && c.spec.RoleEvent {
			if !a.role {
				c.at = atRole
				return dst, goOn, false
			}
			return c.event(dst, c.data(func(b []byte) []byte { return append(b, `"delta":{"role":"assistant","content":""}`...) }, "")), goOn, true
		}
		return c.next(dst, a)
	case atTokens:
		if c.inMiddle() && c.sent == c.middle && (c.events > 0 || a.tail) {
			c.at = atMiddle
			return c.next(dst, a)
		}
		return c.tokens(dst, a)
	case atMiddle:
		return c.misfortune(dst)
	case atRest:
		return c.tokens(dst, a)
	case atTail:
		if !a.tail {
			return dst, goOn, false
		}
		c.at = atEnd
		return c.tail(dst), ended, true
	}
	return dst, goOn, false
}

// tokens is the next token event, or the step to the tail.
func (c *script) tokens(dst []byte, a *allowed) ([]byte, act, bool) {
	if c.sent == c.events {
		c.at = atTail
		return c.next(dst, a)
	}
	if c.sent >= a.tokens {
		return dst, goOn, false
	}
	dst = c.token(dst)
	c.sent++
	return dst, goOn, true
}

// misfortune is what the fault puts in the middle of a stream.
func (c *script) misfortune(dst []byte) ([]byte, act, bool) {
	c.at = atEnd
	switch c.fault {
	case "error_mid":
		return c.end(c.event(c.event(dst, errorObject("injected error in the middle", 500)), []byte("[DONE]"))), ended, true
	case "garbage":
		c.at = atRest
		return c.event(dst, []byte(`{"id":"garbage", not json`)), goOn, true
	case "cut":
		return dst, shut, true
	case "cut_event":
		n := len(dst)
		dst = c.token(dst)
		return dst[:n+(len(dst)-n)/2], shut, true
	case "reset_mid":
		return dst, reset, true
	case "flood":
		n := min(c.bytes, 64<<10)
		c.bytes -= n
		if n > 0 {
			c.at = atMiddle
			return c.chunk(dst, bytes.Repeat([]byte{'x'}, int(n))), goOn, true
		}
		return dst, shut, true
	}
	panic("internal error: no middle for fault " + c.fault)
}

// tail is finish reason, usage, [DONE] and the end of the body, due together.
func (c *script) tail(dst []byte) []byte {
	if c.fault == "no_done" {
		return c.end(dst)
	}
	empty := `"text":""`
	if c.ask.chat {
		empty = `"delta":{}`
	}
	dst = c.event(dst, c.data(func(b []byte) []byte { return append(b, empty...) }, c.reason))
	if c.spec.Usage != "none" && (c.ask.usage || c.spec.Usage == "chunks") {
		b := c.open(c.scratch[:0])
		b = append(b, `"choices":[],`...)
		b = append(c.usage(b, c.output), '}')
		c.scratch = b
		dst = c.event(dst, b)
	}
	dst = c.event(dst, []byte("[DONE]"))
	if c.fault == "after_done" {
		c.sent = max(0, c.sent-1)
		if c.output > 0 {
			dst = c.token(dst)
		}
	}
	return c.end(dst)
}

// whole is the answer to a request that does not stream.
func (c *script) whole(dst []byte) ([]byte, act) {
	const json = "application/json"
	b := c.open(nil)
	b = append(b, `"choices":[{"index":0,`...)
	if c.ask.chat {
		thought := min(c.output, c.thought*c.spec.TokensPerEvent)
		b = append(b, `"message":{"role":"assistant",`...)
		if thought > 0 {
			b = append(words(append(b, `"reasoning_content":"`...), 0, thought), `",`...)
		}
		b = append(words(append(b, `"content":"`...), thought, c.output-thought), `"}`...)
	} else {
		b = append(words(append(b, `"text":"`...), 0, c.output), '"')
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	b = append(appendJSON(b, c.reason), "}]"...)
	if c.spec.Usage != "none" {
		b = c.usage(append(b, ','), c.output)
	}
	b = append(b, '}')
	do := ended
	switch c.fault {
	case "empty":
		b = nil
	case "error_first", "error_mid":
		b = errorObject("injected error", 500)
	case "garbage", "after_done":
		b = append(b, " not json"...)
	case "cut", "cut_event", "no_done", "flood":
		return append(c.out.head(dst, http.StatusOK, json, len(b)), b[:len(b)/2]...), shut
	case "reset_mid":
		return append(c.out.head(dst, http.StatusOK, json, len(b)), b[:len(b)/2]...), reset
	}
	return append(c.out.head(dst, http.StatusOK, json, len(b)), b...), do
}
