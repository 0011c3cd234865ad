package endpoint

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/prompt"
	"hydrant/formats"
	"hydrant/formats/schedule"
)

var bodyCases = []struct {
	name, endpoint string
	o              Options
	in             Input
	want           string
}{
	{"chat", "chat", Options{Model: "m", Stream: true}, Input{Kind: prompt.Text, Prompt: []byte("a b"), OutputTokens: formats.Some(5)},
		`{"model":"m","messages":[{"role":"user","content":"a b"}],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`},
	{"completions", "completions", Options{Model: "m", Stream: true}, Input{Kind: prompt.Text, Prompt: []byte("a b"), OutputTokens: formats.Some(5)},
		`{"model":"m","prompt":"a b","max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`},
	{"a system message", "chat", Options{Model: "m"}, Input{Kind: prompt.Text, Prompt: []byte("a b c"), System: 3},
		`{"model":"m","messages":[{"role":"system","content":"a b"},{"role":"user","content":"c"}],"stream":false}`},
	{"nothing but a system message", "chat", Options{Model: "m"}, Input{Kind: prompt.Text, Prompt: []byte("a b"), System: 3},
		`{"model":"m","messages":[{"role":"system","content":"a b"},{"role":"user","content":""}],"stream":false}`},
	{"no place for one", "completions", Options{Model: "m"}, Input{Kind: prompt.Text, Prompt: []byte("a b c"), System: 3},
		`{"model":"m","prompt":"a b c","stream":false}`},
	{"token ids", "completions", Options{Model: "m", Stream: true}, Input{Kind: prompt.Tokens, Prompt: []byte("5,6"), OutputTokens: formats.Some(5)},
		`{"model":"m","prompt":[5,6],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`},
	{"no output tokens", "chat", Options{Model: "m"}, Input{Kind: prompt.Text, Prompt: []byte("a"), OutputTokens: formats.Some(0)},
		`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":1,"stream":false}`},
	{"unknown output tokens", "chat", Options{Model: "m", MinTokens: true}, Input{Kind: prompt.Text, Prompt: []byte("a")},
		`{"model":"m","messages":[{"role":"user","content":"a"}],"stream":false}`},
	{"pinned", "chat", Options{Model: "m", IgnoreEOS: true, MinTokens: true}, Input{Kind: prompt.Text, Prompt: []byte("a"), OutputTokens: formats.Some(9)},
		`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":9,"stream":false,"ignore_eos":true,"min_tokens":9}`},
	{"usage per chunk", "chat", Options{Model: "m", Stream: true, UsageEveryChunk: true}, Input{Kind: prompt.Text, OutputTokens: formats.Some(1)},
		`{"model":"m","messages":[{"role":"user","content":""}],"max_tokens":1,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`},
	{"model of the trace", "chat", Options{}, Input{Model: `t"m`, Kind: prompt.Text, Prompt: []byte("a")},
		`{"model":"t\"m","messages":[{"role":"user","content":"a"}],"stream":false}`},
	{"flag beats the trace's model", "chat", Options{Model: "m"}, Input{Model: "t", Kind: prompt.Text, Prompt: []byte("a")},
		`{"model":"m","messages":[{"role":"user","content":"a"}],"stream":false}`},
	{"extra", "chat", Options{Model: "m", Extra: json.RawMessage(`{"top_p":0.5,"max_tokens":7,"seed":1}`)},
		Input{Kind: prompt.Text, Prompt: []byte("a"), OutputTokens: formats.Some(5), Extra: json.RawMessage(` {"seed":2,"stream":false} `)},
		`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":7,"stream":false,"top_p":0.5,"seed":2}`},
	{"literal prompt", "completions", Options{Model: "m"}, Input{Body: json.RawMessage(`{"prompt":"say \"é\"\n"}`), OutputTokens: formats.Some(5)},
		`{"model":"m","prompt":"say \"é\"\n","max_tokens":5,"stream":false}`},
	{"literal prompt of token ids", "completions", Options{Model: "m"}, Input{Body: json.RawMessage(`{"prompt":[1,2]}`)},
		`{"model":"m","prompt":[1,2],"stream":false}`},
	{"literal prompt to chat", "chat", Options{Model: "m"}, Input{Body: json.RawMessage(`{"prompt":"say \"é\"\n"}`)},
		`{"model":"m","messages":[{"role":"user","content":"say \"é\"\n"}],"stream":false}`},
	{"messages", "chat", Options{Model: "m", Stream: true}, Input{Body: json.RawMessage(`{"messages":[{"role":"system","content":"s"}, {"role":"user","content":"u"}],"tools":[{"type":"function"}]}`), OutputTokens: formats.Some(5)},
		`{"model":"m","messages":[{"role":"system","content":"s"}, {"role":"user","content":"u"}],"tools":[{"type":"function"}],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`},
	{"payload", "chat", Options{Model: "m", Stream: false}, Input{Body: json.RawMessage(`{"messages":[],"model":"own","temperature":0}`), OutputTokens: formats.Some(5)},
		`{"messages":[],"model":"own","temperature":0}`},
	{"payload and extra", "completions", Options{Model: "m", Stream: true}, Input{Body: json.RawMessage(`{"messages":[],"stream":false}`), Extra: json.RawMessage(`{"stream":true,"n":1}`)},
		`{"messages":[],"stream":true,"n":1}`},
}

func lookup(t testing.TB, name string) *Endpoint {
	t.Helper()
	e, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBuild(t *testing.T) {
	for _, c := range bodyCases {
		t.Run(c.name, func(t *testing.T) {
			b, err := lookup(t, c.endpoint).Bodies(c.o)
			if err != nil {
				t.Fatal(err)
			}
			got, stream, err := b.Build([]byte("before"), &c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("before"+c.want, string(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			var asked struct{ Stream bool }
			if err := json.Unmarshal(got[len("before"):], &asked); err != nil {
				t.Fatal(err)
			}
			if stream != asked.Stream {
				t.Errorf("Build says stream %t; the body says %t", stream, asked.Stream)
			}
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	pinned := Options{Model: "m", IgnoreEOS: true, MinTokens: true}
	for _, c := range []struct {
		name, endpoint string
		o              Options
		in             Input
		want           string
	}{
		{"no model", "chat", Options{}, Input{Kind: prompt.Text}, "model"},
		{"token ids to chat", "chat", Options{Model: "m"}, Input{Kind: prompt.Tokens}, "prompt"},
		{"extra against the flag", "chat", Options{Model: "m", Stream: true}, Input{Kind: prompt.Text, Extra: json.RawMessage(`{"stream":false}`)}, "stream"},
		{"extra is no object", "chat", Options{Model: "m"}, Input{Kind: prompt.Text, Extra: json.RawMessage(`[]`)}, "JSON"},
		{"extra against the pinned length", "chat", pinned, Input{Kind: prompt.Text, OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"max_tokens":4096}`)}, "max_tokens"},
		{"extra against the pinned end", "chat", pinned, Input{Kind: prompt.Text, OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"ignore_eos":false}`)}, "ignore_eos"},
		{"extra against the least length", "completions", pinned, Input{Body: json.RawMessage(`{"prompt":"x"}`), OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"min_tokens":1}`)}, "min_tokens"},
		{"body is no object", "chat", Options{Model: "m"}, Input{Body: json.RawMessage(`"x"`)}, "JSON"},
		{"messages to completions", "completions", Options{Model: "m"}, Input{Body: json.RawMessage(`{"messages":[]}`)}, "body"},
		{"messages are no list", "chat", Options{Model: "m"}, Input{Body: json.RawMessage(`{"messages":{}}`)}, "messages"},
		{"prompt of ids to chat", "chat", Options{Model: "m"}, Input{Body: json.RawMessage(`{"prompt":[1]}`)}, "prompt"},
		{"token ids with a history", "completions", Options{Model: "m"}, Input{Kind: prompt.Tokens, History: &History{}}, "history"},
		{"delta without messages", "chat", Options{Model: "m"}, Input{Body: json.RawMessage(`{"messages":[ ]}`), History: &History{}}, "messages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := lookup(t, c.endpoint).Bodies(c.o)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := b.Build([]byte("before"), &c.in)
			var se *formats.SyntaxError
			if !errors.As(err, &se) || se.What != c.want {
				t.Errorf("error %v; want a SyntaxError about %s", err, c.want)
			}
			if string(got) != "before" {
				t.Errorf("dst became %q; want it unchanged", got)
			}
		})
	}
}

// An extra may say what the run says, and anything where the run pins nothing.
func TestExtraBesidePinnedLengths(t *testing.T) {
	pinned := Options{Model: "m", IgnoreEOS: true, MinTokens: true}
	for name, c := range map[string]struct {
		o  Options
		in Input
	}{
		"the same":          {pinned, Input{Kind: prompt.Text, OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"max_tokens":4,"min_tokens":4,"ignore_eos":true}`)}},
		"no planned length": {pinned, Input{Kind: prompt.Text, Extra: json.RawMessage(`{"max_tokens":9,"min_tokens":1}`)}},
		"not pinned":        {Options{Model: "m"}, Input{Kind: prompt.Text, OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"max_tokens":9,"ignore_eos":false}`)}},
		"a whole payload":   {pinned, Input{Body: json.RawMessage(`{"messages":[],"max_tokens":3}`), OutputTokens: formats.Some(4), Extra: json.RawMessage(`{"max_tokens":9}`)}},
	} {
		b, err := lookup(t, "chat").Bodies(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.Build(nil, &c.in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBodiesRefuses(t *testing.T) {
	for _, extra := range []string{`{"stream":false}`, `{"stream":"true"}`, `{"stream":null}`, `7`, `{`} {
		if _, err := lookup(t, "chat").Bodies(Options{Stream: true, Extra: json.RawMessage(extra)}); err == nil {
			t.Errorf("extra %s is accepted for a streaming run", extra)
		}
	}
	if _, err := lookup(t, "chat").Bodies(Options{Stream: true, Extra: json.RawMessage(`{"stream":true}`)}); err != nil {
		t.Errorf("extra that agrees: %v", err)
	}
}

func TestHistory(t *testing.T) {
	turns := []struct {
		in    Input
		reply string
	}{
		{Input{Kind: prompt.Text, Prompt: []byte("one two")}, "r\"1\n"},
		{Input{Kind: prompt.Text, Prompt: []byte("three")}, "r2"},
		{Input{Body: json.RawMessage(`{"prompt":"four"}`)}, "r3"},
	}
	for _, c := range []struct {
		endpoint string
		want     []string
	}{
		{"chat", []string{
			`[{"role":"user","content":"one two"}]`,
			`[{"role":"user","content":"one two"},{"role":"assistant","content":"r\"1\u000a"},{"role":"user","content":"three"}]`,
			`[{"role":"user","content":"one two"},{"role":"assistant","content":"r\"1\u000a"},{"role":"user","content":"three"},{"role":"assistant","content":"r2"},{"role":"user","content":"four"}]`,
		}},
		{"completions", []string{`"one two"`, `"one twor\"1\u000a three"`, `"one twor\"1\u000a threer2 four"`}},
	} {
		b, err := lookup(t, c.endpoint).Bodies(Options{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var h History
		for i, turn := range turns {
			turn.in.History = &h
			for range 2 { // a body may be built again before its answer
				body, _, err := b.Build(nil, &turn.in)
				if err != nil {
					t.Fatal(err)
				}
				var got struct{ Messages, Prompt json.RawMessage }
				if err := json.Unmarshal(body, &got); err != nil {
					t.Fatalf("turn %d: %v in %s", i, err, body)
				}
				if diff := cmp.Diff(c.want[i], string(got.Messages)+string(got.Prompt)); diff != "" {
					t.Errorf("%s turn %d (-want +got):\n%s", c.endpoint, i, diff)
				}
			}
			if err := h.Answered([]byte(turn.reply)); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Answered(nil); err == nil {
			t.Errorf("%s: an empty reply is taken", c.endpoint)
		}
	}
}

// Literal messages of a delta session are threaded like synthesised ones.
func TestHistoryMessages(t *testing.T) {
	b, err := lookup(t, "chat").Bodies(Options{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	var h History
	build := func(messages string) string {
		t.Helper()
		body, _, err := b.Build(nil, &Input{Body: json.RawMessage(`{"messages":` + messages + `}`), History: &h})
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	build(`[ {"role":"system","content":"s"},{"role":"user","content":"u"} ]`)
	if err := h.Answered([]byte("r")); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"r"},{"role":"tool","content":"t"}],"stream":false}`
	if diff := cmp.Diff(want, build(`[{"role":"tool","content":"t"}]`)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// What the prompt builder appends is fit to stand in a body, for both kinds.
func TestBuiltPromptsAreJSON(t *testing.T) {
	ids, err := prompt.TokenRange(prompt.FirstToken, prompt.LastToken)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*prompt.List{prompt.Words(), ids} {
		r := &schedule.Request{Session: "s", InputTokens: formats.Some(1000)}
		p, _, err := prompt.NewBuilder(prompt.Source{Seed: 1, List: l}).Build(nil, r, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := lookup(t, "completions").Bodies(Options{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := b.Build(nil, &Input{Kind: l.Kind(), Prompt: p})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Prompt any }
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		n := 0
		switch v := got.Prompt.(type) {
		case string:
			n = len(strings.Fields(v))
		case []any:
			n = len(v)
		}
		if n != 1000 {
			t.Errorf("%s: the body holds %d tokens; want 1000", l.Kind(), n)
		}
	}
}

func TestLookup(t *testing.T) {
	if _, err := Lookup("nope"); err == nil || !strings.Contains(err.Error(), "chat or completions") {
		t.Errorf("Lookup(nope): %v; want the names there are", err)
	}
	for _, n := range Names() {
		e := lookup(t, n)
		if e.Name != n || !strings.HasPrefix(e.Path, "/") || len(e.Prompts) == 0 || e.content == nil || e.literal == nil || e.read == nil {
			t.Errorf("row %s is incomplete: %+v", n, e)
		}
	}
}

func BenchmarkBodies(b *testing.B) {
	bodies, err := lookup(b, "chat").Bodies(Options{Model: "m", Stream: true})
	if err != nil {
		b.Fatal(err)
	}
	in := &Input{Kind: prompt.Text, Prompt: []byte(strings.Repeat("word ", 14_000)), OutputTokens: formats.Some(400)}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if buf, _, err = bodies.Build(buf[:0], in); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

// A body is built for each request: nothing but the body may take memory.
func TestBodiesTakeNoMemory(t *testing.T) {
	for _, name := range Names() {
		e := lookup(t, name)
		bodies, err := e.Bodies(Options{Model: "m", Stream: true, IgnoreEOS: true, MinTokens: true})
		if err != nil {
			t.Fatal(err)
		}
		in := &Input{Kind: prompt.Text, Prompt: []byte("a few words"), OutputTokens: formats.Some(400)}
		buf := make([]byte, 0, 1<<10)
		allocs := testing.AllocsPerRun(100, func() {
			if buf, _, err = bodies.Build(buf[:0], in); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a body, want none", name, allocs)
		}
	}
}
