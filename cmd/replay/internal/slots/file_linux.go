package slots

import (
	"os"

	"golang.org/x/sys/unix"
)

// nameless opens a file that exists in memory alone.
func nameless(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
