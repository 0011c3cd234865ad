package sim

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// listen serves spec on loopback and returns the URL.
func listen(t *testing.T, spec string) (*Server, string) {
	t.Helper()
	s := New(parse(t, spec))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return s, "http://" + l.Addr().String()
}

// post sends a body and returns the response with all of its body that came.
func post(t *testing.T, url, id, body string) (status int, got string, err error) {
	t.Helper()
	r, _ := http.NewRequest("POST", url, strings.NewReader(body))
	if id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func dataLines(stream string) (ev []string) {
	sc := bufio.NewScanner(strings.NewReader(stream))
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		if d, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			ev = append(ev, d)
		}
	}
	return ev
}

// quick is a server whose model takes no time to speak of.
const quick = "default,prefill=inf,step=100us,step_per_seq=0s"

type delta struct {
	ID      string
	Object  string
	Model   string
	Choices []struct {
		Text         string
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Role             string
			Content          *string
			ReasoningContent *string `json:"reasoning_content"`
		}
		Message struct {
			Content          string
			ReasoningContent string `json:"reasoning_content"`
		}
	}
	Usage *usage
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func decode(t *testing.T, data string) (d delta) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatalf("event %s: %v", data, err)
	}
	return d
}

func TestChatStream(t *testing.T) {
	for _, base := range []string{quick, quick + ",stagger", "null,role_event=true"} {
		_, url := listen(t, base+",reasoning=3,tokens_per_event=2,template=10")
		status, got, err := post(t, url+"/v1/chat/completions", "41", `{"model":"sim","messages":[{"role":"system","content":"be brief"},
			{"role":"user","content":[{"type":"text","text":"one two  three"}]}],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`)
		data := dataLines(got)
		if status != 200 || err != nil || len(data) != 9 || data[8] != "[DONE]" {
			t.Fatalf("%s: %d, %v, %s", base, status, err, got)
		}
		var think, answer string
		for i, d := range data[:8] {
			e := decode(t, d)
			if e.ID != "chatcmpl-41" || e.Object != "chat.completion.chunk" || e.Model != "sim" {
				t.Errorf("%s: event %d: %+v", base, i, e)
			}
			switch {
			case i == 0:
				if e.Choices[0].Delta.Role != "assistant" || e.Choices[0].Delta.Content == nil || *e.Choices[0].Delta.Content != "" {
					t.Errorf("%s: first event %s; want a role and no text", base, d)
				}
			case i == 7:
				if u := e.Usage; len(e.Choices) != 0 || u == nil || u.Prompt != 15 || u.Completion != 9 || u.Total != 24 || u.CompletionDetails.Reasoning != 4 {
					t.Errorf("%s: usage event %s", base, d)
				}
			case i == 6:
				if e.Choices[0].FinishReason != "length" || e.Usage != nil {
					t.Errorf("%s: finish event %s", base, d)
				}
			default:
				if r := e.Choices[0].Delta.ReasoningContent; r != nil {
					think += *r
				}
				if c := e.Choices[0].Delta.Content; c != nil {
					answer += *c
				}
			}
		}
		if think != " t0000 t0001 t0002 t0003" || answer != " t0004 t0005 t0006 t0007 t0008" {
			t.Errorf("%s: reasoning %q, answer %q; want 4 and 5 words", base, think, answer)
		}
	}
}

func TestUsageModes(t *testing.T) {
	for _, c := range []struct {
		mode, options string
		want          []int // completion tokens of each usage seen
	}{
		{"final", "", nil},
		{"final", `,"stream_options":{"include_usage":true}`, []int{3}},
		{"final", `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, []int{1, 2, 3, 3, 3}},
		{"chunks", "", []int{1, 2, 3, 3, 3}},
		{"none", `,"stream_options":{"include_usage":true}`, nil},
	} {
		_, url := listen(t, "null,usage="+c.mode)
		_, got, _ := post(t, url+"/v1/completions", "1", `{"prompt":[5],"max_tokens":3,"stream":true`+c.options+`}`)
		var seen []int
		for _, d := range dataLines(got) {
			if d == "[DONE]" {
				continue
			}
			if u := decode(t, d).Usage; u != nil {
				seen = append(seen, u.Completion)
			}
		}
		if !slices.Equal(seen, c.want) {
			t.Errorf("usage=%s%s: %v; want %v", c.mode, c.options, seen, c.want)
		}
	}
}

func TestWhole(t *testing.T) {
	_, url := listen(t, quick+",reasoning=2")
	_, got, err := post(t, url+"/v1/chat/completions", "x/1", `{"messages":[{"role":"user","content":"a b"}],"max_completion_tokens":4}`)
	d := decode(t, got)
	if err != nil || d.Object != "chat.completion" || d.Choices[0].Message.ReasoningContent != " t0000 t0001" || d.Choices[0].Message.Content != " t0002 t0003" || d.Usage.Total != 6 {
		t.Errorf("chat: %v, %s", err, got)
	}
	_, got, _ = post(t, url+"/v1/completions", "", `{"prompt":["a b c"],"max_tokens":0}`)
	if d = decode(t, got); d.Choices[0].Text != "" || d.Usage.Prompt != 3 || d.Usage.Completion != 0 || d.ID != "cmpl-anonymous-1" {
		t.Errorf("no tokens: %s", got)
	}
}

func TestLengths(t *testing.T) {
	spec := parse(t, "default,eos=uniform:10:20,output=7")
	for _, c := range []struct {
		a      ask
		low    int
		high   int
		reason string
	}{
		{ask{limit: 5}, 5, 5, "length"},
		{ask{limit: 30}, 10, 20, "stop"},
		{ask{limit: 30, ignoreEOS: true}, 30, 30, "length"},
		{ask{limit: 30, least: 25}, 25, 25, "stop"},
		{ask{limit: 30, least: 30}, 30, 30, "length"},
		{ask{limit: -1}, 7, 7, "length"},
	} {
		for i := range 50 {
			c.a.id = fmt.Sprint(i)
			if n, reason := spec.length(&c.a); n < c.low || n > c.high || reason != c.reason {
				t.Errorf("length of %+v = %d, %s; want %d to %d, %s", c.a, n, reason, c.low, c.high, c.reason)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	_, url := listen(t, "null,context=100,body=4KiB")
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/v1/completions", `{`, 400, "not a JSON request"},
		{"/v1/completions", `{}`, 400, "prompt: missing"},
		{"/v1/completions", `{"prompt":5}`, 400, "want a text or a list of token ids"},
		{"/v1/completions", `{"prompt":[1,-2]}`, 400, "whole numbers"},
		{"/v1/completions", `{"prompt":[1,2.5]}`, 400, "whole numbers"},
		{"/v1/completions", `{"prompt":["a","b"]}`, 400, "got 2 prompts, want 1"},
		{"/v1/completions", `{"prompt":"a","max_tokens":-1}`, 400, "max_tokens: got -1"},
		{"/v1/completions", `{"prompt":"a","max_tokens":3,"min_tokens":4}`, 400, "min_tokens: got 4"},
		{"/v1/completions", `{"prompt":"a","n":2}`, 400, "n: got 2"},
		{"/v1/completions", `{"prompt":"a","stream_options":{}}`, 400, "only with stream"},
		{"/v1/completions", `{"prompt":"a","model":"gpt"}`, 404, `the model \"gpt\" does not exist`},
		{"/v1/completions", `{"prompt":"a","max_tokens":100}`, 400, "more than the context of 100"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("a", 5000) + `"}`, 413, "longer than 4KiB"},
		{"/v1/chat/completions", `{}`, 400, "messages: got none"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "got a part of type"},
		{"/v1/embeddings", `{}`, 404, "no such path"},
		{"/v1/models", `{}`, 405, "use GET"},
	} {
		status, got, err := post(t, url+c.path, "1", c.body)
		if err != nil || status != c.status || !strings.Contains(got, c.says) || !json.Valid([]byte(got)) {
			t.Errorf("%s %.40s: %d, %v, %s; want %d and %q", c.path, c.body, status, err, got, c.status, c.says)
		}
	}
	if status, _ := get(t, url+"/v1/completions"); status != 405 {
		t.Errorf("GET /v1/completions = %d; want 405", status)
	}
}

func TestPlainPaths(t *testing.T) {
	_, url := listen(t, "default,model=llama,context=4096")
	for path, want := range map[string]string{
		"/v1/models": `{"object":"list","data":[{"id":"llama","object":"model","created":0,"owned_by":"hydrant","max_model_len":4096}]}`,
		"/version":   `{"version":"hydrant-sim"}`,
		"/health":    "",
	} {
		if status, got := get(t, url+path); status != 200 || got != want {
			t.Errorf("%s = %d, %s; want 200, %s", path, status, got, want)
		}
	}
	resp, err := http.Head(url + "/v1/models")
	if err != nil || resp.StatusCode != 200 || resp.ContentLength <= 0 {
		t.Errorf("HEAD = %v, %v", resp, err)
	}
}

func TestMetricsAreReadable(t *testing.T) {
	_, url := listen(t, quick)
	post(t, url+"/v1/completions", "1", `{"prompt":[1,2,3],"max_tokens":5}`)
	_, text := get(t, url+"/metrics")
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, name := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "num_preemptions_total", "prompt_tokens_total",
		"generation_tokens_total", "request_success_total", "prefix_cache_queries_total", "prefix_cache_hits_total", "time_to_first_token_seconds",
		"inter_token_latency_seconds", "request_queue_time_seconds", "e2e_request_latency_seconds"} {
		if families["vllm:"+name] == nil {
			t.Errorf("vllm:%s is missing", name)
		}
	}
	if n := families["vllm:inter_token_latency_seconds"].Metric[0].Histogram.GetSampleCount(); n != 4 {
		t.Errorf("inter token latencies = %d; want 4", n)
	}
	if v := families["vllm:generation_tokens_total"].Metric[0].Counter.GetValue(); v != 5 {
		t.Errorf("generation tokens = %v; want 5", v)
	}
}

func TestLineEnds(t *testing.T) {
	for name, eol := range map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r"} {
		_, url := listen(t, "null,eol="+name)
		_, got, err := post(t, url+"/v1/completions", "1", `{"prompt":"a","max_tokens":2,"stream":true}`)
		if n := strings.Count(got, "}"+eol+eol+"data: "); err != nil || n != 3 || !strings.HasSuffix(got, "data: [DONE]"+eol+eol) {
			t.Errorf("eol=%s: %v, %q", name, err, got)
		}
	}
}

func TestHashLog(t *testing.T) {
	s := New(parse(t, "null,fail=503:ids:2"))
	var log bytes.Buffer
	s.LogHashes(&log)
	h := httptest.NewServer(s)
	defer h.Close()
	defer s.Close()
	want := ""
	for _, c := range []struct{ id, body string }{{"1", `{"prompt":"a"}`}, {"2", `{"prompt":"b"}`}, {"3", `junk`}} {
		post(t, h.URL+"/v1/completions", c.id, c.body)
		sum := sha256.Sum256([]byte(c.body))
		want += c.id + " " + hex.EncodeToString(sum[:]) + "\n"
	}
	get(t, h.URL+"/v1/models")
	if log.String() != want || s.HashError() != nil {
		t.Errorf("hash log\n%s\nwant\n%s", log.String(), want)
	}
	broken := New(parse(t, "null"))
	broken.LogHashes(writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC }))
	broken.logHash("1", nil)
	if !errors.Is(broken.HashError(), syscall.ENOSPC) {
		t.Errorf("HashError = %v; want ENOSPC", broken.HashError())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A prompt of 200,000 tokens, as text and as ids, is counted and cached whole.
func TestLongPrompt(t *testing.T) {
	_, url := listen(t, "null,cache=unbounded")
	const n = 200000
	for name, prompt := range map[string]string{
		"text": `"` + strings.Repeat("word ", n-1) + `word"`,
		"ids":  "[" + strings.Repeat("128000, ", n-1) + "7]",
	} {
		for i, cached := range []int{0, n} {
			_, got, err := post(t, url+"/v1/completions", name, `{"prompt":`+prompt+`,"max_tokens":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if u := decode(t, got).Usage; u.Prompt != n || u.PromptDetails.Cached != cached {
				t.Errorf("%s, time %d: %+v; want %d tokens, %d cached", name, i+1, u, n, cached)
			}
		}
	}
}
