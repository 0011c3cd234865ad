package endpoint

import (
	"bytes"

	"hydrant/cmd/replay/internal/prompt"
	"hydrant/formats"
)

// History is what a delta session has said and heard so far, kept as it was sent. The
// zero value is a session that has not begun. One goroutine owns it.
type History struct {
	sent []byte // messages, or the inside of a prompt string
	turn []byte // what the last body added
	chat bool
}

// Started reports whether the session has a turn with an answer.
func (h *History) Started() bool { return len(h.sent) > 0 }

// Answered ends the turn of the body built last with the server's answer to it, so that
// the next body begins with both. An empty answer is refused: it must not be fed back.
func (h *History) Answered(reply []byte) error {
	if len(reply) == 0 {
		return &formats.SyntaxError{Place: "history", What: "reply", Want: "an answer that is not empty"}
	}
	if !h.chat {
		h.sent = quote(append(h.sent, h.turn...), reply)
		return nil
	}
	h.sent = append(h.sent, h.turn...)
	h.sent = append(h.sent, `,{"role":"assistant","content":"`...)
	h.sent = append(quote(h.sent, reply), `"}`...)
	return nil
}

// What stands around the texts of messages, in lists that hold no more.
var (
	openUser     = []byte(`[{"role":"user","content":"`)
	closeUser    = []byte(`"}]`)
	openSystem   = []byte(`[{"role":"system","content":"`)
	systemToUser = []byte(`"},{"role":"user","content":"`)

	openList, closeList, quoteMark = []byte("["), []byte("]"), []byte(`"`)
)

// userMessage puts a prompt into the one user message of a chat body, what begins it and
// belongs to the system into a message before that. The space between the two is no text of
// either: a word is one token at the start of a text as well.
func userMessage(f *fields, in *Input, _ prompt.Kind, text []byte) error {
	if n := in.System; n > 0 && in.History == nil {
		f.set("messages", openSystem, text[:n], systemToUser, bytes.TrimPrefix(text[n:], []byte(" ")), closeUser)
		return nil
	}
	if in.History == nil {
		f.set("messages", openUser, text, closeUser)
		return nil
	}
	const before, after = `{"role":"user","content":"`, `"}`
	turn := make([]byte, 0, len(before)+len(text)+len(after))
	turn = append(append(append(turn, before...), text...), after...)
	return threadMessages(f, in.History, turn)
}

// literalMessage puts a literal prompt into a user message.
func literalMessage(f *fields, in *Input, value []byte) error {
	text, err := stringInside(value)
	if err != nil {
		return err
	}
	return userMessage(f, in, prompt.Text, text)
}

// literalMessages takes a literal list of messages: all of them, or in a delta session
// the new ones.
func literalMessages(f *fields, in *Input, value []byte) error {
	inside := bytes.TrimSpace(value)
	if len(inside) < 2 || inside[0] != '[' {
		return &formats.SyntaxError{Place: "body", What: "messages", Got: clip(string(value)), Want: "a list"}
	}
	if in.History == nil {
		f.set("messages", value)
		return nil
	}
	inside = bytes.TrimSpace(inside[1 : len(inside)-1])
	if len(inside) == 0 {
		return &formats.SyntaxError{Place: "body", What: "messages", Got: "[]", Want: "at least one message"}
	}
	return threadMessages(f, in.History, inside)
}

// threadMessages puts the history in front of the messages of this turn.
func threadMessages(f *fields, h *History, turn []byte) error {
	h.chat = true
	h.turn = h.turn[:0]
	if h.Started() {
		h.turn = append(h.turn, ',')
	}
	h.turn = append(h.turn, turn...)
	f.set("messages", openList, h.sent, h.turn, closeList)
	return nil
}

// promptField puts a prompt into a completions body: a string, or a list of token ids.
func promptField(f *fields, in *Input, kind prompt.Kind, text []byte) error {
	if kind == prompt.Tokens {
		if in.History != nil {
			return &formats.SyntaxError{Place: "endpoint completions", What: "history", Got: "token ids", Want: "text",
				Help: "a delta session answers with text; use --prompt text"}
		}
		f.set("prompt", openList, text, closeList)
		return nil
	}
	if in.History == nil {
		f.set("prompt", quoteMark, text, quoteMark)
		return nil
	}
	h := in.History
	h.chat = false
	h.turn = h.turn[:0]
	if h.Started() { // words are one token behind a space
		h.turn = append(h.turn, ' ')
	}
	h.turn = append(h.turn, text...)
	f.set("prompt", quoteMark, h.sent, h.turn, quoteMark)
	return nil
}

// literalPrompt takes a literal prompt as it is, in a delta session its text.
func literalPrompt(f *fields, in *Input, value []byte) error {
	if in.History == nil {
		f.set("prompt", value)
		return nil
	}
	text, err := stringInside(value)
	if err != nil {
		return err
	}
	return promptField(f, in, prompt.Text, text)
}

// stringInside returns what stands between the quotes of a JSON string.
func stringInside(value []byte) ([]byte, error) {
	if value = bytes.TrimSpace(value); len(value) < 2 || value[0] != '"' {
		return nil, &formats.SyntaxError{Place: "body", What: "prompt", Got: clip(string(value)), Want: "a string"}
	}
	return value[1 : len(value)-1], nil
}
