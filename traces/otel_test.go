package traces

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// The examples that public tools carry: what waits for what, and how long.
func TestOTelExamples(t *testing.T) {
	for name, want := range map[string]string{
		"parallel_requests.json": `0 after [] ; 2500000000 after [0] 500000000; 3000000000 after [0] 1000000000; 6000000000 after [1 2] 500000000; 8500000000 after [3] 500000000; `,
		"simple_chain.json":      `0 after [] ; 3000000000 after [0] 500000000; 6000000000 after [1] 1000000000; `,
	} {
		raw, err := os.ReadFile(fixture.Shared(t, "data/otel/"+name))
		if err != nil {
			t.Fatal(err)
		}
		got := otelWaits(t, string(raw))
		if got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		var doc struct{ Spans []json.RawMessage }
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		all, one := []string{}, []string{}
		for _, s := range doc.Spans {
			all = append(all, string(s))
			compact := strings.Join(strings.Fields(string(s)), " ")
			one = append(one, compact, `{"spans":[]}`)
		}
		for form, text := range map[string]string{
			"a list": "[" + strings.Join(all, ",") + "]", "one a line": strings.Join(one, "\n"), "one after the other": strings.Join(all, ""),
			"documents": `{"spans":[` + all[0] + `]}{"spans":[` + strings.Join(all[1:], ",") + `],"span_count":9}`, "backward": "[" + reversed(all) + "]",
		} {
			if got := otelWaits(t, text); got != want {
				t.Errorf("%s as %s: %s\nwant %s", name, form, got, want)
			}
		}
	}
}

func reversed(all []string) string {
	out := ""
	for _, s := range all {
		out = s + "," + out
	}
	return strings.TrimSuffix(out, ",")
}

func otelWaits(t *testing.T, text string) string {
	t.Helper()
	tr, err := OTel(piped("t", strings.NewReader(text)), Options{})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer tr.Close()
	reqs, _ := plan(t, tr)
	var b strings.Builder
	for _, r := range reqs {
		after, _ := json.Marshal(r.After)
		if r.After == nil {
			after = []byte("[]")
		}
		b.WriteString(r.AtNS.String() + " after " + strings.ReplaceAll(string(after), ",", " ") + " ")
		if r.DelayNS.Valid {
			b.WriteString(r.DelayNS.String())
		}
		b.WriteString("; ")
		if r.Model != "gpt-4" || !r.OutputTokens.Valid || r.InputTokens.Valid || !strings.HasPrefix(string(r.Body), `{"messages":[{"role": "user", "content": "`) || r.Class != "chat" {
			t.Errorf("request = %+v, body %.60s", r, r.Body)
		}
	}
	return b.String()
}

// OTLP's JSON, with messages in parts and numbers as text.
const otlp = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[
{"traceId":"T","spanId":"1","name":"execute_tool","startTimeUnixNano":"1767225600000000000","endTimeUnixNano":"1767225601000000000","attributes":[]},
{"traceId":"T","spanId":"2","name":"chat","startTimeUnixNano":"1767225600500000000","endTimeUnixNano":"1767225601500000000","status":{"code":2},"attributes":[
 {"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.request.model","value":{"stringValue":"m"}},
 {"key":"gen_ai.usage.input_tokens","value":{"intValue":"12"}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"3"}},{"key":"gen_ai.request.max_tokens","value":{"intValue":"9"}},
 {"key":"gen_ai.system_instructions","value":{"stringValue":"[{\"type\":\"text\",\"content\":\"be short\"}]"}},
 {"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"a \\\"b\\\"\"},{\"type\":\"text\",\"content\":\"c\"}]}]"}}]}
]}]}]}`

func TestOTLP(t *testing.T) {
	lines, end, _, err := texts(t, OTel, Options{}, otlp)
	want := `{"id":0,"at_ns":0,"session":"T","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":12,"output_tokens":3,"model":"m","class":"chat","recorded":{"e2e_ns":1000000000},` +
		`"body":{"messages":[{"role":"system","content":"be short"},{"role":"user","content":"a \"b\"c"}]}}`
	if err != nil || len(lines) != 1 || lines[0] != want {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(lines, "\n"), want)
	}
	if got := counts(end); got != "failed_kept 1, spans_other 1" {
		t.Errorf("counts = %s", got)
	}
}

// oneSpan is a span with these attributes, as JSON.
func oneSpan(attributes string) string {
	return `{"trace_id":"t","start_time":"2026-01-01T00:00:00","end_time":"2026-01-01T00:00:01","attributes":{` + attributes + `"gen_ai.input.messages":"[]"}}`
}

func TestOTelSessions(t *testing.T) {
	for attributes, want := range map[string]string{
		"": "t", `"x.session.id":"x",`: "x", `"session.id":"a","x.session.id":"x",`: "a", `"gen_ai.conversation.id":"c","session.id":"a",`: "c", `"x.session.id":5,`: "5",
	} {
		lines, _, _, err := texts(t, OTel, Options{}, oneSpan(attributes))
		if err != nil || !strings.Contains(lines[0], `"session":"`+want+`"`) {
			t.Errorf("%s: %q, %v; want session %s", attributes, lines, err, want)
		}
	}
	lines, _, _, err := texts(t, OTel, Options{SessionKey: "user.id"}, oneSpan(`"user.id":"u","session.id":"a",`)+oneSpan(""))
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], `"session":"u"`) || !strings.Contains(lines[1], `"session":"r2"`) {
		t.Errorf("--session-key: %q, %v", lines, err)
	}
}

func TestOTelRefuses(t *testing.T) {
	refuses(t, OTel, Options{}, [][2]string{
		{"", "a first row"}, {`{"spans":[]}`, "a first row"}, {`{"spans":5}`, `spans: got "5", want a list`}, {`[1]`, `t: span 1: value: got "1"`}, {`"x"`, "value"},
		{`{"spans":[` + oneSpan("") + `,{"start_time":`, "truncated"}, {`[` + oneSpan(""), "truncated"}, {`{"spans":[` + oneSpan("") + `}`, "byte"},
		{oneSpan("") + strings.Replace(oneSpan(""), "00:00:01", "00:00:0x", 1), `t: span 2: end_time: got "2026-01-01T00:00:0x"`},
		{strings.Replace(oneSpan(""), `T00:00:01`, `T00:00:00-05:00`, 1) + strings.Replace(oneSpan(""), `"start_time":"2026-01-01`, `"start_time":"2026-01-02`, 1), "span 2: end_time: got \"a time before the start\""},
		{strings.Replace(oneSpan(""), "start_time", "begin", 1), "start_time"},
		{strings.Replace(oneSpan(""), `"[]"`, `"[{}]"`, 1), "messages with a role"},
		{strings.Replace(oneSpan(""), `"[]"`, `"nonsense"`, 1), "gen_ai.input.messages"},
		{strings.Replace(oneSpan(""), `"[]"`, `"[{\"role\":\"user\",\"parts\":[{\"type\":\"image\"}]}]"`, 1), "parts of type text"},
		{`{"a":1,"a":2}`, "each key once"}, {`{"span_id":"1","attributes":{}}`, `spans: got "1 without gen_ai.input.messages"`},
		{strings.Repeat("[", 40), "truncated"}, {strings.Repeat("[", 40) + "{}", "at most 16"},
	})
	refuses(t, OTel, Options{Strict: true}, [][2]string{{`{"odd":1,` + oneSpan("")[1:], `got "odd"`}})
	refusesBrokenStreams(t, OTel, Options{}, oneSpan(""))
}

func FuzzOTel(f *testing.F) {
	f.Add(otlp)
	f.Add(oneSpan(`"session.id":"a",`))
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, OTel, piped("f", strings.NewReader(text)), Options{})
	})
}
