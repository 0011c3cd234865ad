package wire

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// authority makes a certificate authority and a certificate of its for a server, which
// is valid until end and names name.
func authority(t testing.TB, name string, end time.Time) (ca []byte, server tls.Certificate) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sign := func(c, parent *x509.Certificate, of *ecdsa.PublicKey, by *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, parent, of, by)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	rootKey, leafKey := key(), key()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	rootDER := sign(root, root, &rootKey.PublicKey, rootKey)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Unix(0, 0), NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		leaf.IPAddresses = []net.IP{ip}
	} else {
		leaf.DNSNames = []string{name}
	}
	leafDER := sign(leaf, root, &leafKey.PublicKey, rootKey)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}
}

func trust(t testing.TB, ca []byte) *tls.Config {
	t.Helper()
	c, err := Trust(ca)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// secure starts a server of h with a certificate.
func secure(t testing.TB, c tls.Certificate, h2 bool, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = h2
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{c}}
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestOwnAuthority(t *testing.T) {
	ca, cert := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	srv := secure(t, cert, false, handler(good))
	row := do(t, engine(t, Options{TLS: trust(t, ca)}), prepared(t, srv.URL))
	if row.Outcome != run.OK || !row.TLSNS.Valid {
		t.Errorf("outcome %s %q, tls %v", row.Outcome, row.Error, row.TLSNS)
	}
	if warm() && (!row.FirstTokenKernelNS.Valid || !row.SegmentsIn.Valid) {
		t.Errorf("kernel %v, segments %v; want the stamps below TLS", row.FirstTokenKernelNS, row.SegmentsIn)
	}
}

// A certificate that does not hold says why.
func TestBadCertificates(t *testing.T) {
	ca, good1 := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	otherCA, _ := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	oldCA, old := authority(t, "127.0.0.1", time.Unix(3600, 0))
	nameCA, name := authority(t, "example.org", time.Now().Add(time.Hour))
	for _, c := range []struct {
		name string
		cert tls.Certificate
		ca   []byte
		want string
	}{
		{"unknown to the system", good1, nil, "signed by unknown authority"},
		{"unknown authority", good1, otherCA, "unknown authority"},
		{"expired", old, oldCA, "certificate has expired"},
		{"another name", name, nameCA, "127.0.0.1"},
		{"right", good1, ca, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := secure(t, c.cert, false, handler(good))
			row := do(t, engine(t, Options{TLS: trust(t, c.ca)}), prepared(t, srv.URL))
			if c.want == "" {
				if row.Outcome != run.OK {
					t.Errorf("outcome %s %q; want ok", row.Outcome, row.Error)
				}
				return
			}
			if row.Outcome != run.ConnectError || !strings.Contains(row.Error, "certificate") || !strings.Contains(row.Error, c.want) {
				t.Errorf("outcome %s %q; want connect_error with %q", row.Outcome, row.Error, c.want)
			}
			if strings.HasPrefix(row.Error, run.LocalPrefix) || row.ConnReadyNS.Valid {
				t.Errorf("error %q, conn_ready %v; want the peer's fault before a connection", row.Error, row.ConnReadyNS)
			}
		})
	}
	plain := httptest.NewServer(handler(nil))
	defer plain.Close()
	row := do(t, engine(t, Options{}), prepared(t, strings.Replace(plain.URL, "http:", "https:", 1)))
	if row.Outcome != run.ConnectError || !strings.Contains(row.Error, "the server speaks HTTP, not HTTPS") {
		t.Errorf("no TLS there: %s %q", row.Outcome, row.Error)
	}
}

func TestTLSNeverComesUp(t *testing.T) {
	silent := &server{}
	silent.listen(t, func(c net.Conn) { hold(c) })
	row := do(t, engine(t, Options{ConnectTimeout: 50 * time.Millisecond}), prepared(t, "https://"+silent.addr))
	if row.Outcome != run.ConnectError || !strings.Contains(row.Error, "connect timeout after 50ms") || row.ConnReadyNS.Valid {
		t.Errorf("outcome %s %q, conn_ready %v", row.Outcome, row.Error, row.ConnReadyNS)
	}
}

func TestTrust(t *testing.T) {
	ca, _ := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	if c, err := Trust(append(bytes.Clone(ca), ca...)); err != nil || c == nil {
		t.Errorf("Trust of two = %v, %v", c, err)
	}
	if c, err := Trust(nil); err != nil || c != nil {
		t.Errorf("Trust of nothing = %v, %v; want the defaults", c, err)
	}
	for in, want := range map[string]string{
		"hello": "got no PEM block",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})):              `block 1: got "PRIVATE KEY"`,
		string(ca) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})): "block 2: ",
	} {
		if _, err := Trust([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Trust = %v; want %q", err, want)
		}
	}
}

// A server that ends its HTTP/2 connections in good order costs the requests that it
// refuses and no other: those it has are answered, those to come go elsewhere.
func TestGoAwayCostsWhatItRefuses(t *testing.T) {
	const n = 400
	ca, cert := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	var served atomic.Int64
	srv := secure(t, cert, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1)%25 == 0 {
			w.Header().Set("Connection", "close") // a GOAWAY, with HTTP/2
		}
		handler(good)(w, r)
	}))
	counters := new(Counters)
	e := engine(t, Options{TLS: trust(t, ca), HTTP2: true, Counters: counters})
	got := many(t, e, srv.URL, n, 20)
	if got[run.OK]+got[run.ConnectError] != n || int64(got[run.OK]) != served.Load() {
		t.Errorf("outcomes %v, %d served; want ok what was served, connect_error the rest", got, served.Load())
	}
	if opened := counters.Opened.Load(); opened < 2 || opened > n/2 {
		t.Errorf("%d connections; want some, shared", opened)
	}
}

// A frame of HTTP/2.
type frame struct {
	typ, flags byte
	stream     uint32
	payload    []byte
}

const (
	frameData, frameHeaders, frameSettings, frameGoAway = 0, 1, 4, 7
	endStream, endHeaders, ack                          = 1, 4, 1
)

func readFrame(r io.Reader) (f frame, err error) {
	var h [9]byte
	if _, err = io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	f = frame{h[3], h[4], binary.BigEndian.Uint32(h[5:]), make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))}
	_, err = io.ReadFull(r, f.payload)
	return f, err
}

func (f frame) bytes() []byte {
	n := len(f.payload)
	h := []byte{byte(n >> 16), byte(n >> 8), byte(n), f.typ, f.flags}
	return append(binary.BigEndian.AppendUint32(h, f.stream), f.payload...)
}

// goingAway serves HTTP/2 by hand. Each connection takes two streams; a third one is
// refused by a GOAWAY, and only then is the second one answered.
func goingAway(t testing.TB, cert tls.Certificate) (s *server, refused *atomic.Int64) {
	s, refused = &server{}, new(atomic.Int64)
	config := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
	s.listen(t, func(raw net.Conn) {
		c := tls.Server(raw, config)
		preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		if _, err := io.ReadFull(c, preface); err != nil {
			return
		}
		send := func(f frame) { _, _ = c.Write(f.bytes()) }
		answer := func(stream uint32) {
			send(frame{frameHeaders, endHeaders, stream, []byte{0x88}}) // :status 200
			send(frame{frameData, endStream, stream, []byte(strings.Join(good, ""))})
		}
		send(frame{typ: frameSettings})
		for {
			f, err := readFrame(c)
			switch {
			case err != nil:
				return
			case f.typ == frameSettings && f.flags&ack == 0:
				send(frame{typ: frameSettings, flags: ack})
			case f.typ == frameHeaders && f.stream == 1:
				s.requests.Add(1)
				answer(1)
			case f.typ == frameHeaders && f.stream == 3:
				s.requests.Add(1)
			case f.typ == frameHeaders && f.stream == 5:
				refused.Add(1)
				send(frame{typ: frameGoAway, payload: []byte{0, 0, 0, 3, 0, 0, 0, 0}})
				answer(3)
			}
		}
	})
	return s, refused
}

// What a GOAWAY refuses has a row that says so; what it does not refuse is answered.
func TestGoAwayRefuses(t *testing.T) {
	ca, cert := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	s, refused := goingAway(t, cert)
	e := engine(t, Options{TLS: trust(t, ca), HTTP2: true})
	url := "https://" + s.addr + "/v1/chat/completions"
	for range 5 {
		if row := do(t, e, prepared(t, url)); row.Outcome != run.OK {
			t.Fatalf("first of a connection: %s %q", row.Outcome, row.Error)
		}
		var second, third run.Request
		var wg sync.WaitGroup
		before := s.requests.Load()
		wg.Go(func() { perform(context.Background(), e, prepared(t, url), &second) })
		settle(t, "requests missing", 0, func() int { return int(before + 1 - s.requests.Load()) })
		perform(context.Background(), e, prepared(t, url), &third)
		wg.Wait()
		if second.Outcome != run.OK || second.TokenEvents != formats.Some(2) {
			t.Errorf("not refused: %s %q, %v tokens; want ok", second.Outcome, second.Error, second.TokenEvents)
		}
		if third.Outcome != run.ConnectError || !strings.Contains(third.Error, "GOAWAY") {
			t.Errorf("refused: %s %q; want connect_error naming GOAWAY", third.Outcome, third.Error)
		}
	}
	if n := refused.Load(); n != 5 || s.accepted.Load() != 5 {
		t.Errorf("%d refused on %d connections; want 5 on 5: each sent once", n, s.accepted.Load())
	}
}

// More requests in flight than a connection takes streams open another one.
func TestHTTP2OpensWhatItNeeds(t *testing.T) {
	const n, inFlight = 600, 300
	ca, cert := authority(t, "127.0.0.1", time.Now().Add(time.Hour))
	var now atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	srv := secure(t, cert, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k := now.Add(1); k == inFlight {
			once.Do(func() { close(full) })
		}
		<-full // all are in flight at once
		now.Add(-1)
		handler(good)(w, r)
	}))
	counters := new(Counters)
	e := engine(t, Options{TLS: trust(t, ca), HTTP2: true, Counters: counters})
	if got := many(t, e, srv.URL, n, inFlight); got[run.OK] != n {
		t.Errorf("outcomes %v; want %d ok", got, n)
	}
	if opened := counters.Opened.Load(); opened < 2 || opened > inFlight/2 {
		t.Errorf("%d connections for %d requests in flight", opened, inFlight)
	}
}
