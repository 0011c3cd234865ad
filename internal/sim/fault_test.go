package sim

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What a client sees of each fault, over a real socket.
func TestFaults(t *testing.T) {
	const streamed = `{"prompt":"a","max_tokens":6,"stream":true}`
	tokens := func(got string) int { return strings.Count(got, `"text":" t`) }
	for _, c := range []struct {
		fault  string
		status int
		broken bool // the body does not end as HTTP says
		tokens int
		done   bool
		has    string
	}{
		{"", 200, false, 6, true, `"finish_reason":"length"`},
		{"fail=503:1", 503, false, 0, false, `{"error":{"message":"injected failure"`},
		{"error_body=1", 200, false, 0, false, `{"error":`},
		{"error_first=1", 200, false, 0, true, `data: {"error":`},
		{"error_mid=1", 200, false, 3, true, `data: {"error":`},
		{"garbage=1", 200, false, 6, true, `data: {"id":"garbage", not json`},
		{"after_done=1", 200, false, 7, true, "[DONE]\n\ndata: {"},
		{"flood=200KiB:1", 200, true, 3, false, strings.Repeat("x", 200<<10)},
		{"cut=1", 200, true, 3, false, "\n\n"},
		{"cut_event=1", 200, true, 3, false, ""},
		{"no_done=1", 200, false, 6, false, ""},
		{"reset_mid=1", 200, true, 3, false, ""},
		{"empty=1", 200, false, 0, false, ""},
	} {
		for _, base := range []string{quick, quick + ",stagger", "null"} {
			_, url := listen(t, strings.TrimSuffix(base+","+c.fault, ","))
			status, got, err := post(t, url+"/v1/completions", "1", streamed)
			done := strings.Contains(got, "data: [DONE]")
			n := tokens(got)
			if c.fault == "reset_mid=1" && base == "null" && n < 3 { // RST may overtake what was not read yet
				n = 3
			}
			if status != c.status || (err != nil) != c.broken || n != c.tokens || done != c.done || !strings.Contains(got, c.has) {
				t.Errorf("%s,%s: status %d, error %v, %d tokens, done %t\n%.2000s", base, c.fault, status, err, n, done, got)
			}
			if c.fault == "empty=1" && got != "" {
				t.Errorf("%s,%s: body %q; want none", base, c.fault, got)
			}
			if finish := strings.Contains(got, `"finish_reason":"length"`); finish != (c.tokens >= 6) && c.fault != "no_done=1" {
				t.Errorf("%s,%s: finish reason there = %t", base, c.fault, finish)
			}
		}
	}
	// The same for a request that does not stream: something is always wrong.
	for i := range FaultKinds {
		k := &FaultKinds[i]
		arg := map[string]string{"status": "429:", "bytes": "1KiB:"}[k.Arg]
		if k.Arg == "duration" || k.Key == "hang" {
			continue // TestTimedFaults, TestHang
		}
		_, url := listen(t, quick+","+k.Key+"="+arg+"1")
		status, got, err := post(t, url+"/v1/completions", "1", `{"prompt":"a","max_tokens":6}`)
		if err == nil && status == 200 && json.Valid([]byte(got)) && !strings.HasPrefix(got, `{"error"`) {
			t.Errorf("%s: whole answer %d %s; want a fault", k.Key, status, got)
		}
	}
}

func TestResetAndRefuse(t *testing.T) {
	_, url := listen(t, "null,reset=ids:7")
	_, _, err := post(t, url+"/v1/completions", "7", `{"prompt":"a","max_tokens":1}`)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v; want connection reset", err)
	}
	if status, _, err := post(t, url+"/v1/completions", "8", `{"prompt":"a","max_tokens":1}`); status != 200 || err != nil {
		t.Errorf("other id: %d, %v", status, err)
	}
	s, url := listen(t, "null,refuse=every:2")
	var ok []bool
	for range 4 {
		_, _, err := post(t, url+"/v1/completions", "1", `{"prompt":"a","max_tokens":1}`)
		ok = append(ok, err == nil)
	}
	if !slices.Equal(ok, []bool{true, false, true, false}) || s.metrics.connections.Load() != 4 {
		t.Errorf("every second connection refused: %v", ok)
	}
}

// The same answer inside net/http's own server, for every fault that ends by itself.
func TestHandlerAgreesWithServe(t *testing.T) {
	created := func(s string) string { // the one thing that may differ
		out := ""
		for {
			a, b, ok := strings.Cut(s, `"created":`)
			out += a
			if !ok {
				return out
			}
			s = strings.TrimLeft(b, "0123456789")
		}
	}
	for _, spec := range []string{quick, quick + ",garbage=1", quick + ",error_mid=1", quick + ",cut=1", quick + ",empty=1",
		quick + ",fail=429:1", quick + ",no_done=1", "null", "null,usage=chunks", "null,stall_mid=1ms:1", quick + ",bundle=0"} {
		_, url := listen(t, spec)
		s := New(parse(t, spec))
		h := httptest.NewServer(s)
		for _, body := range []string{`{"prompt":"a b","max_tokens":9,"stream":true,"stream_options":{"include_usage":true}}`, `{"prompt":"a b","max_tokens":9}`} {
			s1, b1, e1 := post(t, url+"/v1/completions", "5", body)
			s2, b2, e2 := post(t, h.URL+"/v1/completions", "5", body)
			if s1 != s2 || created(b1) != created(b2) || (e1 == nil) != (e2 == nil) {
				t.Errorf("%s: Serve %d %v\n%s\nhandler %d %v\n%s", spec, s1, e1, b1, s2, e2, b2)
			}
		}
		h.Close()
		s.Close()
	}
}
