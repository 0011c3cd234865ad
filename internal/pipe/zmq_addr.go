package pipe

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultTimeout is how long the other end of a ZMQ connection may say nothing
// before it counts as gone. Both ends send a sign of life far more often.
const DefaultTimeout = time.Minute

const (
	maxPeers    = 256 // each costs up to queueOther bytes of memory and a temporary file
	maxUnixPath = 107 // bytes that fit into the address of a Unix socket
)

// endpoint is a parsed zmq+tcp or zmq+ipc name.
type endpoint struct {
	name    string // for messages
	network string // "tcp" or "unix"
	addr    string // "127.0.0.1:5555" or a path
	bind    bool
	peers   int // writers that a reader takes, one after the other
	timeout time.Duration
}

const zmqForms = "want zmq+tcp://HOST:PORT or zmq+ipc:///PATH, with ?bind at one of the two ends"

// parseZMQ reads the name of a ZMQ end. A name with credentials is refused
// without being repeated.
func parseZMQ(name string, o Options, reader bool) (endpoint, error) {
	if rest := strings.SplitN(name, "://", 2); len(rest) == 2 && strings.Contains(strings.SplitN(rest[1], "?", 2)[0], "@") {
		return endpoint{}, usagef("bind to this host and use a tunnel between hosts", "zmq end: PLAIN credentials are not supported in this version")
	}
	u, err := url.Parse(name)
	if err != nil {
		return endpoint{}, usagef("", "%s: %s", name, zmqForms)
	}
	e := endpoint{name: name, peers: 1, timeout: o.Timeout}
	if e.timeout <= 0 {
		e.timeout = DefaultTimeout
	}
	switch u.Scheme {
	case "zmq+tcp":
		e.network, e.addr = "tcp", u.Host
		if u.Path != "" {
			return e, usagef("", "%s: path: got %q, want none after HOST:PORT", name, u.Path)
		}
		if err := e.checkHost(o.AllowRemote); err != nil {
			return e, err
		}
	case "zmq+ipc":
		e.network, e.addr = "unix", u.Path
		switch {
		case u.Host != "" || u.Path == "" || u.Path == "/":
			return e, usagef("", "%s: want an absolute path after three slashes, as zmq+ipc:///tmp/run.sock", name)
		case len(u.Path) > maxUnixPath:
			return e, usagef("", "%s: path: got %d bytes, want at most %d", name, len(u.Path), maxUnixPath)
		}
	default:
		return e, usagef("", "%s: %s", name, zmqForms)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return e, usagef("", "%s: %s", name, zmqForms)
	}
	for key, vals := range q {
		if err := e.option(key, vals[len(vals)-1], reader); err != nil {
			return e, err
		}
	}
	if e.peers > 1 && !e.bind {
		return e, usagef("add &bind: the end that takes several writers waits for them", "%s: peers: got %d without bind", name, e.peers)
	}
	return e, nil
}

func (e *endpoint) checkHost(remote bool) error {
	host, port, err := net.SplitHostPort(e.addr)
	if err != nil {
		return usagef("", "%s: %s", e.name, zmqForms)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return usagef("", "%s: port: got %q, want 1 to 65535", e.name, port)
	}
	if host == "*" {
		host = ""
	}
	ip := net.ParseIP(host)
	if !remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("the stream is neither encrypted nor authenticated; tunnel it (ssh -L) and name 127.0.0.1", "%s: host: got %q, want this host (127.0.0.1, ::1 or localhost)", e.name, host)
	}
	e.addr = net.JoinHostPort(host, port)
	return nil
}

func (e *endpoint) option(key, val string, reader bool) error {
	switch key {
	case "bind":
		if val != "" && val != "1" && val != "true" {
			return usagef("", "%s: bind: got %q, want no value", e.name, val)
		}
		e.bind = true
	case "peers":
		if !reader {
			return usagef("peers belongs to the reader that binds", "%s: peers: an output has one reader", e.name)
		}
		n, err := strconv.Atoi(val)
		if err != nil || n < 1 || n > maxPeers {
			return usagef("", "%s: peers: got %q, want 1 to %d", e.name, val, maxPeers)
		}
		e.peers = n
	case "fanout":
		return usagef("run one reader, or write one file per reader", "%s: fanout is not supported in this version", e.name)
	case "user", "username", "password", "plain", "credentials":
		return usagef("bind to this host and use a tunnel between hosts", "zmq end: PLAIN credentials are not supported in this version")
	default:
		return usagef("", "%s: option: got %q, want bind or peers", e.name, key)
	}
	return nil
}
