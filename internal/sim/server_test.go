package sim

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// listen serves spec on loopback and returns the URL.
func listen(t *testing.T, spec string) (*Server, string) {
	t.Helper()
	sp, err := ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := New(sp)
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

// post sends a body and returns the response with its whole body.
func post(t *testing.T, url, id, body string) (status int, got string, err error) {
	t.Helper()
	r, _ := http.NewRequest("POST", url, strings.NewReader(body))
	r.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func dataLines(stream string) (ev []string) {
	sc := bufio.NewScanner(strings.NewReader(stream))
	for sc.Scan() {
		if d, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			ev = append(ev, d)
		}
	}
	return ev
}

func TestStream(t *testing.T) {
	for _, spec := range []string{"default,step=1ms", "default,step=1ms,stagger", "null"} {
		_, url := listen(t, spec)
		status, got, err := post(t, url+"/v1/completions", "7", `{"model":"sim","prompt":[1,2,3],"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`)
		t.Log(status, err, got)
		if n := len(dataLines(got)); n != 6 {
			t.Errorf("%s: %d events", spec, n)
		}
	}
}
