//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package pipe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock takes f for this process until it is closed, and fails when another one has it.
// A file system without locks gives none.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	return nil
}
