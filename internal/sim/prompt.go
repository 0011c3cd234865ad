package sim

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
)

// ask is what the server understood of a request body.
type ask struct {
	id         string // x-request-id, or one made up
	chat       bool
	stream     bool
	usage      bool // stream_options.include_usage
	continuous bool // stream_options.continuous_usage_stats
	model      string
	limit      int // max_tokens or max_completion_tokens, −1 when not given
	least      int // min_tokens
	ignoreEOS  bool
	tokens     int // prompt tokens, those of the template included
	blocks     []uint64
}

// body is the part of an OpenAI request the server looks at.
type body struct {
	Model    string          `json:"model"`
	Prompt   json.RawMessage `json:"prompt"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream        bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
		Continuous   bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
	MinTokens           int  `json:"min_tokens"`
	IgnoreEOS           bool `json:"ignore_eos"`
	N                   *int `json:"n"`
}

// refusal is a request the server answers with an error status.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func bad(format string, a ...any) error { return &refusal{400, fmt.Sprintf(format, a...)} }

// parseAsk reads a request body. The blocks are hashed with seed, which two
// prompts must share to be comparable.
func (s *Spec) parseAsk(raw []byte, chat bool, seed maphash.Seed) (*ask, error) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, bad("the body is not a JSON request: %v", err)
	}
	if b.Model != "" && b.Model != s.Model {
		return nil, &refusal{404, fmt.Sprintf("the model %q does not exist, this server has %q", b.Model, s.Model)}
	}
	if b.N != nil && *b.N != 1 {
		return nil, bad("n: got %d, want 1", *b.N)
	}
	a := &ask{chat: chat, stream: b.Stream, model: b.Model, limit: -1, least: b.MinTokens, ignoreEOS: b.IgnoreEOS}
	if b.MaxTokens != nil {
		a.limit = *b.MaxTokens
	}
	if b.MaxCompletionTokens != nil {
		a.limit = *b.MaxCompletionTokens
	}
	if b.MaxTokens != nil && a.limit < 0 || b.MaxCompletionTokens != nil && a.limit < 0 {
		return nil, bad("max_tokens: got %d, want 0 or more", a.limit)
	}
	if a.least < 0 || a.limit >= 0 && a.least > a.limit {
		return nil, bad("min_tokens: got %d, want 0 to max_tokens", a.least)
	}
	if b.StreamOptions != nil {
		if !b.Stream {
			return nil, bad("stream_options: allowed only with stream")
		}
		a.usage, a.continuous = b.StreamOptions.IncludeUsage, b.StreamOptions.Continuous
	}
	c := &chain{seed: seed, size: s.Block, off: s.Cache == 0}
	switch {
	case chat && len(b.Messages) == 0:
		return nil, bad("messages: got none, want at least one")
	case chat:
		for i := 0; i < s.Template; i++ {
			c.token([]byte("<template>"))
		}
		for i := range b.Messages {
			m := &b.Messages[i]
			c.mark(m.Role)
			if err := c.content(m.Content); err != nil {
				return nil, bad("messages[%d].content: %v", i, err)
			}
		}
	case len(b.Prompt) == 0:
		return nil, bad("prompt: missing")
	default:
		if err := c.prompt(b.Prompt); err != nil {
			return nil, bad("prompt: %v", err)
		}
	}
	a.tokens, a.blocks = c.tokens, c.blocks
	return a, nil
}

// chain counts tokens and hashes every full block of them together with all
// before it.
type chain struct {
	seed   maphash.Seed
	size   int  // tokens per block
	off    bool // count only
	tokens int
	blocks []uint64
	state  uint64
	hash   maphash.Hash
	begun  bool
}

// token adds one token by its bytes.
func (c *chain) token(b []byte) {
	c.tokens++
	if c.off {
		return
	}
	if !c.begun {
		c.begin()
	}
	c.hash.Write(b)
	c.hash.WriteByte(0) // "a" "bc" is not "ab" "c"
	if c.tokens%c.size == 0 {
		c.state = c.hash.Sum64()
		c.blocks = append(c.blocks, c.state)
		c.begin()
	}
}

func (c *chain) begin() {
	c.hash.SetSeed(c.seed)
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], c.state)
	c.hash.Write(n[:])
	c.begun = true
}

// mark makes what follows differ by a message role without adding a token.
func (c *chain) mark(role string) {
	if c.off {
		return
	}
	if !c.begun {
		c.begin()
	}
	c.hash.WriteByte(1)
	c.hash.WriteString(role)
	c.hash.WriteByte(1)
}

// words adds the words of a text: what lies between blanks.
func (c *chain) words(t []byte) {
	for len(t) > 0 {
		n := 0
		for n < len(t) && t[n] > ' ' {
			n++
		}
		if n > 0 {
			c.token(t[:n])
		}
		for n < len(t) && t[n] <= ' ' {
			n++
		}
		t = t[n:]
	}
}

// prompt adds a completions prompt: one text, or one list of token ids.
func (c *chain) prompt(raw json.RawMessage) error {
	if raw[0] == '"' {
		return c.text(raw)
	}
	if raw[0] != '[' {
		return fmt.Errorf("want a text or a list of token ids")
	}
	if rest := bytes.TrimLeft(raw[1:], " \t\r\n"); len(rest) > 0 && (rest[0] == '"' || rest[0] == '[') {
		var many []json.RawMessage
		if err := json.Unmarshal(raw, &many); err != nil {
			return err
		}
		if len(many) != 1 {
			return fmt.Errorf("got %d prompts, want 1", len(many))
		}
		return c.prompt(many[0])
	}
	return c.ids(raw)
}

// ids adds a JSON list of whole numbers, already known to be valid JSON.
func (c *chain) ids(raw []byte) error {
	var n [8]byte
	for i := 1; i < len(raw); {
		switch b := raw[i]; {
		case b >= '0' && b <= '9':
			v := uint64(0)
			for ; i < len(raw) && raw[i] >= '0' && raw[i] <= '9'; i++ {
				if v > 1<<40 {
					return fmt.Errorf("a token id is too large")
				}
				v = v*10 + uint64(raw[i]-'0')
			}
			binary.LittleEndian.PutUint64(n[:], v)
			c.token(n[:])
		case b == ',' || b == ']' || b <= ' ':
			i++
		default:
			return fmt.Errorf("want whole numbers in the list of token ids")
		}
	}
	return nil
}

func (c *chain) text(raw json.RawMessage) error {
	var t string
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	c.words([]byte(t))
	return nil
}

// content adds a message's content: a text, null, or a list of text parts.
func (c *chain) content(raw json.RawMessage) error {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case raw[0] == '"':
		return c.text(raw)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("want a text or a list of text parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("got a part of type %q, want text", p.Type)
		}
		c.words([]byte(p.Text))
	}
	return nil
}

// length is how many tokens the answer will have, and why it ends.
func (s *Spec) length(a *ask) (tokens int, reason string) {
	limit := a.limit
	if limit < 0 {
		limit = s.Output
	}
	if s.EOS.IsZero() || a.ignoreEOS {
		return limit, "length"
	}
	x := s.EOS.Draw(source(s.Seed, "eos", a.id))
	eos := 1
	if x > 1 {
		eos = int(min(x, 1<<30))
		if float64(eos) < x {
			eos++
		}
	}
	if eos = max(eos, a.least); eos < limit {
		return eos, "stop"
	}
	return limit, "length"
}
