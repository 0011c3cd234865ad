package sim

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxHeader bounds the head of a request in bytes.
const maxHeader = 1 << 20

// maxDirect is the body size up to which its announced length is believed at once;
// a longer body grows with what arrives.
const maxDirect = 1 << 20

// wire is one connection of Serve: a small HTTP/1.1 server. With net/http's own an
// event takes a goroutine switch, a third more CPU, and cannot be followed by a
// reset.
type wire struct {
	srv  *Server
	conn net.Conn
	in   headLimit
	br   *bufio.Reader
	raw  *rawWriter // nil when the connection is no socket
	old  bool       // HTTP/1.0: no chunks
	last bool       // close after this response
	bare bool       // HEAD: no body
}

// headLimit fails once a request head is longer than it may be.
type headLimit struct {
	r    io.Reader
	left int64
}

var errHead = errors.New("request head too long")

func (h *headLimit) Read(b []byte) (int, error) {
	if h.left <= 0 {
		return 0, errHead
	}
	n, err := h.r.Read(b)
	h.left -= int64(n)
	return n, err
}

func newWire(s *Server, c net.Conn) *wire {
	w := &wire{srv: s, conn: c, raw: newRawWriter(c), in: headLimit{r: c}}
	w.br = bufio.NewReader(&w.in)
	return w
}

// serve answers one request after the other until the connection ends.
func (w *wire) serve() {
	defer w.conn.Close()
	for !w.last {
		w.in.left = maxHeader
		r, err := http.ReadRequest(w.br)
		if err != nil {
			if !errors.Is(err, io.EOF) && !isNet(err) {
				w.last = true
				w.reply(failure(http.StatusBadRequest, "the request head cannot be read: "+err.Error()))
			}
			return
		}
		w.in.left = 1 << 62
		w.old = !r.ProtoAtLeast(1, 1)
		w.last = r.Close || w.old
		w.bare = r.Method == http.MethodHead
		if w.serveOne(r) != nil {
			return
		}
	}
}

func isNet(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// serveOne reads the body and answers. An error means the connection is done for.
func (w *wire) serveOne(r *http.Request) error {
	if p := w.srv.plain(r.Method, r.URL.Path); p != nil {
		if r.ContentLength != 0 { // not worth reading
			w.last = true
		}
		return w.reply(p)
	}
	raw, err := w.body(r)
	if err != nil {
		var f *refusal
		if errors.As(err, &f) {
			w.last = true
			if err := w.reply(failure(f.status, f.text)); err == nil {
				w.linger()
			}
		}
		return err
	}
	st, p := w.srv.generate(r.URL.Path, r.Header.Get("X-Request-Id"), raw, w)
	if p != nil {
		return w.reply(p)
	}
	st.script.chunked, st.close = !w.old, w.last
	st.start()
	raw, r = nil, nil
	// Until the response is whole the next byte of the client is waited for: it tells
	// a client that has gone, and is the next request's otherwise.
	w.in.left = maxHeader
	if _, err := w.br.Peek(1); err != nil {
		st.abort()
		<-st.finished
		return err
	}
	<-st.finished
	if st.end != ended {
		return net.ErrClosed
	}
	return nil
}

// body reads the request body, at most as long as it may be.
func (w *wire) body(r *http.Request) ([]byte, error) {
	limit := w.srv.spec.Body
	tooLong := &refusal{http.StatusRequestEntityTooLarge, "the body is longer than " + formatBytes(limit)}
	if r.ContentLength > limit {
		return nil, tooLong
	}
	if r.ContentLength != 0 && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		if _, err := io.WriteString(w.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, err
		}
	}
	if n := r.ContentLength; n >= 0 && n <= maxDirect {
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		if err == nil { // also takes the end of the body off the connection
			_, err = io.Copy(io.Discard, r.Body)
		}
		return b, err
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, tooLong
	}
	return b.Bytes(), nil
}

// linger takes what the client is still sending, so that closing does not reset
// the connection before it has read the answer.
func (w *wire) linger() {
	if c, ok := w.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	_ = w.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, w.conn, w.srv.spec.Body)
}

// reply writes an answer that needs no model.
func (w *wire) reply(p *reply) error {
	b := w.head(nil, p.status, p.ctype, len(p.body))
	if !w.bare {
		b = append(b, p.body...)
	}
	return w.write(b)
}

func (w *wire) head(dst []byte, status int, ctype string, length int) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(status)...)
	dst = append(dst, "\r\nServer: hydrant-sim\r\nContent-Type: "...)
	dst = append(dst, ctype...)
	switch {
	case length >= 0:
		dst = append(dst, "\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(length), 10)
	case w.old:
	default:
		dst = append(dst, "\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked"...)
	}
	if w.last {
		dst = append(dst, "\r\nConnection: close"...)
	}
	return append(dst, "\r\n\r\n"...)
}

func (w *wire) try(b []byte) (int, error) {
	if w.raw == nil {
		return 0, nil
	}
	return w.raw.write(b)
}

func (w *wire) write(b []byte) error {
	_, err := w.conn.Write(b)
	return err
}

func (*wire) kick() bool { return false }

func (w *wire) fail(rst bool) {
	if c, ok := w.conn.(*net.TCPConn); ok && rst {
		_ = c.SetLinger(0)
	}
	w.conn.Close()
}
