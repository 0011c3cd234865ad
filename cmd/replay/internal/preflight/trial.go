package preflight

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/cmd/replay/internal/prompt"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// The trial is one short request, and a longer one that shows how the server counts. Their
// ids are negative: no plan has such an id.
const (
	trialInput  = 8
	trialLonger = trialInput + 256
	trialOutput = 4
	trials      = 3 // a server that fails now and then is no reason not to measure it
)

// defaultTrial bounds the trial when the run has no limit; a server may have to load
// its model first.
const defaultTrial = 2 * time.Minute

// try sends trial requests as the run will send its own. counts is nil when the server
// does not say how many tokens they had.
func try(ctx context.Context, o Options, base, model string, listed []string, f *Findings) (counts *promptCounts, err error) {
	e, err := endpoint.Lookup(o.Endpoint)
	if err != nil {
		return nil, err
	}
	limit := o.Timeout
	if limit <= 0 || limit > defaultTrial {
		limit = defaultTrial
	}
	clk := clock.New(clock.Epoch())
	trust, err := wire.Trust(o.CA)
	if err != nil {
		return nil, err
	}
	engine := wire.NewHTTP(wire.Options{Clock: clk, ConnectTimeout: o.Connect, TotalTimeout: limit, TLS: trust, HTTP2: o.HTTP2, Proxy: o.Proxy,
		Secrets: wire.Secrets(o.Header)})
	defer engine.Close()
	id := int64(0)
	send := func(tokens int64) (row run.Request, err error) {
		id--
		body, stream, err := trialBody(e, o, model, tokens)
		if err != nil {
			return row, err
		}
		row.RequestID = id
		wire.Do(ctx, engine, clk, &wire.Prepared{Kind: &wire.Kind{URL: base + e.Path, Header: o.Header, Endpoint: e, Stream: stream}, ID: id, Body: body}, &row)
		if ctx.Err() != nil {
			return row, context.Cause(ctx)
		}
		return row, nil
	}
	var row run.Request
	for range trials {
		if row, err = send(trialInput); err != nil {
			return nil, err
		}
		if row.Outcome == run.OK || clientsFault(row.HTTPStatus.V) {
			break
		}
	}
	if err := judge(o, base, model, listed, &row, f); err != nil || !row.InputTokens.Valid {
		return nil, err
	}
	longer, err := send(trialLonger)
	if err != nil || longer.Outcome != run.OK || !longer.InputTokens.Valid {
		return nil, err
	}
	return f.counts(o, base, row.InputTokens.V, longer.InputTokens.V), nil
}

func clientsFault(status int64) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

// trialBody builds a request of that many prompt tokens.
func trialBody(e *endpoint.Endpoint, o Options, model string, tokens int64) ([]byte, bool, error) {
	list := prompt.Words()
	if prompt.Kind(o.Prompt) == prompt.Tokens {
		var err error
		if list, err = prompt.TokenRange(prompt.FirstToken, prompt.LastToken); err != nil {
			return nil, false, err
		}
	}
	bodies, err := e.Bodies(endpoint.Options{Model: model, Stream: o.Stream, IgnoreEOS: o.Pin, MinTokens: o.Pin})
	if err != nil {
		return nil, false, err
	}
	r := schedule.Request{Session: "preflight", Stream: "0", Turn: tokens, Context: schedule.Whole, InputTokens: formats.Some(tokens)}
	text, _, err := prompt.NewBuilder(prompt.Source{List: list}).Build(nil, &r, nil, nil)
	if err != nil {
		return nil, false, err
	}
	return bodies.Build(nil, &endpoint.Input{OutputTokens: formats.Some(trialOutput), Kind: list.Kind(), Prompt: text})
}

// judge says what the trial's row means for the run.
func judge(o Options, base, model string, listed []string, row *run.Request, f *Findings) error {
	place := Redact(base)
	said := ""
	if row.Error != "" {
		said = ": " + row.Error
	}
	status := row.HTTPStatus.V
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return refused(base, int(status))
	case row.Outcome == run.HTTPError && status == http.StatusNotFound:
		hint := "look at --url, --endpoint and --model"
		if len(listed) > 0 {
			hint = "the server lists these models: " + wire.Redact(strings.Join(listed, ", "), wire.Secrets(o.Header))
		}
		return cli.WithHint(fmt.Errorf("%s: trial request for model %q: status 404%s", place, model, said), hint)
	case row.Outcome == run.HTTPError && clientsFault(status) && o.Pin:
		return cli.WithHint(fmt.Errorf("%s: trial request: status %d%s", place, status, said),
			"a server that does not know ignore_eos and min_tokens takes --pin-output off")
	case row.Outcome == run.Malformed && o.Stream:
		return cli.WithHint(fmt.Errorf("%s: trial request: %s%s", place, row.Outcome, said),
			"a server that does not stream takes --stream off; --preflight off starts the load all the same")
	case row.Outcome != run.OK:
		return cli.WithHint(fmt.Errorf("%s: trial request: %s%s", place, row.Outcome, said), "--preflight off starts the load all the same")
	case o.Stream && row.TokenEvents.V < 2 && row.OutputTokens.V >= 2:
		f.warn("%s: %d tokens came in %d event: the server, or a proxy before it, does not stream token by token", place, row.OutputTokens.V, row.TokenEvents.V)
	}
	switch {
	case !row.InputTokens.Valid:
		f.warn("%s: the server reports no usage: output tokens are counted by events, input and cached tokens are not known", place)
	case o.Pin && row.OutputTokens.V != trialOutput:
		f.warn("%s: asked for exactly %d tokens, got %d: output lengths will not be those of the plan", place, trialOutput, row.OutputTokens.V)
	}
	return nil
}
