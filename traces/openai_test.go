package traces

import (
	"encoding/base64"
	"strings"
	"testing"
)

const openaiLog = `{"timestamp":1767225600.5,"session_id":"s","duration_ms":800,"ttft_ms":90.25,"body":{"model":"m","messages":[{"role":"user","content":"é \" 1"}],"max_tokens":7,"temperature":0.50},"response":{"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}}
{"timestamp":1767225599,"body":{"prompt":"alone","max_completion_tokens":5}}
{"timestamp":1767225602.5,"session_id":"s","end_time":1767225603,"body":{"messages":[]},"usage":{"input_tokens":20,"output_tokens":2,"input_tokens_details":{"cached_tokens":16}},"odd":null}
`

func TestOpenAI(t *testing.T) {
	lines, end, warnings, err := texts(t, OpenAI, Options{}, openaiLog)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"id":0,"at_ns":0,"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","output_tokens":5,"body":{"prompt":"alone","max_completion_tokens":5}}`,
		`{"id":1,"at_ns":1500000000,"session":"s","stream":"0","turn":0,"context":"whole","input_tokens":9,"output_tokens":7,"model":"m","recorded":{"ttft_ns":90250000,"e2e_ns":800000000,"cached_tokens":4},"body":{"model":"m","messages":[{"role":"user","content":"é \" 1"}],"max_tokens":7,"temperature":0.50}}`,
		`{"id":2,"at_ns":3500000000,"after":[1],"delay_ns":1200000000,"session":"s","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":20,"output_tokens":2,"recorded":{"e2e_ns":500000000,"cached_tokens":16},"body":{"messages":[]}}`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("lines =\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if got := counts(end); got != `sorted_backward 1, unknown_key:odd 1` {
		t.Errorf("counts = %s", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `t:3: unknown key "odd"`) {
		t.Errorf("warnings = %q", warnings)
	}
	sameInAnyForm(t, OpenAI, Options{}, openaiLog)
}

// A time is told by its form, whatever the key is called.
func TestOpenAITimes(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{`"timestamp":1767225600`, `"timestamp":1767225601.25`, "1250000000"},
		{`"time":1767225600000`, `"time":1767225601250`, "1250000000"},
		{`"created_at":1767225600000000`, `"created_at":1767225601250000`, "1250000000"},
		{`"start_time":1767225600000000000`, `"start_time":1767225601250000000`, "1250000000"},
		{`"timestamp":"2026-01-01T00:00:00Z"`, `"timestamp":"2026-01-01T01:00:01.250000+01:00"`, "1250000000"},
		{`"timestamp":"2026-01-01 00:00:00"`, `"timestamp":"2026-01-01T00:00:01.25+0000"`, "1250000000"},
		{`"timestamp":"1767225600"`, `"timestamp":"1767225601.25"`, "1250000000"},
		{`"timestamp_ms":0.5`, `"timestamp_ms":1250`, "1250000000"},
		{`"timestamp":0.5`, `"timestamp":1.25`, "1250000000"}, // its own zero is kept
	} {
		text := `{` + c.first + `,"body":{"prompt":"a"}}` + "\n" + `{` + c.second + `,"body":"{\"prompt\": \"b\"}"}` + "\n"
		lines, _, _, err := texts(t, OpenAI, Options{}, text)
		if err != nil || len(lines) != 2 || !strings.Contains(lines[1], `"at_ns":`+c.want+`,`) || !strings.HasSuffix(lines[1], `"body":{"prompt": "b"}}`) {
			t.Errorf("%s: %q, %v; want at_ns %s", c.first, lines, err, c.want)
		}
	}
}

func TestOpenAISessions(t *testing.T) {
	text := `{"timestamp":1,"user":7,"body":{"prompt":"a","metadata":{"id":"x"},"user.id":"u"}}` + "\n"
	for key, want := range map[string]string{"user": "7", "body.metadata.id": "x", "body.user.id": "u", "body.none": "r1"} {
		lines, _, _, err := texts(t, OpenAI, Options{SessionKey: key}, text)
		if err != nil || !strings.Contains(lines[0], `"session":"`+want+`"`) {
			t.Errorf("--session-key %s: %q, %v; want session %s", key, lines, err, want)
		}
	}
	tr, err := OpenAI(piped("t", strings.NewReader(text)), Options{SessionKey: "body.none"})
	if err != nil || tr.Idle != "session-key" {
		t.Errorf("a key that no row has: %v, idle %q", err, tr.Idle)
	}
	tr.Close()
}

// Rows of SageMaker's data capture: text as JSON or in base64.
func TestOpenAICapture(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"hi"}],"max_tokens":4}`
	quoted := strings.ReplaceAll(body, `"`, `\"`)
	row := func(data, encoding, at string) string {
		return `{"captureData":{"endpointInput":{"observedContentType":"application/json","mode":"INPUT","data":"` + data + `","encoding":"` + encoding + `"},` +
			`"endpointOutput":{"data":"{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":9}}","encoding":"JSON"}},"eventMetadata":{"eventId":"e","inferenceTime":"` + at + `"},"eventVersion":"0"}` + "\n"
	}
	lines, _, _, err := texts(t, OpenAI, Options{}, row(quoted, "JSON", "2026-01-01T00:00:01Z")+row(base64.StdEncoding.EncodeToString([]byte(body)), "BASE64", "2026-01-01T00:00:00Z"))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", lines, err)
	}
	want := `"last":true,"context":"whole","input_tokens":3,"output_tokens":4,"body":` + body + `}`
	for i, line := range lines {
		if !strings.HasSuffix(line, want) || !strings.Contains(line, []string{`"at_ns":0,`, `"at_ns":1000000000,`}[i]) {
			t.Errorf("line %d = %s; want %s", i, line, want)
		}
	}
	refuses(t, OpenAI, Options{}, [][2]string{
		{row(quoted, "CSV", "2026-01-01T00:00:00Z"), `captureData.endpointInput: got "encoding CSV"`},
		{row("!!", "BASE64", "2026-01-01T00:00:00Z"), "damaged base64"},
		{row("[]", "JSON", "2026-01-01T00:00:00Z"), "no JSON object"},
		{row(quoted, "JSON", "yesterday"), `t:1: eventMetadata.inferenceTime: got "yesterday"`},
		{`{"captureData":{},"eventMetadata":{"inferenceTime":"2026-01-01T00:00:00Z"}}`, "endpointInput"},
	})
}

func TestOpenAIRefuses(t *testing.T) {
	refuses(t, OpenAI, Options{}, [][2]string{
		{`{"body":{"prompt":"a"}}`, `t:1: row: got "no time"`},
		{`{"timestamp":1}`, `t:1: row: got "no body"`},
		{`{"timestamp":1,"time":2,"body":{"prompt":"a"}}`, "a second time beside timestamp"},
		{`{"timestamp":1,"body":{"prompt":"a"},"request":{}}`, "a second body beside body"},
		{`{"timestamp":1,"body":{"input":"a"}}`, "neither messages nor prompt"},
		{`{"timestamp":1,"body":"text"}`, "a text that is no JSON object"},
		{`{"timestamp":1,"body":[1]}`, "an object, or one as text"},
		{`{"timestamp":-1,"body":{"prompt":"a"}}`, `t:1: timestamp: got "-1"`},
		{`{"timestamp":"soon","body":{"prompt":"a"}}`, `timestamp: got "soon"`},
		{`{"timestamp":1e30,"body":{"prompt":"a"}}`, `timestamp: got "1e30"`},
		{`{"timestamp":5,"end_time":4,"body":{"prompt":"a"}}`, "end_time"},
		{`{"timestamp":5,"duration_ms":-4,"body":{"prompt":"a"}}`, `duration_ms: got "-4"`},
		{`{"timestamp":5,"session_id":"","body":{"prompt":"a"}}`, "session_id"},
		{`{"timestamp":5,"body":{"prompt":"a"`, "truncated"},
		{"", "a first row"},
	})
	refuses(t, OpenAI, Options{Strict: true}, [][2]string{{openaiLog, `t:3: key: got "odd"`}})
	_, _, _, err := texts(t, OpenAI, Options{}, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[]}}`)
	if h, ok := err.(interface{ Hint() string }); !ok || !strings.Contains(h.Hint(), "--arrivals") {
		t.Errorf("a batch file: %v; want a hint to --arrivals", err)
	}
	refusesBrokenStreams(t, OpenAI, Options{}, openaiLog)
}

func FuzzOpenAI(f *testing.F) {
	f.Add(openaiLog)
	f.Add(`{"captureData":{"endpointInput":{"data":"{\"prompt\":1}","encoding":"JSON"}},"eventMetadata":{"inferenceTime":"2026-01-01T00:00:00Z"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, OpenAI, piped("f", strings.NewReader(text)), Options{SessionKey: "body.a"})
	})
}
