package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answerOf is what a response made of its bytes.
type answerOf struct {
	Status   int
	Reason   string
	Encoding string
	Persists bool
	Body     string
	Rest     int  // bytes behind the answer
	Bad      bool // refused
	Cut      bool // the end came too soon
	Headed   bool
}

// parsed feeds pieces to a response, then the end of the connection.
func parsed(pieces ...string) (a answerOf) {
	var r response
	var body []byte
	for i, piece := range pieces {
		for p := []byte(piece); len(p) > 0; {
			if r.done() {
				a.Rest = len(p) + len(strings.Join(pieces[i+1:], ""))
				break
			}
			b, n, err := r.step(p)
			body = append(body, b...)
			if err != nil {
				a.Bad = true
				break
			}
			p = p[n:]
		}
		if a.Bad || a.Rest > 0 {
			break
		}
	}
	if !a.Bad && !r.done() {
		a.Cut = r.eof() != nil
	}
	a.Headed, a.Body = r.headed(), string(body)
	if a.Headed {
		a.Status, a.Reason, a.Encoding, a.Persists = int(r.status), r.reason(), r.encoding(), r.persists
	}
	return a
}

var responseCases = []struct {
	name string
	in   string
	want answerOf
}{
	{"by length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", answerOf{Status: 200, Body: "abc", Persists: true, Headed: true}},
	{"bytes behind it", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcde", answerOf{Status: 200, Body: "abc", Persists: true, Headed: true, Rest: 2}},
	{"short of it", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", answerOf{Status: 200, Body: "abc", Persists: true, Headed: true, Cut: true}},
	{"nothing", "", answerOf{Cut: true}},
	{"half a header", "HTTP/1.1 200 OK\r\nCont", answerOf{Cut: true}},
	{"bare line feeds", "HTTP/1.1 200 OK\ncontent-length: 1\n\na", answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"no reason", "HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n", answerOf{Status: 500, Reason: "500 ", Persists: true, Headed: true}},
	{"no reason, no blank", "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", answerOf{Status: 503, Reason: "503", Persists: true, Headed: true}},
	{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA ; x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
		answerOf{Status: 200, Body: "abc", Persists: true, Headed: true, Bad: true}},
	{"extensions", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n000\r\n\r\n",
		answerOf{Status: 200, Body: "abc0123456789", Persists: true, Headed: true}},
	{"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n",
		answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"bad trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", answerOf{Status: 200, Persists: true, Headed: true, Bad: true}},
	{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", answerOf{Status: 200, Body: "a", Persists: true, Headed: true, Cut: true}},
	{"chunk of no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", answerOf{Status: 200, Persists: true, Headed: true, Bad: true}},
	{"chunk without its end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naXY", answerOf{Status: 200, Body: "a", Persists: true, Headed: true, Bad: true}},
	{"half of its end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naX", answerOf{Status: 200, Body: "a", Persists: true, Headed: true, Cut: true}},
	{"bare line feed in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n", answerOf{Status: 200, Persists: true, Headed: true, Bad: true}},
	{"chunked wins over a length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"until the end", "HTTP/1.1 200 OK\r\n\r\nabc", answerOf{Status: 200, Body: "abc", Headed: true}},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", answerOf{Status: 200, Body: "a", Headed: true}},
	{"HTTP/1.0, kept", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: x, Keep-Alive\r\n\r\na", answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"HTTP/1.0 has no chunks", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", answerOf{Status: 200, Body: "0\r\n", Headed: true}},
	{"close", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n", answerOf{Status: 200, Headed: true}},
	{"interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
		answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", answerOf{Status: 204, Persists: true, Headed: true}},
	{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", answerOf{Status: 304, Reason: "304 Not Modified", Persists: true, Headed: true}},
	{"gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", answerOf{Status: 200, Encoding: "gzip", Persists: true, Headed: true}},
	{"identity", "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 0\r\n\r\n", answerOf{Status: 200, Persists: true, Headed: true}},
	{"folded line", "HTTP/1.1 200 OK\r\nContent-Encoding:\r\n  gzip\r\nContent-Length: 0\r\n\r\n", answerOf{Status: 200, Encoding: "gzip", Persists: true, Headed: true}},
	{"equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", answerOf{Status: 200, Body: "a", Persists: true, Headed: true}},
	{"unequal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", answerOf{Bad: true}},
	{"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", answerOf{Bad: true}},
	{"another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", answerOf{Bad: true}},
	{"another protocol", "SMTP ready\r\n", answerOf{Bad: true}},
	{"an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n", answerOf{Bad: true}},
	{"no code", "HTTP/1.1 OK\r\n\r\n", answerOf{Bad: true}},
	{"no version", "HTTP/x.y 200 OK\r\n\r\n", answerOf{Bad: true}},
	{"no colon", "HTTP/1.1 200 OK\r\nhello\r\n\r\n", answerOf{Bad: true}},
	{"a blank in front", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", answerOf{Bad: true}},
	{"a control character", "HTTP/1.1 200 OK\r\nA: b\x00\r\n\r\n", answerOf{Bad: true}},
	{"a name that is none", "HTTP/1.1 200 OK\r\nA(: b\r\n\r\n", answerOf{Bad: true}},
}

// Each case whole, byte by byte, and cut in two at every offset.
func TestResponseAtEverySplit(t *testing.T) {
	for _, c := range responseCases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, parsed(c.in)); d != "" {
				t.Fatalf("whole (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.want, parsed(strings.Split(c.in, "")...)); d != "" {
				t.Errorf("byte by byte (-want +got):\n%s", d)
			}
			for i := range len(c.in) {
				if d := cmp.Diff(c.want, parsed(c.in[:i], c.in[i:])); d != "" {
					t.Fatalf("cut at %d (-want +got):\n%s", i, d)
				}
			}
		})
	}
}

func TestResponseLimits(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	for _, c := range []struct {
		name, in string
		bad      bool
	}{
		{"header below its limit", head + "A: " + strings.Repeat("b", maxHeader-len(head)-8) + "\r\n\r\n", false},
		{"header above it", head + "A: " + strings.Repeat("b", maxHeader), true},
		{"interim answers without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n", maxHeader/30), true},
		{"chunk line above its limit", head + "\r\n1;" + strings.Repeat("x", maxChunkLine), true},
		{"trailer above its limit", head + "\r\n0\r\nX: " + strings.Repeat("x", maxChunkLine), true},
		{"extensions beyond measure", head + "\r\n" + strings.Repeat("1;"+strings.Repeat("x", 100)+"\r\na\r\n", 250), true},
		{"single bytes are none", head + "\r\n" + strings.Repeat("1\r\na\r\n", 20000), false},
		{"chunk size above its limit", head + "\r\n8000000000000000\r\n", true},
		{"chunk size of 17 digits", head + "\r\n00000000000000001\r\n", true},
	} {
		if a := parsed(c.in); a.Bad != c.bad {
			t.Errorf("%s: refused %t; want %t", c.name, a.Bad, c.bad)
		}
		if a := parsed(strings.Split(c.in, "\n")...); strings.Contains(c.name, "interim") && !a.Bad && !a.Cut {
			t.Errorf("%s in pieces: %+v", c.name, a)
		}
	}
}

// oracle reads an answer with net/http, the slow and obvious way.
func oracle(in string) (a answerOf, ok bool) {
	br := bufio.NewReaderSize(strings.NewReader(in), 1<<16)
	req, _ := http.NewRequest("POST", "http://h/", nil)
	for {
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return a, false
		}
		if s := resp.Status; s[0] == '+' || s[0] == '-' { // a number to net/http, no three digits to RFC 9112
			return a, false
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != 101 {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		a = answerOf{Status: resp.StatusCode, Body: string(body), Persists: !resp.Close && resp.StatusCode != 101, Headed: true}
		if resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 {
			a.Persists = false
		}
		if a.Encoding = resp.Header.Get("Content-Encoding"); a.Encoding == "identity" {
			a.Encoding = ""
		}
		rest, _ := io.ReadAll(br)
		a.Rest = len(rest)
		return a, err == nil
	}
}

// FuzzResponse: the answer does not depend on how it is cut, and is what net/http reads.
func FuzzResponse(f *testing.F) {
	for _, c := range responseCases {
		f.Add([]byte(c.in), uint16(7))
	}
	f.Add([]byte("HTTP/1.1 -00 \r\nContent-Length: 0\r\n\r\n"), uint16(7))
	f.Fuzz(func(t *testing.T, in []byte, at uint16) {
		if len(in) > 3000 { // the limits differ in where they are noticed
			return
		}
		whole := parsed(string(in))
		cut := int(at) % (len(in) + 1)
		if d := cmp.Diff(whole, parsed(string(in[:cut]), string(in[cut:]))); d != "" {
			t.Fatalf("cut at %d (-whole +cut):\n%s", cut, d)
		}
		if d := cmp.Diff(whole, parsed(strings.Split(string(bytes.ToValidUTF8(in, nil)), "")...)); d != "" && bytes.Equal(in, bytes.ToValidUTF8(in, nil)) {
			t.Fatalf("in pieces (-whole +pieces):\n%s", d)
		}
		want, ok := oracle(string(in))
		if got := !whole.Bad && !whole.Cut; got != ok {
			t.Fatalf("accepted %t (%+v); net/http says %t (%+v)", got, whole, ok, want)
		}
		if ok {
			whole.Reason = ""
			if d := cmp.Diff(want, whole); d != "" {
				t.Fatalf("(-net/http +got):\n%s", d)
			}
		}
	})
}
