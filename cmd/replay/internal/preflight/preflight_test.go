package preflight

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a server that a test bends to its needs.
type fake struct {
	models string // body of /v1/models; "": 404
	trial  func(w http.ResponseWriter, r *http.Request, body string)
	trials atomic.Int64
	key    string // wanted as bearer token; "": none
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		if f.models == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, f.models)
	case "/version":
		fmt.Fprint(w, `{"version":"0.1"}`)
	case "/v1/chat/completions":
		b, _ := io.ReadAll(r.Body)
		f.trials.Add(1)
		f.trial(w, r, string(b))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// stream answers like a server that does as it is told. PROMPT in usage is the number of
// words it was sent.
func stream(tokens int, usage string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, body string) {
		usage := strings.Replace(usage, "PROMPT", strconv.Itoa(words(body)), 1)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range tokens {
			finish := "null"
			if i == tokens-1 {
				finish = `"length"`
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a \"},\"finish_reason\":%s}]}\n\n", finish)
		}
		if usage != "" {
			fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":%s}\n\n", usage)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

const usage4 = `{"prompt_tokens":PROMPT,"completion_tokens":4}`

// words counts those of a chat request.
func words(body string) (n int) {
	var b struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		panic(err)
	}
	for _, m := range b.Messages {
		n += len(strings.Fields(m.Content))
	}
	return n
}

func list(ids ...string) string {
	var l struct {
		Data []map[string]string `json:"data"`
	}
	for _, id := range ids {
		l.Data = append(l.Data, map[string]string{"id": id})
	}
	b, _ := json.Marshal(l)
	return string(b)
}

func options(urls ...string) Options {
	return Options{URLs: urls, Header: http.Header{}, Connect: 5 * time.Second, Endpoint: "chat", Prompt: "text", Stream: true, Pin: true}
}

func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// whole answers with one JSON document, whatever was asked for.
func whole(w http.ResponseWriter, _ *http.Request, _ string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a a a a"},"finish_reason":"length"}],"usage":{"prompt_tokens":8,"completion_tokens":4}}`)
}

func TestCheck(t *testing.T) {
	fail := func(status int, text string) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, _ *http.Request, _ string) { http.Error(w, text, status) }
	}
	for name, c := range map[string]struct {
		server  *fake
		options func(*Options)
		model   string // found
		err     string // in the error
		hint    string // in its hint
		warns   string // in the only warning
		trials  int64
	}{
		"as it should be":       {server: &fake{models: list("m"), trial: stream(4, usage4)}, model: "m", trials: 2},
		"asked for":             {server: &fake{models: list("m", "n"), trial: stream(4, usage4)}, options: func(o *Options) { o.Model = "n" }, model: "n", trials: 2},
		"several: the line's":   {server: &fake{models: list("m", "n"), trial: stream(4, usage4)}, model: "", trials: 2},
		"no list, no model":     {server: &fake{trial: stream(4, usage4)}, warns: "/v1/models has status 404 and --model is not given: no trial request was sent", trials: 0},
		"no list":               {server: &fake{trial: stream(4, usage4)}, options: func(o *Options) { o.Model = "n" }, model: "n", trials: 2},
		"no usage":              {server: &fake{models: list("m"), trial: stream(4, "")}, model: "m", warns: "reports no usage", trials: 1},
		"too short":             {server: &fake{models: list("m"), trial: stream(2, `{"prompt_tokens":PROMPT,"completion_tokens":2}`)}, model: "m", warns: "asked for exactly 4 tokens, got 2", trials: 2},
		"not pinned, too short": {server: &fake{models: list("m"), trial: stream(2, `{"prompt_tokens":PROMPT,"completion_tokens":2}`)}, options: func(o *Options) { o.Pin = false }, model: "m", trials: 2},
		"all at once":           {server: &fake{models: list("m"), trial: stream(1, usage4)}, model: "m", warns: "does not stream token by token", trials: 2},
		"no key":                {server: &fake{models: list("m"), key: "k"}, err: "the server refused with status 401", hint: "--api-key-env"},
		"the key":               {server: &fake{models: list("m"), key: "k", trial: stream(4, usage4)}, options: func(o *Options) { o.Header.Set("Authorization", "Bearer k") }, model: "m", trials: 2},
		"unknown model":         {server: &fake{models: list("m"), trial: fail(404, "no such model")}, options: func(o *Options) { o.Model = "x" }, err: `trial request for model "x": status 404`, hint: "lists these models: m", trials: 1},
		"unknown field":         {server: &fake{models: list("m"), trial: fail(400, "extra fields not permitted: ignore_eos")}, err: "status 400", hint: "--pin-output off", trials: 1},
		"down for good":         {server: &fake{models: list("m"), trial: fail(503, "busy")}, err: "trial request: http_error", hint: "--preflight off", trials: 3},
		"whole answers":         {server: &fake{models: list("m"), trial: whole}, err: "trial request: malformed", hint: "--stream off", trials: 3},
		"no stream":             {server: &fake{models: list("m"), trial: fail(200, "hello")}, err: "trial request: ", hint: "--preflight off", trials: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.server)
			defer s.Close()
			o := options(s.URL)
			if c.options != nil {
				c.options(&o)
			}
			f, err := Check(t.Context(), o)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(hint(err), c.hint) || !strings.HasPrefix(err.Error(), s.URL) {
					t.Errorf("Check = %v, hint %q; want %q, hint %q", err, hint(err), c.err, c.hint)
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				if f.Model != c.model {
					t.Errorf("model %q; want %q", f.Model, c.model)
				}
				if got := strings.Join(f.Warnings, "; "); c.warns == "" && got != "" || !strings.Contains(got, c.warns) || len(f.Warnings) > 1 {
					t.Errorf("warnings %q; want one with %q", f.Warnings, c.warns)
				}
				if !strings.Contains(string(f.Server), `"version":{"version":"0.1"}`) || !strings.Contains(string(f.Server), `"address":"127.0.0.1:`) {
					t.Errorf("server = %s", f.Server)
				}
			}
			if n := c.server.trials.Load(); n != c.trials {
				t.Errorf("%d trial requests; want %d", n, c.trials)
			}
		})
	}
}

// The header says how a server counts prompts; what the plan does not expect is a warning,
// the overhead of a template is a note.
func TestPromptCounts(t *testing.T) {
	for name, c := range map[string]struct {
		count  func(words int) int
		server string // in the header
		note   string
		warns  string
		fail   bool // the longer request fails
	}{
		"one token a word": {count: func(n int) int { return n },
			server: `"prompt":{"planned":[8,264],"counted":[8,264],"per_token":1,"overhead_tokens":0}`},
		"a template": {count: func(n int) int { return n + 17 }, note: "counts +17 tokens to each prompt",
			server: `"prompt":{"planned":[8,264],"counted":[25,281],"per_token":1,"overhead_tokens":17}`},
		"split words": {count: func(n int) int { return n*3/2 + 5 }, warns: "counts 17 tokens for a prompt of 8 and 401 for one of 264",
			server: `"prompt":{"planned":[8,264],"counted":[17,401],"per_token":1.5,"overhead_tokens":5}`},
		"too long a prompt": {count: func(n int) int { return n }, fail: true, server: `"prompt":null`},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(&fake{models: list("m"), trial: func(w http.ResponseWriter, r *http.Request, body string) {
				n := words(body)
				if c.fail && n > 8 {
					http.Error(w, "context length exceeded", http.StatusBadRequest)
					return
				}
				stream(4, fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":4}`, c.count(n)))(w, r, body)
			}})
			defer s.Close()
			f, err := Check(t.Context(), options(s.URL))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(f.Server), c.server) {
				t.Errorf("server = %s; want %s", f.Server, c.server)
			}
			for _, got := range []struct {
				kind string
				list []string
				want string
			}{{"notes", f.Notes, c.note}, {"warnings", f.Warnings, c.warns}} {
				if said := strings.Join(got.list, "; "); got.want == "" && said != "" || !strings.Contains(said, got.want) || len(got.list) > 1 {
					t.Errorf("%s = %q; want one with %q", got.kind, got.list, got.want)
				}
			}
		})
	}
}

// A failure now and then is no reason not to measure a server.
func TestATrialMayFailOnce(t *testing.T) {
	f := &fake{models: list("m")}
	f.trial = func(w http.ResponseWriter, r *http.Request, body string) {
		if id := r.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "-") {
			t.Errorf("x-request-id %q; want one that no plan has", id)
		}
		if f.trials.Load() == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		stream(4, usage4)(w, r, body)
	}
	s := httptest.NewServer(f)
	defer s.Close()
	if _, err := Check(t.Context(), options(s.URL)); err != nil {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := "http://" + l.Addr().String() // accepts and says nothing
	defer l.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + other.Addr().String()
	other.Close()
	plain := httptest.NewServer(&fake{models: list("m")})
	defer plain.Close()
	for target, want := range map[string]string{
		closed: "connection refused", silent: "no answer within 50ms",
		strings.Replace(plain.URL, "http:", "https:", 1): "the server speaks HTTP, not HTTPS",
	} {
		o := options(target)
		if target == silent {
			o.Connect = 50 * time.Millisecond
		}
		_, err := Check(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), target+": "+want) || hint(err) == "" {
			t.Errorf("Check(%s) = %v, hint %q; want %q", target, err, hint(err), want)
		}
	}
}

// Servers repeat what they were sent; nothing of it reaches an error or the header of the run.
func TestSecretsAreNotRepeated(t *testing.T) {
	const key, own, team = "sk-0123456789", `a "quoted" value`, "blue42"
	headers := http.Header{"Authorization": {"Bearer " + key}, "X-Own": {own}, "X-Team": {team}}
	leak := func(r *http.Request) string {
		b, _ := json.Marshal(r.Header)
		return string(b)
	}
	for name, trial := range map[string]func(http.ResponseWriter, *http.Request, string){
		"in an error":     func(w http.ResponseWriter, r *http.Request, _ string) { http.Error(w, leak(r), 400) },
		"in a bad answer": func(w http.ResponseWriter, r *http.Request, _ string) { fmt.Fprint(w, leak(r)) },
		"not at all":      stream(4, usage4),
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/chat/completions" {
				b, _ := io.ReadAll(r.Body)
				trial(w, r, string(b))
				return
			}
			fmt.Fprintf(w, `{"data":[{"id":"m","owned_by":%q}],"you_sent":%s}`, team, leak(r))
		}))
		o := options(s.URL)
		o.Header = headers
		f, err := Check(t.Context(), o)
		if (err == nil) != (name == "not at all") {
			t.Errorf("%s: Check = %v", name, err)
		}
		said := fmt.Sprint(err)
		if f != nil {
			said += string(f.Server)
		}
		for _, secret := range []string{key, own, team, `a \"quoted`, key[:8]} {
			if strings.Contains(said, secret) {
				t.Errorf("%s: %q is in %s", name, secret, said)
			}
		}
		if f != nil && !strings.Contains(string(f.Server), `"id":"m"`) {
			t.Errorf("%s: server = %s; want all but the secrets", name, f.Server)
		}
		s.Close()
	}
}

// A server that does not speak TLS closes the connection, or answers in plain HTTP.
func TestPlainServerBehindHTTPS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 100)) // what is left unread makes it a reset
			c.Close()
		}
	}()
	if _, err := Check(t.Context(), options("https://"+l.Addr().String())); err == nil || !strings.Contains(hint(err), "http://") {
		t.Errorf("Check = %v, hint %q; want one that names http://", err, hint(err))
	}
}
