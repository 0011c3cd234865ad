package endpoint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hydrant/formats"
)

func chat(t testing.TB) *Endpoint {
	t.Helper()
	e, err := Lookup("chat")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// in wraps a delta into a chunk.
func in(delta string) string {
	return `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func some(in, out int64) Usage { return Usage{Input: formats.Some(in), Output: formats.Some(out)} }

var eventCases = []struct {
	name, typ, data string
	want            Event
}{
	{"content", "", in(`{"content":" a"}`), Event{Answer: true, Choices: true, Text: []byte(" a")}},
	{"type message", "message", in(`{"content":"a"}`), Event{Answer: true, Choices: true, Text: []byte("a")}},
	{"escapes", "", in(`{"content":"\n\u00e9\ud83d\ude00\""}`), Event{Answer: true, Choices: true, Text: []byte("\né😀\"")}},
	{"not UTF-8", "", in("{\"content\":\"a\xffb\"}"), Event{Answer: true, Choices: true, Text: []byte("a\uFFFDb")}},
	{"reasoning_content", "", in(`{"reasoning_content":"hm"}`), Event{Reasoning: true, Choices: true}},
	{"reasoning", "", in(`{"reasoning":"hm"}`), Event{Reasoning: true, Choices: true}},
	{"both channels", "", in(`{"reasoning":"hm","content":"a"}`), Event{Reasoning: true, Answer: true, Choices: true, Text: []byte("a")}},
	{"content and empty reasoning", "", in(`{"content":"a","reasoning_content":null,"reasoning":""}`), Event{Answer: true, Choices: true, Text: []byte("a")}},
	{"content parts", "", in(`{"content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`), Event{Answer: true, Choices: true, Text: []byte("a")}},
	{"thinking part", "", in(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), Event{Reasoning: true, Choices: true}},
	{"refusal", "", in(`{"refusal":"no"}`), Event{Answer: true, Choices: true, Text: []byte("no")}},
	{"tool name", "", in(`{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"f","arguments":""}}]}`), Event{Tool: true, Choices: true}},
	{"tool arguments", "", in(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`), Event{Tool: true, Choices: true}},
	{"tool call without text", "", in(`{"tool_calls":[{"index":0,"function":{"arguments":""}}]}`), Event{Choices: true}},
	{"function call", "", in(`{"function_call":{"name":"f"}}`), Event{Tool: true, Choices: true}},
	{"role only", "", in(`{"role":"assistant"}`), Event{Choices: true}},
	{"role and empty content", "", in(`{"role":"assistant","content":""}`), Event{Choices: true}},
	{"null content", "", in(`{"content":null,"tool_calls":null,"function_call":null}`), Event{Choices: true}},
	{"token ids", "", `{"choices":[{"index":0,"delta":{"content":""},"token_ids":[5,6]}]}`, Event{Answer: true, Choices: true}},
	{"reasoning token ids", "", `{"choices":[{"index":0,"delta":{"reasoning":"hm"},"token_ids":[5]}]}`, Event{Reasoning: true, Choices: true}},
	{"no token ids", "", `{"choices":[{"index":0,"delta":{"content":""},"token_ids":[]}]}`, Event{Choices: true}},
	{"completions", "", `{"choices":[{"index":0,"text":" a","logprobs":null,"finish_reason":null}]}`, Event{Answer: true, Choices: true, Text: []byte(" a")}},
	{"message", "", `{"choices":[{"index":0,"message":{"role":"assistant","content":"all"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		Event{Answer: true, Choices: true, Finish: "stop", Usage: some(3, 4), Text: []byte("all")}},
	{"second choice", "", `{"choices":[{"index":0,"delta":{}},{"index":1,"delta":{"content":"b"}}]}`, Event{Answer: true, Choices: true}},
	{"finish", "", `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, Event{Choices: true, Finish: "length"}},
	{"finish with content", "", `{"choices":[{"finish_reason":"stop","delta":{"content":"z"}}]}`, Event{Answer: true, Choices: true, Finish: "stop", Text: []byte("z")}},
	{"usage with empty choices", "", `{"choices":[],"usage":{"prompt_tokens":10,"total_tokens":12,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":1}}}`,
		Event{Choices: true, Usage: Usage{formats.Some(10), formats.Some(2), formats.Some(8), formats.Some(1)}}},
	{"usage without choices", "", `{"usage":{"prompt_tokens":10,"completion_tokens":2}}`, Event{Usage: some(10, 2)}},
	{"usage with null details", "", `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null}}`, Event{Choices: true, Usage: some(10, 2)}},
	{"usage with no cached tokens", "", `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
		Event{Choices: true, Usage: Usage{Input: formats.Some(10), Output: formats.Some(2), Cached: formats.Some(0)}}},
	{"usage with content", "", `{"usage":{"prompt_tokens":10,"completion_tokens":2},"choices":[{"delta":{"content":"a"}}]}`, Event{Answer: true, Choices: true, Usage: some(10, 2), Text: []byte("a")}},
	{"usage in the choice", "", `{"choices":[{"delta":{},"usage":{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":4}}]}`,
		Event{Choices: true, Usage: Usage{Input: formats.Some(10), Output: formats.Some(2), Cached: formats.Some(4)}}},
	{"reasoning tokens on top", "", `{"usage":{"prompt_tokens":1,"completion_tokens":2,"reasoning_tokens":1}}`,
		Event{Usage: Usage{Input: formats.Some(1), Output: formats.Some(2), Reasoning: formats.Some(1)}}},
	{"null usage", "", `{"choices":[],"usage":null}`, Event{Choices: true}},
	{"empty usage", "", `{"choices":[],"usage":{}}`, Event{Choices: true}},
	{"usage is no object", "", `{"choices":[],"usage":3}`, Event{Choices: true}},
	{"error object", "", `{"error":{"message":"out of memory","type":"server_error","code":500}}`, Event{Error: "out of memory"}},
	{"error string", "", `{"error":"boom"}`, Event{Error: "boom"}},
	{"error without message", "", `{"error":{"code":7}}`, Event{Error: `{"code":7}`}},
	{"error at the top", "", `{"object":"error","message":"too long","code":400}`, Event{Error: "too long"}},
	{"error of type error", "error", `{"message":"boom"}`, Event{Error: "boom"}},
	{"error of type error, text", "error", `boom`, Event{Error: "boom"}},
	{"error of type error, empty", "error", ``, Event{Error: "error without a text"}},
	{"null error", "", `{"error":null,"choices":[{"delta":{"content":"a"}}]}`, Event{Answer: true, Choices: true, Text: []byte("a")}},
	{"done", "", `[DONE]`, Event{Done: true}},
	{"done with spaces", "", ` [DONE] `, Event{Done: true}},
	{"empty data", "", ``, Event{}},
	{"empty object", "", `{}`, Event{}},
	{"strange shapes", "", `{"choices":[null,1,{"delta":null},{"delta":[]},{"delta":{"content":5,"tool_calls":[1],"refusal":{}}}],"error":false}`, Event{Choices: true}},
	{"choices is no list", "", `{"choices":{}}`, Event{}},
	{"ping", "ping", `keep-alive`, Event{}},
}

func TestRead(t *testing.T) {
	for _, c := range eventCases {
		t.Run(c.name, func(t *testing.T) {
			ev := Event{Collect: true, Error: "old", Done: true, Answer: true}
			if err := chat(t).Read(c.typ, []byte(c.data), &ev); err != nil {
				t.Fatal(err)
			}
			c.want.Collect = true
			if diff := cmp.Diff(c.want, ev, cmpopts.IgnoreUnexported(Event{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadNotJSON(t *testing.T) {
	for _, data := range []string{`{not json}`, `{"choices":[`, `"text"`, `[]`, `5`, `null`, `data`, `{"a":1}{`, `{"a":1},`, in(`{"content":"a"`), `[DONE`, `{"choices":[{"delta":{"content":"a"}}]`} {
		ev := Event{Collect: true, Text: []byte("before")}
		if err := chat(t).Read("", []byte(data), &ev); err == nil {
			t.Errorf("Read(%q) is accepted", data)
		}
		if ev.Token() || ev.Usage.Known() || string(ev.Text) != "before" {
			t.Errorf("Read(%q) left %+v; want nothing", data, ev)
		}
	}
}

// Text is collected across events and only on demand.
func TestReadCollects(t *testing.T) {
	ev := Event{Collect: true}
	for _, s := range []string{"a", " b", ""} {
		if err := chat(t).Read("", []byte(in(`{"content":"`+s+`"}`)), &ev); err != nil {
			t.Fatal(err)
		}
	}
	if string(ev.Text) != "a b" {
		t.Errorf("collected %q; want %q", ev.Text, "a b")
	}
	quiet := Event{}
	if err := chat(t).Read("", []byte(in(`{"content":"a"}`)), &quiet); err != nil || quiet.Text != nil || !quiet.Answer {
		t.Errorf("without Collect: %+v, %v; want an answer and no text", quiet, err)
	}
}

func TestErrorText(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"m"}}`:               "m",
		`{"error":"m"}`:                           "m",
		`{"message":"m"}`:                         "m",
		`{"detail":"m"}`:                          "m",
		`{"detail":[{"msg":"m"}]}`:                `[{"msg":"m"}]`,
		`{"error":{"message":"m"},"message":"n"}`: "m",
		" <html>busy</html>\n":                    "<html>busy</html>",
		`{"error":{"message":"m"}`:                `{"error":{"message":"m"}`,
		`{"code":5}`:                              `{"code":5}`,
		``:                                        "error without a text",
		"\xff":                                    "\uFFFD",
	} {
		if got := ErrorText([]byte(in)); got != want {
			t.Errorf("ErrorText(%q) = %q; want %q", in, got, want)
		}
	}
}

// The scanner sees the same text and counts in a chunk as encoding/json does.
func FuzzRead(f *testing.F) {
	for _, c := range eventCases {
		f.Add([]byte(c.data))
	}
	e, err := Lookup("chat")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev := Event{Collect: true}
		err := e.Read("", data, &ev)
		trimmed := strings.TrimSpace(string(data))
		if trimmed == "" || ev.Done {
			return
		}
		object := json.Valid(data) && strings.HasPrefix(trimmed, "{")
		if err == nil && !object {
			t.Fatalf("Read takes %q, which is no JSON object", data)
		}
		if err != nil && object && strings.Count(trimmed, "[")+strings.Count(trimmed, "{") < maxDepth {
			t.Fatalf("Read refuses %q: %v", data, err)
		}
	})
}

var chunkOfAStream = []byte(`{"id":"chatcmpl-7f0e1c","object":"chat.completion.chunk","created":1730000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`)

func BenchmarkRead(b *testing.B) {
	e := chat(b)
	var ev Event
	b.SetBytes(int64(len(chunkOfAStream)))
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Read("", chunkOfAStream, &ev); err != nil || !ev.Answer {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	b.SetBytes(int64(len(chunkOfAStream)))
	b.ReportAllocs()
	for b.Loop() {
		var v struct {
			Choices []struct {
				Delta struct {
					Content   *string `json:"content"`
					Reasoning *string `json:"reasoning_content"`
				} `json:"delta"`
				Finish *string `json:"finish_reason"`
			} `json:"choices"`
			Usage *struct {
				Prompt int64 `json:"prompt_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal(chunkOfAStream, &v); err != nil {
			b.Fatal(err)
		}
	}
}
