//go:build linux

// Command paced is the server of the benchmarks: one thread that answers chat requests
// with one token event per PERIOD, each in a write of its own, and works out nothing. The
// events of all streams stand in one queue in order of time, since all have the same
// period. A request without "stream":true is answered whole and at once.
//
//	paced PERIOD ADDR[ ADDR...]
//
// GET /stats tells what was written, and how late.
package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// EventBytes is the length of one token event, without the framing of its HTTP chunk.
const EventBytes = 245

const (
	head  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	whole = `{"id":"paced","object":"chat.completion","created":1,"model":"paced","choices":[{"index":0,"message":{"role":"assistant","content":"one"},"finish_reason":"length"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"total_tokens":101}}`
)

// conn is one connection and the answer it is in.
type conn struct {
	in    []byte // of a request that is not whole yet
	left  int    // token events to come
	total int    // of this answer
	rest  []byte // what the kernel did not take yet
}

// slot is the next event of a connection.
type slot struct {
	due int64
	fd  int32
}

type server struct {
	period int64
	epoll  int
	doors  map[int32]bool
	conns  []*conn // by descriptor
	queue  []slot  // in order of time
	first  int     // of queue
	event  []byte
	buf    [256 << 10]byte

	written, blocked int64
	late             [10001]int64 // events by lateness in 10 µs
}

func main() {
	period, err := time.ParseDuration(os.Args[1])
	check(err)
	runtime.LockOSThread()
	check(unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0))
	s := &server{period: int64(period), doors: map[int32]bool{}, event: event()}
	s.epoll, err = unix.EpollCreate1(0)
	check(err)
	for _, a := range os.Args[2:] {
		s.listen(netip.MustParseAddrPort(a))
	}
	fmt.Println("listening")
	s.run()
}

func (s *server) listen(a netip.AddrPort) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	check(err)
	check(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	check(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)) // inherited
	check(unix.Bind(fd, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}))
	check(unix.Listen(fd, 4096))
	s.doors[int32(fd)] = true
	s.watch(fd)
}

func (s *server) watch(fd int) {
	check(unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(fd)}))
}

func (s *server) run() {
	events := make([]unix.EpollEvent, 512)
	for {
		n, err := s.wait(events)
		if err != nil && err != unix.EINTR {
			check(err)
		}
		for _, e := range events[:max(n, 0)] {
			switch {
			case s.doors[e.Fd]:
				s.accept(int(e.Fd))
			case !s.read(int(e.Fd)):
				s.conns[e.Fd] = nil // its slot in the queue is skipped
				check(unix.Close(int(e.Fd)))
			}
		}
		for t, budget := now(), 256; budget > 0 && s.first < len(s.queue) && s.queue[s.first].due <= t; budget-- {
			s.step(s.queue[s.first], t)
			s.first++
		}
		if s.first > 1<<16 {
			s.queue = append(s.queue[:0], s.queue[s.first:]...)
			s.first = 0
		}
	}
}

// wait returns what can be read, at the latest when the next event is due.
func (s *server) wait(events []unix.EpollEvent) (int, error) {
	if s.first == len(s.queue) {
		return unix.EpollWait(s.epoll, events, -1)
	}
	return pwait2(s.epoll, events, max(s.queue[s.first].due-now(), 0))
}

func (s *server) accept(door int) {
	for {
		fd, _, err := unix.Accept4(door, unix.SOCK_NONBLOCK)
		if err != nil {
			return
		}
		for len(s.conns) <= fd {
			s.conns = append(s.conns, nil)
		}
		s.conns[fd] = &conn{}
		s.watch(fd)
	}
}

// read takes what came; false means the connection is over.
func (s *server) read(fd int) bool {
	c := s.conns[fd]
	n, err := unix.Read(fd, s.buf[:])
	if err == unix.EAGAIN {
		return true
	}
	if n <= 0 {
		return false
	}
	b := s.buf[:n]
	if len(c.in) > 0 {
		c.in = append(c.in, b...)
		b = c.in
	}
	for len(b) > 0 {
		size := requestSize(b)
		if size < 0 || len(b) < size {
			c.in = append([]byte(nil), b...)
			return true
		}
		s.answer(fd, c, b[:size])
		b = b[size:]
	}
	c.in = nil
	return true
}

// requestSize is the length of the request at the start of b, -1 when its head is not whole.
func requestSize(b []byte) int {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return -1
	}
	return end + 4 + after(bytes.ToLower(b[:end]), "content-length:", 0)
}

func after(b []byte, key string, none int) int {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return none
	}
	n := 0
	for _, d := range bytes.TrimLeft(b[i+len(key):], " ") {
		if d < '0' || d > '9' {
			break
		}
		n = n*10 + int(d-'0')
	}
	return n
}

func (s *server) answer(fd int, c *conn, request []byte) {
	switch {
	case bytes.HasPrefix(request, []byte("GET ")):
		s.write(fd, c, document("text/plain", s.stats()))
	case !bytes.Contains(request, []byte(`"stream":true`)):
		s.write(fd, c, document("application/json", whole))
	default:
		c.total = max(after(request, `"max_tokens":`, 1), 1)
		c.left = c.total
		s.write(fd, c, []byte(head))
		t := now()
		s.step(slot{t, int32(fd)}, t)
	}
}

func document(kind, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", kind, len(body), body)
}

// step writes the event that is due, at t, and queues the next one.
func (s *server) step(at slot, t int64) {
	c := s.conns[at.fd]
	if c == nil || c.left == 0 {
		return
	}
	s.late[min(max(t-at.due, 0)/10_000, 10_000)]++
	s.written++
	s.write(int(at.fd), c, s.event)
	if c.left--; c.left > 0 {
		s.queue = append(s.queue, slot{at.due + s.period, at.fd})
		return
	}
	end := fmt.Sprintf(`data: {"id":"paced","object":"chat.completion.chunk","created":1,"model":"paced","choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":100,"completion_tokens":%d,"total_tokens":%d}}`,
		c.total, 100+c.total) + "\n\ndata: [DONE]\n\n"
	s.write(int(at.fd), c, fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(end), end))
}

func (s *server) write(fd int, c *conn, b []byte) {
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		b = c.rest
	}
	n, err := write(fd, b)
	if n < len(b) && (err == nil || err == unix.EAGAIN) {
		s.blocked++
		c.rest = append([]byte(nil), b[max(n, 0):]...)
		return
	}
	c.rest = nil // also when the client is gone: its end is read
}

// stats is one line of JSON.
func (s *server) stats() string {
	rank := func(share float64) int {
		var n int64
		for i, k := range s.late {
			if n += k; float64(n) >= share*float64(s.written) {
				return i * 10
			}
		}
		return 0
	}
	return fmt.Sprintf(`{"events":%d,"blocked":%d,"late_p50_us":%d,"late_p99_us":%d}`, s.written, s.blocked, rank(0.5), rank(0.99))
}

// event is one token event of EventBytes bytes as an HTTP chunk.
func event() []byte {
	const front, back = `data: {"id":"paced-`, `","object":"chat.completion.chunk","created":1,"model":"paced","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	e := front + strings.Repeat("0", EventBytes-len(front)-len(back)) + back
	return []byte(strconv.FormatInt(int64(len(e)), 16) + "\r\n" + e + "\r\n")
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
