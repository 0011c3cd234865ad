package matrix

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// gather starts a proxy in front of a server, as a gateway with a buffer is: it hands on
// what came in 50 ms at once. It returns its URL.
func gather(t *testing.T, server string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.RequestURI(), r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		out.Header, out.ContentLength = r.Header.Clone(), r.ContentLength
		in, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer in.Body.Close()
		for k, v := range in.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(in.StatusCode)
		handOn(w, in.Body)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// handOn copies a body and lets what came go out each 50 ms.
func handOn(w http.ResponseWriter, body io.Reader) {
	parts := make(chan []byte)
	go func() {
		defer close(parts)
		for {
			b := make([]byte, 16<<10)
			n, err := body.Read(b)
			if n > 0 {
				parts <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	flush := time.NewTicker(50 * time.Millisecond)
	defer flush.Stop()
	var kept []byte
	for {
		select {
		case b, more := <-parts:
			kept = append(kept, b...)
			if !more {
				w.Write(kept)
				return
			}
		case <-flush.C:
			w.Write(kept)
			w.(http.Flusher).Flush()
			kept = kept[:0]
		}
	}
}
