// Package endpoint knows the dialects of inference servers: where a request
// goes, how its body is written and what an event of the answer means.
//
// Lookup finds an endpoint in the one table, Endpoint.Bodies gives the builder of
// request bodies for a run, and Endpoint.Read classifies one event. Nothing here
// opens a connection or reads a clock.
package endpoint

import (
	"slices"
	"strings"

	"hydrant/cmd/replay/internal/prompt"
	"hydrant/formats"
)

// An Endpoint is one row of the table. It is immutable and safe for concurrent use.
type Endpoint struct {
	Name    string
	Path    string        // behind the target's URL
	Prompts []prompt.Kind // the kinds of prompt a body can carry

	content  func(f *fields, in *Input, kind prompt.Kind, text []byte) error // a synthesised prompt
	literal  func(f *fields, in *Input, value []byte) error                  // the value of a literal prompt
	messages func(f *fields, in *Input, value []byte) error                  // literal messages; nil: no place for them
	read     func(s *scanner, ev *Event)                                     // one event or answer
}

// table lists the endpoints. There is no registration: a new dialect is a new row.
var table = [...]Endpoint{
	{
		Name: "chat", Path: "/v1/chat/completions", Prompts: []prompt.Kind{prompt.Text},
		content: userMessage, literal: literalMessage, messages: literalMessages, read: openAI,
	},
	{
		Name: "completions", Path: "/v1/completions", Prompts: []prompt.Kind{prompt.Text, prompt.Tokens},
		content: promptField, literal: literalPrompt, read: openAI,
	},
}

// Lookup returns the endpoint of that name.
func Lookup(name string) (*Endpoint, error) {
	for i := range table {
		if table[i].Name == name {
			return &table[i], nil
		}
	}
	return nil, &formats.SyntaxError{Place: "--endpoint", What: "name", Got: name, Want: strings.Join(Names(), " or ")}
}

// Names lists the endpoints in the order of the table.
func Names() []string {
	names := make([]string, 0, len(table))
	for _, e := range table {
		names = append(names, e.Name)
	}
	return names
}

// Accepts reports whether a body can carry a prompt of that kind.
func (e *Endpoint) Accepts(k prompt.Kind) bool { return slices.Contains(e.Prompts, k) }
