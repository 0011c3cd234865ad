package sim

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// open begins a JSON event: what all events of the answer share.
func (c *script) open(b []byte) []byte {
	kind, object := "cmpl-", "text_completion"
	if c.ask.chat {
		kind, object = "chatcmpl-", "chat.completion"
		if c.ask.stream {
			object = "chat.completion.chunk"
		}
	}
	b = append(b, `{"id":`...)
	b = appendJSON(b, kind+c.ask.id)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, c.created, 10)
	b = append(b, `,"model":`...)
	b = appendJSON(b, c.spec.Model)
	return append(b, ',')
}

// data is one JSON event with one choice. It is valid until the next call.
func (c *script) data(fill func([]byte) []byte, reason string) []byte {
	b := c.open(c.scratch[:0])
	b = append(b, `"choices":[{"index":0,`...)
	b = fill(b)
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	if reason == "" {
		b = append(b, "null"...)
	} else {
		b = appendJSON(b, reason)
	}
	b = append(b, "}]"...)
	if c.perChunk() {
		b = append(b, ',')
		b = c.usage(b, min(c.output, c.sent*c.spec.TokensPerEvent))
	}
	b = append(b, '}')
	c.scratch = b
	return b
}

func (c *script) perChunk() bool {
	return c.spec.Usage == "chunks" || c.spec.Usage == "final" && c.ask.usage && c.ask.continuous
}

// usage appends the usage member after tokens of the answer have been made.
func (c *script) usage(b []byte, tokens int) []byte {
	b = append(b, `"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(c.prompt()), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(tokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(c.prompt()+tokens), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(c.cached), 10)
	b = append(b, '}')
	if c.ask.chat {
		b = append(b, `,"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, int64(min(tokens, c.thought*c.spec.TokensPerEvent)), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

func (c *script) prompt() int { return c.ask.tokens }

// token appends the token event number c.sent.
func (c *script) token(dst []byte) []byte {
	k := c.spec.TokensPerEvent
	first := c.sent * k
	n := min(k, c.output-first)
	thinking := c.sent < c.thought
	if n == k && !c.perChunk() {
		if c.full == nil || c.kind != thinking {
			c.prepare(thinking)
		}
		at := len(dst)
		dst = append(dst, c.full...)
		for i := range k {
			putDigits(dst[at+c.digits+i*wordSize:], first+i)
		}
		return dst
	}
	c.sent++ // usage counts this event
	data := c.data(func(b []byte) []byte { return c.textOf(b, first, n, thinking) }, "")
	c.sent--
	return c.event(dst, data)
}

// prepare builds the event that all others are copied from.
func (c *script) prepare(thinking bool) {
	k := c.spec.TokensPerEvent
	c.kind = thinking
	c.full = c.event(c.full[:0], c.data(func(b []byte) []byte { return c.textOf(b, 0, k, thinking) }, ""))
	for i := 0; i+wordSize <= len(c.full); i++ {
		if string(c.full[i:i+wordSize]) == " t0000" {
			c.digits = i + 2
			return
		}
	}
}

// textOf appends the member that holds n tokens of text from number first on.
func (c *script) textOf(b []byte, first, n int, thinking bool) []byte {
	switch {
	case !c.ask.chat:
		b = append(b, `"text":"`...)
	case thinking:
		b = append(b, `"delta":{"reasoning_content":"`...)
	default:
		b = append(b, `"delta":{"content":"`...)
	}
	b = words(b, first, n)
	b = append(b, '"')
	if c.ask.chat {
		b = append(b, '}')
	}
	return b
}

// words appends n tokens: one word each, numbered modulo 10,000, so that a lost or
// doubled event can be seen in the text.
func words(b []byte, first, n int) []byte {
	for i := range n {
		b = append(b, " t0000"...)
		putDigits(b[len(b)-4:], first+i)
	}
	return b
}

func putDigits(b []byte, n int) {
	for i := 3; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
}

// event appends one server-sent event with its line ends and HTTP chunk.
func (c *script) event(dst, data []byte) []byte {
	eol := "\n"
	switch c.spec.EOL {
	case "crlf":
		eol = "\r\n"
	case "cr":
		eol = "\r"
	}
	if c.chunked {
		dst = strconv.AppendInt(dst, int64(len("data: ")+len(data)+2*len(eol)), 16)
		dst = append(dst, "\r\n"...)
	}
	dst = append(dst, "data: "...)
	dst = append(dst, data...)
	dst = append(dst, eol...)
	dst = append(dst, eol...)
	if c.chunked {
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// chunk appends raw bytes of the body.
func (c *script) chunk(dst, raw []byte) []byte {
	if !c.chunked {
		return append(dst, raw...)
	}
	dst = strconv.AppendInt(dst, int64(len(raw)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, raw...)
	return append(dst, "\r\n"...)
}

// end closes the body.
func (c *script) end(dst []byte) []byte {
	if c.chunked {
		return append(dst, "0\r\n\r\n"...)
	}
	return dst
}

func errorObject(text string, code int) []byte {
	b := append([]byte(nil), `{"error":{"message":`...)
	b = appendJSON(b, text)
	b = append(b, `,"type":`...)
	b = appendJSON(b, http.StatusText(code))
	b = append(b, `,"param":null,"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	return append(b, "}}"...)
}

func appendJSON(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string always marshals
	return append(b, q...)
}
