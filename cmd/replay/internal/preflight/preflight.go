// Package preflight looks at the servers before any load is sent: whether they answer,
// what they serve, whether one short request comes back as the run will need it, and how
// they count the tokens of a prompt.
//
// Check is the whole of it. What makes a run pointless is an error with a hint; what
// only costs evidence is a warning.
package preflight

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/wire"
	"hydrant/internal/cli"
)

// Options of Check.
type Options struct {
	URLs     []string // base URLs
	Header   http.Header
	Connect  time.Duration // limit of connecting, and of each small question
	Model    string        // asked for; "": what the server lists
	Endpoint string
	Prompt   string // tokens or text
	Stream   bool
	Pin      bool // the output length is asked for exactly
	Timeout  time.Duration
	CA       []byte // certificate authorities to trust besides the system's, PEM
	HTTP2    bool
	Proxy    bool
}

// Findings is what Check learnt.
type Findings struct {
	Model    string          // to send; "": the server lists none or several, the line's
	Server   json.RawMessage // what the servers say of themselves, for the header
	Warnings []string
	Notes    []string // what is good to know and costs nothing
}

// maxAnswer bounds what is read of a server's word about itself.
const maxAnswer = 1 << 20

// server is one entry of Findings.Server.
type server struct {
	URL     string          `json:"url"`
	Address string          `json:"address"` // the peer that answered
	Models  json.RawMessage `json:"models"`  // /v1/models, null when there is none
	Version json.RawMessage `json:"version"` // /version, null when there is none
	Prompt  *promptCounts   `json:"prompt"`  // null: no trial was sent, or the server counts nothing
}

// Check asks every server, in order.
func Check(ctx context.Context, o Options) (*Findings, error) {
	f := &Findings{Model: o.Model}
	secrets := wire.Secrets(o.Header)
	c, err := newAsker(o)
	if err != nil {
		return nil, err
	}
	defer c.http.CloseIdleConnections()
	var all []server
	var listed []string
	for i, base := range o.URLs {
		s := server{URL: Redact(base)}
		status, body, err := c.get(ctx, base+"/v1/models")
		if err != nil {
			return nil, err
		}
		s.Address = c.peer
		names, ok := models(body)
		switch {
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return nil, refused(base, status)
		case status == http.StatusOK && ok:
			s.Models = wire.RedactJSON(body, secrets)
		}
		if i == 0 {
			listed = names
			if f.Model == "" && len(names) == 1 {
				f.Model = names[0]
			}
		}
		if status, body, err := c.get(ctx, base+"/version"); err == nil && status == http.StatusOK && json.Valid(body) {
			s.Version = wire.RedactJSON(body, secrets)
		}
		model := f.Model
		if model == "" && len(names) > 0 {
			model = names[0]
		}
		if model == "" {
			why := "names no model"
			if status != http.StatusOK {
				why = fmt.Sprintf("has status %d", status)
			}
			f.warn("%s: /v1/models %s and --model is not given: no trial request was sent", s.URL, why)
		} else if s.Prompt, err = try(ctx, o, base, model, listed, f); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	f.Server, err = json.Marshal(all)
	return f, err
}

func (f *Findings) warn(format string, a ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, a...))
}

// models reads the ids of an OpenAI model list.
func models(body []byte) (ids []string, ok bool) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil, false
	}
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, true
}

// asker asks small questions.
type asker struct {
	o      Options
	http   *http.Client
	socket string // path of the Unix socket being asked; "": TCP
	peer   string // address of the last connection
}

func newAsker(o Options) (*asker, error) {
	c := &asker{o: o}
	trust, err := wire.Trust(o.CA)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c.socket != "" {
			network, addr = "unix", c.socket
		}
		conn, err := (&net.Dialer{Timeout: o.Connect}).DialContext(ctx, network, addr)
		if err == nil {
			c.peer = conn.RemoteAddr().String()
		}
		return conn, err
	}, TLSHandshakeTimeout: o.Connect, ResponseHeaderTimeout: o.Connect, TLSClientConfig: trust}
	if o.Proxy {
		t.Proxy = http.ProxyFromEnvironment
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// get asks url. A server that cannot be reached is an error, any answer is not.
func (c *asker) get(ctx context.Context, url string) (status int, body []byte, err error) {
	if c.o.Connect > 0 { // the connection, the answer and its body, each within the limit
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 3*c.o.Connect)
		defer cancel()
	}
	ask := url
	socket, rest, ok := wire.SplitUnix(url)
	if ok {
		ask = rest
	}
	if c.socket != socket { // kept connections go by the host, which all sockets share
		c.http.CloseIdleConnections()
		c.socket = socket
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ask, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", Redact(url), err)
	}
	for k, v := range c.o.Header {
		req.Header[k] = v
	}
	req.Host = req.Header.Get("Host") // net/http takes it from here alone
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "hydrant")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, unreachable(url, err, c.o.Connect, wire.Secrets(c.o.Header))
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, unreachable(url, err, c.o.Connect, wire.Secrets(c.o.Header))
	}
	return resp.StatusCode, body, nil
}

// unreachable says why a server cannot be asked, and what to do about it.
func unreachable(target string, err error, limit time.Duration, secrets []string) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	place := Redact(target)
	if socket, _, ok := wire.SplitUnix(target); ok {
		place = "unix:" + socket
	} else if p, e := url.Parse(target); e == nil {
		place = p.Scheme + "://" + p.Host
	}
	var dns *net.DNSError
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return cli.WithHint(fmt.Errorf("%s: connection refused", place), "no server listens there: start it, or correct --url; --sim default needs no server")
	case errors.As(err, &dns):
		return cli.WithHint(fmt.Errorf("%s: no such host", place), "correct the name in --url")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return cli.WithHint(fmt.Errorf("%s: no answer within %s", place, limit), "look at the network and the server; --connect-timeout sets the limit")
	case errors.As(err, &unknown):
		return cli.WithHint(fmt.Errorf("%s: %w", place, err), "trust the authority that signed it with --ca-file FILE, when it is your own")
	case errors.As(err, &cert):
		return cli.WithHint(fmt.Errorf("%s: %w", place, err), "correct the name in --url, or the server's certificate")
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return cli.WithHint(fmt.Errorf("%s: the server speaks HTTP, not HTTPS", place), "write http:// in --url")
	case strings.HasPrefix(place, "https:") && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return cli.WithHint(fmt.Errorf("%s: the server closed the connection without an answer", place), "write http:// in --url if it does not speak HTTPS")
	}
	return fmt.Errorf("%s: %s", place, wire.Redact(err.Error(), secrets))
}

func refused(base string, status int) error {
	return cli.WithHint(fmt.Errorf("%s: the server refused with status %d", Redact(base), status),
		"give the key with --api-key-env NAME, or other headers with --header-file FILE")
}

// Redact returns a URL without the password it may hold.
func Redact(s string) string {
	if socket, _, ok := wire.SplitUnix(s); ok {
		return "unix:" + socket
	}
	u, err := url.Parse(s)
	if err != nil {
		return "the URL"
	}
	return u.Redacted()
}
