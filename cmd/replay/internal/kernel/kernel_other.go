//go:build !linux

package kernel

import (
	"golang.org/x/sys/unix"
)

// Enable returns ErrUnsupported.
func Enable(fd int) error { return ErrUnsupported }

// Recv reads without a stamp.
func Recv(fd int, buf, oob []byte) (n int, wallNS int64, stamped bool, err error) {
	for {
		n, err = unix.Read(fd, buf)
		if err != unix.EINTR {
			return max(n, 0), 0, false, err
		}
	}
}

// Info returns ErrUnsupported.
func Info(fd int) (TCPInfo, error) { return TCPInfo{}, ErrUnsupported }

// A Warmer has nothing to keep.
type Warmer struct{}

// Warm reports that there are no stamps.
func Warm() (*Warmer, bool, error) { return &Warmer{}, false, nil }

// Close does nothing.
func (w *Warmer) Close() {}
