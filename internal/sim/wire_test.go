package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Connections are kept: a client that wants one gets by with one for all requests.
// golang/go#13801 is about the client, but a server that closes has the same effect.
func TestConnectionsAreKept(t *testing.T) {
	s, url := listen(t, quick)
	const inFlight, each = 20, 25
	var wg sync.WaitGroup
	for w := range inFlight {
		wg.Go(func() {
			tr := &http.Transport{MaxConnsPerHost: 1}
			defer tr.CloseIdleConnections()
			for i := range each {
				r, _ := http.NewRequest("POST", url+"/v1/completions", strings.NewReader(`{"prompt":"a","max_tokens":3,"stream":true}`))
				r.Header.Set("X-Request-Id", fmt.Sprint(w*each+i))
				resp, err := tr.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || len(dataLines(string(b))) != 5 {
					t.Errorf("request %d: %v, %s", w*each+i, err, b)
				}
			}
		})
	}
	wg.Wait()
	if n, r := s.metrics.connections.Load(), s.metrics.requests.Load(); n != inFlight || r != inFlight*each {
		t.Errorf("%d connections for %d requests; want %d for %d", n, r, inFlight, inFlight*each)
	}
}

// A reader that stops on a real socket: the kernel's buffer fills, the pacing thread
// hands the stream over and goes on, and nothing is lost.
func TestFullSocket(t *testing.T) {
	s, url := listen(t, "default,prefill=inf,step=0s,step_per_seq=0s")
	const n = 200000 // about 40 MB, more than the kernel holds
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := fmt.Sprintf(`{"prompt":"a","max_tokens":%d,"stream":true}`, n)
	fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	waitFor(t, "the model to be done", func() bool { return s.metrics.length.Load() == 1 })
	if status, _, err := post(t, url+"/v1/completions", "2", `{"prompt":"a","max_tokens":2,"stream":true}`); status != 200 || err != nil {
		t.Errorf("other request: %d, %v", status, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(resp.Body)
	next := 0
	for sc.Scan() {
		if _, text, ok := strings.Cut(sc.Text(), `"text":" t`); ok {
			if want := fmt.Sprintf("%04d", next%10000); text[:4] != want {
				t.Fatalf("token %d is t%s; want t%s", next, text[:4], want)
			}
			next++
		}
	}
	if sc.Err() != nil || next != n {
		t.Errorf("%d tokens, %v; want %d", next, sc.Err(), n)
	}
}

// waitFor asks again until the condition holds; the deadline is for a hung test only.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// After many clients that left in mid-stream nothing of them remains.
// phymbert/xk6-sse#23, #48.
func TestNothingIsLeftOfAbortedClients(t *testing.T) {
	s, url := listen(t, "default,prefill=inf,step=1h,hang=every:3")
	get(t, url+"/health")
	http.DefaultClient.CloseIdleConnections()
	waitFor(t, "the first connection to close", func() bool { return s.connections() == 0 })
	before := runtime.NumGoroutine()
	addr := strings.TrimPrefix(url, "http://")
	for i := range 300 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"prompt":"a","max_tokens":10,"stream":true}`
		fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n\r\n%s", i, len(body), body)
		if i%2 == 0 && i%3 != 0 { // headers come at once, tokens never
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	waitFor(t, "all requests to leave", func() bool {
		return s.metrics.connections.Load() == 301 && s.connections() == 0 && s.inside.Load() == 0
	})
	waitFor(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// connections counts those that are open.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) - 1 // the listener
}

func TestConnectionLimit(t *testing.T) {
	_, url := listen(t, "null,conns=2")
	addr := strings.TrimPrefix(url, "http://")
	var open []net.Conn
	for i := range 3 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
		if i < 2 { // answered: the server has it in its books
			fmt.Fprint(c, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := open[2].Read(make([]byte, 1)); err == nil {
		t.Error("the third connection was answered; want it closed")
	}
}

func TestOldAndOddClients(t *testing.T) {
	_, url := listen(t, "null")
	addr := strings.TrimPrefix(url, "http://")
	talk := func(text string) string {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(c)
		return string(b)
	}
	body := `{"prompt":"a","max_tokens":1,"stream":true}`
	if got := talk(fmt.Sprintf("POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(body), body)); !strings.Contains(got, "\r\n\r\ndata: {") || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("HTTP/1.0: %q; want no chunks", got)
	}
	if got := talk(fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body)); !strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200") {
		t.Errorf("Expect: %q", got)
	}
	chunked := fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	if got := talk(chunked + "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); strings.Count(got, "HTTP/1.1 200 OK") != 2 {
		t.Errorf("chunked body and a second request behind it: %q", got)
	}
	if got := talk("nonsense\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400") {
		t.Errorf("nonsense: %q; want 400", got)
	}
	if got := talk("GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\n\r\n"); strings.Contains(got, "200 OK") {
		t.Errorf("2 MiB of path: %.100q; want no answer of success", got)
	}
}
