package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	format "hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/internal/sim"
)

// secure serves the simulated server over TLS and returns its URL and a file with the
// authority to trust.
func secure(t *testing.T) (url, caFile string) {
	t.Helper()
	spec, err := sim.ParseSpec("default")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(sim.New(spec))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return srv.URL, caFile
}

// A server that only a proxy knows, named by the environment: it is used when asked for.
func TestProxy(t *testing.T) {
	spec, err := sim.ParseSpec("default")
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(sim.New(spec)) // a proxy is asked with the whole URL
	t.Cleanup(proxy.Close)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
	plan := planFile(t, []schedule.Request{request(0, 0), request(1, 1e6)})
	run := read(t, replay(t, 0, plan, "--url", "http://inference.invalid:8000", "--proxy").out.Bytes())
	for id, row := range run.rows {
		if row.Outcome != format.OK || row.RemoteAddr != strings.TrimPrefix(proxy.URL, "http://") {
			t.Errorf("request %d is %s (%s) by %s; want ok by the proxy", id, row.Outcome, row.Error, row.RemoteAddr)
		}
	}
	if run.header.Engine != "http" || run.header.Flags["proxy"] != "on" {
		t.Errorf("engine %s, proxy %q", run.header.Engine, run.header.Flags["proxy"])
	}
	if said := replay(t, 3, plan, "--url", "http://inference.invalid:8000").said(); !strings.Contains(said, "no such host") {
		t.Errorf("without --proxy replay says %q; want the proxy unused", said)
	}
}

// A server with a certificate of one's own: over HTTP/1.1 and HTTP/2, with the authority
// named by a flag, and not at all without it.
func TestTLS(t *testing.T) {
	url, ca := secure(t)
	plan := planFile(t, []schedule.Request{request(0, 0), request(1, 1e6), request(2, 2e8)})
	for _, h2 := range []bool{false, true} {
		args := []string{plan, "--url", url, "--ca-file", ca, "--workers", "1"}
		if h2 {
			args = append(args, "--http2")
		}
		run := read(t, replay(t, 0, args...).out.Bytes())
		if run.header.Engine != "http" || run.header.Flags["http2"] != map[bool]string{true: "on"}[h2] || !strings.HasPrefix(run.header.Flags["ca-file"], "sha256 ") {
			t.Errorf("engine %s, http2 %q, ca-file %q", run.header.Engine, run.header.Flags["http2"], run.header.Flags["ca-file"])
		}
		shaken := 0
		for id, row := range run.rows {
			if row.Outcome != format.OK {
				t.Errorf("HTTP/2 %t: request %d is %s (%s)", h2, id, row.Outcome, row.Error)
			}
			if row.TLSNS.Valid {
				shaken++
			}
			if row.Reads.Valid == h2 {
				t.Errorf("HTTP/2 %t: reads %v; want them on a connection of one's own", h2, row.Reads)
			}
		}
		if shaken == 0 || shaken == 3 {
			t.Errorf("HTTP/2 %t: %d handshakes for 3 requests; want connections kept", h2, shaken)
		}
	}
	said := replay(t, 3, plan, "--url", url).said()
	if !strings.Contains(said, "certificate signed by unknown authority") || !strings.Contains(said, "hint: ") || !strings.Contains(said, "--ca-file") {
		t.Errorf("without the authority replay says %q", said)
	}
	// and without a preflight each request says it
	for id, row := range read(t, replay(t, 0, plan, "--url", url, "--preflight", "off", "--model", "sim").out.Bytes()).rows {
		if row.Outcome != format.ConnectError || !strings.Contains(row.Error, "certificate signed by unknown authority") {
			t.Errorf("request %d is %s (%s); want connect_error for the certificate", id, row.Outcome, row.Error)
		}
	}
}
