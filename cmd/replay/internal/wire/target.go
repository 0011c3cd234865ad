package wire

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// UnixURL returns the base URL of a server on a Unix socket. It is understood by the
// engines only: the path of the socket, a colon, and the path of the request.
func UnixURL(socket string) string { return "unix:" + socket + ":" }

// SplitUnix takes a URL that begins with what UnixURL returned to pieces: the path of the
// socket, and the rest as a URL of host localhost.
func SplitUnix(s string) (socket, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "unix:")
	if !ok {
		return "", "", false
	}
	i := strings.LastIndex(s, ":/")
	if i < 0 {
		i = strings.LastIndexByte(s, ':')
	}
	if i <= 0 {
		return "", "", false
	}
	return s[:i], "http://localhost" + s[i+1:], true
}

// A target is where a request goes.
type target struct {
	url    *url.URL
	socket string // path of a Unix socket; "": TCP
}

// targetOf reads a URL. The error does not repeat it.
func targetOf(s string) (t target, err error) {
	socket, rest, ok := SplitUnix(s)
	if ok {
		t.socket, s = socket, rest
	}
	t.url, err = url.Parse(s)
	if err != nil {
		var bad *url.Error // its text would repeat the URL
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return t, err
	}
	return t, nil
}

// address returns host and port.
func (t *target) address() string {
	if t.url.Port() != "" {
		return t.url.Host
	}
	port := "80"
	if t.url.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(t.url.Hostname(), port)
}

// An unusableError is a target that no request can be sent to: a local cause.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }

// headerOf returns the headers of a request but for its id, and the host they name.
// The values are those of k.Header and shared.
func headerOf(k *Kind, u *url.URL) (h http.Header, host string) {
	h = make(http.Header, len(k.Header)+5)
	for name, v := range k.Header {
		h[http.CanonicalHeaderKey(name)] = v
	}
	set := func(key, value string) {
		if _, given := h[key]; !given {
			h[key] = []string{value}
		}
	}
	h["Accept-Encoding"] = []string{"identity"}
	set("Content-Type", "application/json")
	set("User-Agent", "hydrant")
	if k.Stream {
		set("Accept", "text/event-stream, application/json")
	} else {
		set("Accept", "application/json")
	}
	if user := u.User; user != nil {
		password, _ := user.Password()
		basic := http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user.Username(), password)
		set("Authorization", basic.Header.Get("Authorization"))
	}
	if host = h.Get("Host"); host == "" {
		host = u.Host
	}
	return h, host
}
