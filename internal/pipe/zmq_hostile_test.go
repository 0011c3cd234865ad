package pipe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"hydrant/formats"
)

// greeting is what a ZMTP 3.0 peer with the NULL mechanism sends first.
func greeting() []byte {
	b := make([]byte, greetingSize)
	b[0], b[9], b[10] = 0xff, 0x7f, 3
	copy(b[12:], "NULL")
	return b
}

func long64(flags byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{flags}, n)
}

// command is a handshake command in one short frame.
func command(name string, body []byte) []byte {
	b := append([]byte{byte(len(name))}, name...)
	b = append(b, body...)
	return append([]byte{flagCommand, byte(len(b))}, b...)
}

func property(key, val string) []byte {
	b := append([]byte{byte(len(key))}, key...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(val)))
	return append(b, val...)
}

// Whatever a stranger sends to the port, the reader lives, and takes its writer.
func TestStrangers(t *testing.T) {
	ready := command("READY", property("Socket-Type", "DEALER"))
	hello := frame{kindHello, 1, 0, []byte{roleWriter, protoVersion}}.append(nil)
	msg := func(b []byte) []byte { return append([]byte{0, byte(len(b))}, b...) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	strangers := map[string][]byte{
		"nothing":              {},
		"a web browser":        []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + strings.Repeat("x", 200)),
		"zeros":                make([]byte, 4096),
		"half a greeting":      greeting()[:20],
		"another version":      join(greeting()[:10], []byte{2, 0}, greeting()[12:]),
		"another mechanism":    bytes.Replace(greeting(), []byte("NULL"), []byte("CURV"), 1),
		"a length of 2^63":     join(greeting(), long64(flagLong, 1<<63)),
		"a length of 2^62":     join(greeting(), long64(flagLong|flagCommand, 1<<62)),
		"a length of 1 TiB":    join(greeting(), ready, long64(flagLong, 1<<40)),
		"a bare length":        long64(flagLong, 1<<62),
		"empty command":        join(greeting(), []byte{flagCommand, 0}),
		"name beyond the end":  join(greeting(), []byte{flagCommand, 2, 200, 'R'}),
		"key beyond the end":   join(greeting(), command("READY", []byte{200, 'x'})),
		"value beyond the end": join(greeting(), command("READY", []byte{1, 'x', 0xff, 0xff, 0xff, 0xff})),
		"value cut":            join(greeting(), command("READY", []byte{1, 'x', 0})),
		"an error command":     join(greeting(), command("ERROR", []byte{3, 'b', 'a', 'd'})),
		"a socket that pushes": join(greeting(), command("READY", property("Socket-Type", "PUSH"))),
		"no socket type":       join(greeting(), command("READY", nil)),
		"many frames":          join(greeting(), ready, bytes.Repeat([]byte{flagMore, 1, 'x'}, 1000)),
		"no hello":             join(greeting(), ready, msg([]byte("hello"))),
		"hello with a bad sum": join(greeting(), ready, msg(append(bytes.Clone(hello[:33]), 9))),
		"hello of a reader":    join(greeting(), ready, msg(frame{kindHello, 1, 0, []byte{roleReader, protoVersion}}.append(nil))),
		"hello of version 9":   join(greeting(), ready, msg(frame{kindHello, 1, 0, []byte{roleWriter, 9}}.append(nil))),
		"data before hello":    join(greeting(), ready, msg(frame{kindData, 1, 1, []byte("x")}.append(nil))),
		"a command for hello":  join(greeting(), ready, command("PING", []byte{0, 0})),
	}
	for _, network := range []string{"tcp", "ipc"} {
		name := end(t, network)
		r := openEnd(t, name+"?bind", long)
		netw, addr := address(name)
		for what, b := range strangers {
			c, err := net.Dial(netw, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() // stays: it keeps nobody else out
			if _, err := c.Write(b); err != nil {
				t.Logf("%s: %v", what, err)
			}
		}
		in := noise(1, 1<<20)
		wrote := make(chan error, 1)
		go func() { wrote <- writeAll(name, in, long) }()
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("%s: read %d bytes, %v; want the writer's", network, len(got), err)
		}
		if err := <-wrote; err != nil {
			t.Errorf("%s: writer: %v", network, err)
		}
	}
}

// More silent connections than are kept: the oldest go, the writer gets in.
func TestSilentConnections(t *testing.T) {
	name := end(t, "ipc")
	r := openEnd(t, name+"?bind", long)
	netw, addr := address(name)
	for range maxPending + 10 {
		c, err := net.Dial(netw, addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	wrote := make(chan error, 1)
	go func() { wrote <- writeAll(name, []byte("x"), long) }()
	if got, err := io.ReadAll(r); string(got) != "x" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("writer: %v", err)
	}
}

// The library's own socket is a stranger too.
func TestStockSocket(t *testing.T) {
	name := end(t, "tcp")
	r := openEnd(t, name+"?bind", long)
	s := zmq4.NewDealer(ctx)
	if err := s.Dial(strings.TrimPrefix(name, "zmq+")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Send(zmq4.NewMsgString("what is this"))
	wrote := make(chan error, 1)
	go func() { wrote <- writeAll(name, []byte("x"), long) }()
	if got, err := io.ReadAll(r); string(got) != "x" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	<-wrote
}

// A writer that was let in and then breaks the rules ends its stream, with what
// was good before.
func TestBrokenWriter(t *testing.T) {
	big := binary.BigEndian.AppendUint64(nil, 4)
	for what, tt := range map[string]struct {
		send func(*peer) error
		want string
	}{
		"a gap":           {func(p *peer) error { return p.send(kindData, 3, nil) }, "frame sequence: got 3, want 2"},
		"a repetition":    {func(p *peer) error { return p.send(kindData, 1, nil) }, "frame sequence: got 1, want 2"},
		"another writer":  {func(p *peer) error { p.id++; return p.send(kindData, 2, nil) }, "in the stream of"},
		"a reader's word": {func(p *peer) error { return p.send(kindAck, 2, nil) }, "want one of a writer"},
		"a wrong total":   {func(p *peer) error { return p.send(kindEnd, 2, big) }, "end mark: got a length of 0000000000000004, want 3"},
		"a short end":     {func(p *peer) error { return p.send(kindEnd, 2, []byte{3}) }, "end mark"},
		"a flipped bit": {func(p *peer) error {
			b := frame{kindData, p.id, 2, []byte("payload")}.append(nil)
			b[len(b)-1] ^= 1
			return errors.Join(p.z.SendMsg(zmq4.NewMsg(b)), p.g.flush())
		}, "CRC32C"},
		"a long frame": {func(p *peer) error {
			p.z.SendMsg(zmq4.NewMsg(make([]byte, maxMessage+1))) // fails when the header alone is refused
			return nil
		}, "ZMTP frame length: got 262177, want at most 262176"},
		"two frames": {func(p *peer) error {
			return errors.Join(p.z.SendMsg(zmq4.NewMsgFrom([]byte("a"), []byte("b"))), p.g.flush())
		}, "got several frames"},
		"a ping": {func(p *peer) error {
			return errors.Join(p.z.SendCmd(zmq4.CmdPing, []byte{0, 0}), p.g.flush())
		}, "got one after the handshake"},
	} {
		t.Run(what, func(t *testing.T) {
			name := end(t, "ipc")
			r := openEnd(t, name+"?bind", long)
			p := rawPeer(t, name, roleWriter)
			if err := errors.Join(p.send(kindData, 1, []byte("abc")), tt.send(p)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			var cut *formats.TruncatedError
			if string(got) != "abc" || !errors.As(err, &cut) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("read %q, %v; want abc, then %q", got, err, tt.want)
			}
		})
	}
}

// A reader that acknowledges what was never sent is not believed.
func TestBrokenReader(t *testing.T) {
	for what, tt := range map[string]struct {
		kind byte
		seq  uint64
		want string
	}{
		"too much":       {kindAck, 9, "acknowledgement of frame 9"},
		"done too early": {kindDone, 1, "done at frame 1, want 2"},
		"data":           {kindData, 1, "want one of a reader"},
	} {
		t.Run(what, func(t *testing.T) {
			name := end(t, "ipc")
			done := make(chan struct{})
			go func() {
				defer close(done)
				p := rawPeer(t, name, roleReader)
				p.send(kindAdmit, 0, nil)
				for range 2 { // data and end
					if _, err := p.recv(); err != nil {
						t.Error(err)
					}
				}
				p.send(tt.kind, tt.seq, nil)
				p.recvUntilClosed()
			}()
			err := writeAll(name+"?bind", []byte("x"), long)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("writer: %v; want %q", err, tt.want)
			}
			<-done
		})
	}
}

func TestSameRole(t *testing.T) {
	name := end(t, "ipc")
	openEnd(t, name+"?bind", long)
	if _, err := Open(ctx, name, nil); !errors.Is(err, errSameRole) || !strings.Contains(err.Error(), "both ends read") {
		t.Errorf("two readers: %v", err)
	}
}

func TestSecondReaderIsToldSo(t *testing.T) {
	name := end(t, "ipc")
	first := make(chan error, 1)
	go func() {
		r, err := OpenWith(ctx, name, nil, long)
		if err == nil {
			defer r.Close()
			_, err = io.ReadFull(r, make([]byte, 1))
		}
		first <- err
	}()
	w, err := Create(ctx, name+"?bind", nil, long)
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, "x")
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(openEnd(t, name, long)); err == nil || !strings.Contains(err.Error(), "has its reader") {
		t.Errorf("a second reader: %v", err)
	}
	start := time.Now()
	w.Finish(errors.New("enough"))
	if d := time.Since(start); d > time.Minute {
		t.Errorf("Finish took %v", d)
	}
}

func FuzzGuard(f *testing.F) {
	f.Add(append(greeting(), command("READY", property("Socket-Type", "DEALER"))...))
	f.Add(append(greeting(), long64(flagLong, 1<<62)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		go func() {
			go io.Copy(io.Discard, there)
			there.Write(b)
			there.Close()
		}()
		if p, err := shake(here, true, roleReader, 0, time.Minute); err == nil {
			for err == nil {
				_, err = p.recv()
			}
			p.c.Close()
		}
	})
}

func FuzzParseFrame(f *testing.F) {
	f.Add(frame{kindData, 1, 2, []byte("payload")}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseFrame(b)
		if err == nil && !bytes.Equal(got.append(nil), b) {
			t.Errorf("%x is accepted and comes back as %x", b, got.append(nil))
		}
	})
}
