package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal asks the driver for terminal settings. The file mode is not enough:
// /dev/null and /dev/full are character devices too.
func isTerminal(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var got error
	if err := c.Control(func(fd uintptr) { _, got = unix.IoctlGetTermios(int(fd), unix.TCGETS) }); err != nil {
		return false
	}
	return got == nil
}
