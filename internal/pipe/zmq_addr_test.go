package pipe

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseZMQ(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reader  bool
		remote  bool
		network string
		addr    string
		bind    bool
		peers   int
	}{
		{"zmq+tcp://127.0.0.1:5555", true, false, "tcp", "127.0.0.1:5555", false, 1},
		{"zmq+tcp://localhost:1?bind", false, false, "tcp", "localhost:1", true, 1},
		{"zmq+tcp://[::1]:5555?bind&peers=4", true, false, "tcp", "[::1]:5555", true, 4},
		{"zmq+tcp://*:5555?bind=1", true, true, "tcp", ":5555", true, 1},
		{"zmq+tcp://gpu07:5555", false, true, "tcp", "gpu07:5555", false, 1},
		{"zmq+ipc:///tmp/run.sock", true, false, "unix", "/tmp/run.sock", false, 1},
		{"zmq+ipc:///tmp/a%20b?peers=2&bind=true", true, false, "unix", "/tmp/a b", true, 2},
	} {
		e, err := parseZMQ(tt.name, Options{AllowRemote: tt.remote, Timeout: time.Second}, tt.reader)
		want := endpoint{tt.name, tt.network, tt.addr, tt.bind, tt.peers, time.Second}
		if err != nil || e != want {
			t.Errorf("parseZMQ(%s) = %+v, %v; want %+v", tt.name, e, err, want)
		}
	}
	if e, err := parseZMQ("zmq+ipc:///x", Options{}, true); err != nil || e.timeout != DefaultTimeout {
		t.Errorf("timeout %v, %v; want %v", e.timeout, err, DefaultTimeout)
	}
}

func TestParseZMQRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reader bool
		want   string
	}{
		{"zmq+udp://127.0.0.1:1", true, "want zmq+tcp://HOST:PORT"},
		{"zmq+tcp://127.0.0.1", true, "want zmq+tcp://HOST:PORT"},
		{"zmq+tcp://127.0.0.1:0?bind", true, `port: got "0", want 1 to 65535`},
		{"zmq+tcp://127.0.0.1:70000", true, `port: got "70000"`},
		{"zmq+tcp://127.0.0.1:http", true, "want zmq+tcp://HOST:PORT"},
		{"zmq+tcp://127.0.0.1:1/path", true, `path: got "/path", want none`},
		{"zmq+tcp://10.0.0.1:5555", true, `host: got "10.0.0.1", want this host`},
		{"zmq+tcp://example.org:5555", false, `host: got "example.org", want this host`},
		{"zmq+tcp://*:5555?bind", true, `host: got "", want this host`},
		{"zmq+tcp://0.0.0.0:5555?bind", true, `host: got "0.0.0.0", want this host`},
		{"zmq+ipc://relative/path", true, "want an absolute path after three slashes"},
		{"zmq+ipc://", true, "want an absolute path"},
		{"zmq+ipc:///" + strings.Repeat("x", 200), true, "got 201 bytes, want at most 107"},
		{"zmq+tcp://127.0.0.1:1?fanout", false, "fanout is not supported in this version"},
		{"zmq+tcp://127.0.0.1:1?fanout=3&bind", true, "fanout is not supported in this version"},
		{"zmq+tcp://127.0.0.1:1?peers=2", true, "peers: got 2 without bind"},
		{"zmq+tcp://127.0.0.1:1?bind&peers=0", true, `peers: got "0", want 1 to 256`},
		{"zmq+tcp://127.0.0.1:1?bind&peers=2", false, "peers: an output has one reader"},
		{"zmq+tcp://127.0.0.1:1?bind=maybe", true, `bind: got "maybe", want no value`},
		{"zmq+tcp://127.0.0.1:1?bnd", true, `option: got "bnd", want bind or peers`},
		{"zmq+tcp://127.0.0.1:1?a=%zz", true, "want zmq+tcp://HOST:PORT"},
		{"zmq+tcp://me:hunter2@127.0.0.1:1", true, "PLAIN credentials are not supported in this version"},
		{"zmq+tcp://127.0.0.1:1?password=hunter2", true, "PLAIN credentials are not supported in this version"},
		{"zmq+ipc://me:hunter2@/x", true, "PLAIN credentials are not supported in this version"},
	} {
		var err error
		if tt.reader {
			_, err = Open(ctx, tt.name, nil)
		} else {
			_, err = Create(ctx, tt.name, nil, Options{})
		}
		var u interface{ Usage() bool }
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &u) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want a usage error with %q and no secret", tt.name, err, tt.want)
		}
	}
}
