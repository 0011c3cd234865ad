package kernel

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// flags of the option: stamp what is received, in software, and hand the stamps out.
const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE

// Enable asks for the arrival times of what a socket receives from now on.
func Enable(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags)
}

// Recv reads from a socket without waiting. n is 0 with a nil error at the end of the
// connection; a socket that has nothing to read gives EAGAIN. When stamped, wallNS
// is the arrival of the newest segment read, CLOCK_REALTIME in ns. oob is scratch of at
// least OOBSize bytes. It allocates nothing.
func Recv(fd int, buf, oob []byte) (n int, wallNS int64, stamped bool, err error) {
	if len(buf) == 0 {
		return 0, 0, false, unix.EINVAL
	}
	var iov unix.Iovec
	iov.Base = &buf[0]
	iov.SetLen(len(buf))
	var msg unix.Msghdr
	for {
		msg = unix.Msghdr{Iov: &iov}
		msg.SetIovlen(1)
		if len(oob) > 0 {
			msg.Control = &oob[0]
			msg.SetControllen(len(oob))
		}
		// it never waits, so the scheduler need not be told
		r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			n = int(r)
		case unix.EINTR:
			continue
		case unix.EAGAIN: // a constant needs no allocation, an Errno in an error may
			return 0, 0, false, unix.EAGAIN
		default:
			return 0, 0, false, errno
		}
		break
	}
	if n > 0 {
		wallNS, stamped = stampOf(oob[:min(int(msg.Controllen), len(oob))])
	}
	return n, wallNS, stamped, nil
}

// stampOf finds the software stamp among control messages.
func stampOf(oob []byte) (wallNS int64, ok bool) {
	for len(oob) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
		size := int(h.Len)
		if size < unix.SizeofCmsghdr || size > len(oob) {
			return 0, false
		}
		data := unix.CmsgLen(0)
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPING && size >= data+int(unsafe.Sizeof(unix.Timespec{})) {
			// the first of three; the others are stamps of the hardware
			ts := (*unix.Timespec)(unsafe.Pointer(&oob[data]))
			return ts.Nano(), *ts != unix.Timespec{}
		}
		next := unix.CmsgSpace(size - data)
		if next > len(oob) {
			return 0, false
		}
		oob = oob[next:]
	}
	return 0, false
}

// Info reads the counters of a TCP connection, in about half a microsecond and
// without allocation. A socket that is not TCP gives ErrUnsupported.
func Info(fd int) (TCPInfo, error) {
	var raw unix.TCPInfo
	size := uint32(unsafe.Sizeof(raw))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&raw)), uintptr(unsafe.Pointer(&size)), 0)
	switch {
	case errno == unix.EOPNOTSUPP || errno == unix.ENOPROTOOPT || errno == unix.ENOTSUP:
		return TCPInfo{}, ErrUnsupported
	case errno != 0:
		return TCPInfo{}, errno
	case uintptr(size) < unsafe.Offsetof(raw.Data_segs_in)+unsafe.Sizeof(raw.Data_segs_in):
		return TCPInfo{}, ErrUnsupported // older than Linux 4.6
	}
	return TCPInfo{
		SegmentsIn:  int64(raw.Data_segs_in),
		Retransmits: int64(raw.Total_retrans),
		RTTUS:       int64(raw.Rtt),
		MinRTTUS:    int64(raw.Min_rtt),
	}, nil
}

// A Warmer keeps the kernel stamping.
type Warmer struct{ fd int }

// warmTries bounds how long Warm waits for the first stamp: the kernel takes
// microseconds on an idle host, and a host that gives none in 50 ms has none.
const warmTries = 50

// Warm switches the stamps on and waits, up to 50 ms, until a packet over loopback
// carries one. It holds a socket of its own until Close, so that they stay on between
// connections. A host that gives no stamps is no error: works is false then.
func Warm() (w *Warmer, works bool, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	w = &Warmer{fd: fd}
	if works, err = w.try(); err != nil {
		w.Close()
		return nil, false, err
	}
	return w, works, nil
}

// try sends packets to itself until one comes with a stamp.
func (w *Warmer) try() (works bool, err error) {
	if err := Enable(w.fd); err != nil {
		if errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EINVAL) {
			return false, nil
		}
		return false, err
	}
	if err := unix.Bind(w.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return false, err
	}
	self, err := unix.Getsockname(w.fd)
	if err != nil {
		return false, err
	}
	if err := unix.Connect(w.fd, self); err != nil {
		return false, err
	}
	buf, oob := make([]byte, 1), make([]byte, OOBSize)
	for range warmTries {
		if _, err := unix.Write(w.fd, buf); err != nil {
			return false, err
		}
		// loopback delivers within the write
		if _, _, stamped, err := Recv(w.fd, buf, oob); err == nil && stamped {
			return true, nil
		}
		time.Sleep(time.Millisecond)
	}
	return false, nil
}

// Close lets the kernel stop stamping. The nil Warmer may be closed.
func (w *Warmer) Close() {
	if w != nil {
		_ = unix.Close(w.fd)
	}
}
