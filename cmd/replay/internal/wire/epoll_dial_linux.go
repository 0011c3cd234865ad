package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hydrant/cmd/replay/internal/kernel"
)

const (
	// maxDialing bounds the connects in progress, so that a burst is no flood of SYNs. The
	// others wait their turn, which is in conn_ready − conn_asked.
	maxDialing = 128
	// nameTTL is how long addresses of a name are used before it is resolved again.
	nameTTL = 30 * time.Second
	// maxAddresses is how many addresses of a name are used.
	maxAddresses = 255
)

// A prefix is where requests of a kind go, and what their heads begin with.
type prefix struct {
	l     *loop
	place *place
	head  []byte
}

// startable makes the prefix of a kind when it is used for the first time.
func (l *loop) startable(k *Kind) error {
	if k.prefix != nil && k.prefix.l == l {
		return nil
	}
	t, err := targetOf(k.URL)
	if err != nil {
		return &unusableError{err}
	}
	if t.url.Scheme != "http" || t.url.Host == "" {
		return &unusableError{fmt.Errorf("scheme %q: want http", t.url.Scheme)}
	}
	pl, err := l.placeOf(&t)
	if err != nil {
		return &unusableError{err}
	}
	h, host := headerOf(k, t.url)
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", t.url.RequestURI(), host)
	// what is written behind it, and what is not this side's to choose
	own := map[string]bool{"Host": true, "Content-Length": true, "X-Request-Id": true, "Transfer-Encoding": true, "Trailer": true}
	if err := h.WriteSubset(&b, own); err != nil {
		return &unusableError{err}
	}
	k.prefix = &prefix{l: l, place: pl, head: b.Bytes()}
	return nil
}

// A place is a host and port, or a Unix socket.
type place struct {
	unix     bool
	host     string // to be resolved; "": an address
	port     uint16
	all      []*address
	turn     int // next address
	resolved int64
	asking   bool
	waiting  []*exchange // for the name
	idle     []*socket   // latest used last; closed ones have fd −1
}

// An address of a place.
type address struct {
	sa   unix.Sockaddr
	text string
	open int // connections, dialled ones included
}

func (p *place) network() string {
	if p.unix {
		return "unix"
	}
	return "tcp"
}

func (l *loop) placeOf(t *target) (*place, error) {
	key := "unix:" + t.socket
	if t.socket == "" {
		key = t.address()
	}
	if p := l.places[key]; p != nil {
		return p, nil
	}
	p := &place{}
	switch {
	case t.socket != "":
		p.unix = true
		p.all = []*address{{sa: &unix.SockaddrUnix{Name: t.socket}, text: t.socket}}
	default:
		host, service, err := net.SplitHostPort(key)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(service, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("port %q: want a number up to 65535", service)
		}
		p.port = uint16(port)
		if ip, err := netip.ParseAddr(host); err == nil {
			p.all = []*address{addressOf(ip, p.port)}
		} else {
			p.host = host
		}
	}
	l.places[key] = p
	return p, nil
}

func addressOf(ip netip.Addr, port uint16) *address {
	ip = ip.Unmap()
	a := &address{text: netip.AddrPortFrom(ip, port).String()}
	if ip.Is4() {
		a.sa = &unix.SockaddrInet4{Port: int(port), Addr: ip.As4()}
		return a
	}
	sa := &unix.SockaddrInet6{Port: int(port), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			sa.ZoneId = uint32(n)
		} else if i, err := net.InterfaceByName(zone); err == nil {
			sa.ZoneId = uint32(i.Index)
		}
	}
	a.sa = sa
	return a
}

// kept takes the latest used connection of a place, nil when there is none.
func (p *place) kept() *socket {
	for n := len(p.idle); n > 0; n = len(p.idle) {
		s := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		if s.fd >= 0 {
			return s
		}
	}
	return nil
}

// connect gets x a connection: a kept one, or a new one when its turn has come.
func (l *loop) connect(x *exchange) {
	p := x.prefix().place
	if s := p.kept(); s != nil {
		l.assign(x, s, true)
		return
	}
	if p.host != "" {
		l.resolve(p)
		if len(p.all) == 0 {
			x.waits = true
			p.waiting = append(p.waiting, x)
			return
		}
	}
	if l.dialing >= maxDialing {
		x.waits = true
		l.queue = append(l.queue, x)
		return
	}
	l.dial(x)
}

// forget takes x out of the lines it waits in.
func (l *loop) forget(x *exchange) {
	without := func(list []*exchange) []*exchange {
		if i := slices.Index(list, x); i >= 0 {
			return slices.Delete(list, i, i+1)
		}
		return list
	}
	l.queue = without(l.queue)
	p := x.prefix().place
	p.waiting = without(p.waiting)
}

// advance lets those connect whose turn has come.
func (l *loop) advance() {
	if l.advancing {
		return // the caller above goes on
	}
	l.advancing = true
	for len(l.queue) > 0 {
		x := l.queue[0]
		s := x.prefix().place.kept()
		if s == nil && l.dialing >= maxDialing {
			break
		}
		l.queue[0] = nil
		l.queue = l.queue[1:]
		x.waits = false
		if s != nil { // somebody is done with it meanwhile
			l.assign(x, s, true)
		} else {
			l.dial(x)
		}
	}
	if len(l.queue) == 0 {
		l.queue = nil
	}
	l.advancing = false
}

// dial connects to the next address, or ends x when none is left to try.
func (l *loop) dial(x *exchange) {
	p := x.prefix().place
	for int(x.tried) < len(p.all) {
		to := p.all[p.turn%len(p.all)]
		p.turn++
		x.tried++
		s, err := l.socketTo(p, to)
		if err != nil {
			l.refused(x, to, err)
			continue
		}
		s.x, x.s = x, s
		s.dialing = true
		l.dialing++
		return // an edge will come, also of a connection that is there at once
	}
	if x.rarely().dial == nil {
		x.rare.dial = errors.New("no address")
	}
	l.end(x, nil, x.rare.dial)
}

// refused notes why an address cannot be had. The first reason is told.
func (l *loop) refused(x *exchange, to *address, err error) {
	if x.rarely().dial == nil {
		network := x.prefix().place.network()
		x.rare.dial = &net.OpError{Op: "dial", Net: network, Addr: named{network, to.text}, Err: err}
	}
}

// named is a net.Addr.
type named struct{ network, text string }

func (n named) Network() string { return n.network }
func (n named) String() string  { return n.text }

// socketTo begins to connect to an address.
func (l *loop) socketTo(p *place, to *address) (*socket, error) {
	family := unix.AF_INET
	switch to.sa.(type) {
	case *unix.SockaddrUnix:
		family = unix.AF_UNIX
	case *unix.SockaddrInet6:
		family = unix.AF_INET6
	}
	if family != unix.AF_UNIX && to.open >= l.ports {
		return nil, os.NewSyscallError("connect", unix.EADDRNOTAVAIL) // the kernel would search all of them to say so
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if family != unix.AF_UNIX {
		for _, o := range [...][3]int{
			{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(keepAlive.Idle.Seconds())},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(keepAlive.Interval.Seconds())},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAlive.Count},
		} {
			_ = unix.SetsockoptInt(fd, o[0], o[1], o[2]) // a socket that refuses connects all the same
		}
		_ = kernel.Enable(fd)
	}
	if err := unix.Connect(fd, to.sa); err != nil && err != unix.EINPROGRESS && err != unix.EINTR {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	s, err := l.add(fd, p, to)
	if err != nil {
		_ = unix.Close(fd)
	}
	return s, err
}

// dialled looks at a connect that is decided; true when the connection is there and its
// request begun.
func (l *loop) dialled(s *socket) bool {
	x := s.x
	code, err := unix.GetsockoptInt(int(s.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err == nil {
		if !connected(int(s.fd)) {
			return false // not yet
		}
	}
	s.dialing = false
	l.dialing--
	if err != nil {
		l.refused(x, s.to, os.NewSyscallError("connect", err))
		s.x, x.s = nil, nil
		l.drop(s)
		l.dial(x)
		l.advance()
		return false
	}
	s.id = l.nextID
	l.nextID++
	x.connected = l.o.Clock.Now()
	l.counters.Opened.Add(1)
	h := s.handle
	l.assign(x, s, false)
	l.advance()
	return l.socket(h) == s
}

// connected asks the kernel for the peer of a socket, without taking memory for its name.
func connected(fd int) bool {
	var name unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	_, _, errno := unix.RawSyscall(unix.SYS_GETPEERNAME, uintptr(fd), uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&size)))
	return errno != unix.ENOTCONN
}

// resolve asks for the addresses of a place when they are not known, or old. The old ones
// are used meanwhile.
func (l *loop) resolve(p *place) {
	if p.asking || len(p.all) > 0 && l.o.Clock.Now()-p.resolved < int64(nameTTL) {
		return
	}
	p.asking = true
	ctx := l.ctx
	go func() {
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", p.host)
		l.post(func() { l.found(p, ips, err) })
	}()
}

// found takes the addresses of a place, and lets those connect who wait for them.
func (l *loop) found(p *place, ips []netip.Addr, err error) {
	now := l.o.Clock.Now()
	p.asking = false
	p.resolved = now
	if len(ips) > 0 {
		var all []*address
		for _, ip := range ips {
			a := addressOf(ip, p.port)
			if i := slices.IndexFunc(p.all, func(b *address) bool { return b.text == a.text }); i >= 0 {
				a = p.all[i]
			}
			all = append(all, a)
		}
		p.all = all[:min(len(all), maxAddresses)]
	}
	waiting := p.waiting
	p.waiting = nil
	for _, x := range waiting {
		x.waits = false
		x.rarely().dns = now
		switch {
		case len(p.all) > 0:
			l.connect(x)
		case err != nil:
			l.end(x, nil, &net.OpError{Op: "dial", Net: "tcp", Err: err})
		default:
			l.end(x, nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no address", Name: p.host, IsNotFound: true}})
		}
	}
}

// LocalPorts returns how many ports the kernel may give to connections to one destination.
func LocalPorts() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	var low, high int
	if err == nil {
		_, err = fmt.Sscan(string(b), &low, &high)
	}
	if err != nil || high < low {
		return 1 << 16
	}
	return high - low + 1
}
