//go:build unix

package sim

import (
	"errors"
	"net"
	"syscall"
)

// rawWriter writes to a socket from any goroutine without ever waiting for it.
type rawWriter struct {
	raw syscall.RawConn
	buf []byte
	n   int
	err error
	fn  func(uintptr) bool
}

// newRawWriter returns nil for a connection that is no socket.
func newRawWriter(c net.Conn) *rawWriter {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	w := &rawWriter{raw: raw}
	w.fn = func(fd uintptr) bool {
		w.n, w.err = syscall.Write(int(fd), w.buf)
		return true // written, full or failed: do not park
	}
	return w
}

// write returns how much the kernel took; 0 and nil when its buffer is full.
func (w *rawWriter) write(b []byte) (int, error) {
	w.buf = b
	if err := w.raw.Write(w.fn); err != nil {
		return 0, err
	}
	w.buf = nil
	if w.err != nil {
		if errors.Is(w.err, syscall.EAGAIN) || errors.Is(w.err, syscall.EINTR) {
			return 0, nil
		}
		return 0, w.err
	}
	return w.n, nil
}

// isDescriptorLimit reports whether accept failed for want of descriptors.
func isDescriptorLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
