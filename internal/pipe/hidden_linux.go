package pipe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// hidden opens a file in target's folder that has no name until publish, so that
// not even a killed process leaves anything behind. File systems without such
// files get a temporary name.
func hidden(target string) (*os.File, func() error, error) {
	dir := filepath.Dir(target)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return visibleTemp(target)
	}
	f := os.NewFile(uintptr(fd), "")
	return f, func() error {
		for i := 0; ; i++ {
			tmp := tempName(target, i)
			err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, tmp, unix.AT_SYMLINK_FOLLOW)
			if errors.Is(err, fs.ErrExist) && i < 100 {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.Rename(tmp, target); err != nil {
				os.Remove(tmp)
				return err
			}
			return nil
		}
	}, nil
}
