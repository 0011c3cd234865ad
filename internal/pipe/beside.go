package pipe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// beside writes under another name in the same folder and renames at the end. A
// symbolic link is followed, so that its target is replaced and the link stays;
// the permissions of a file that is there already are kept.
func beside(name string, old fs.FileInfo) (*Output, error) {
	target := name
	if old != nil {
		t, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, named(name, err)
		}
		target = t
	}
	f, publish, err := hidden(target)
	if err != nil {
		return nil, named(name, err)
	}
	return &Output{name: name, w: f, file: f, end: func(err error) error {
		if err == nil && old != nil {
			err = f.Chmod(old.Mode().Perm())
		}
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = publish()
		} else {
			discard(f)
		}
		err = errors.Join(err, f.Close())
		if err == nil {
			err = syncDir(filepath.Dir(target))
		}
		return err
	}}, nil
}

// discard removes a temporary file that has a name.
func discard(f *os.File) { os.Remove(f.Name()) }

// named temporary file beside target: works on every system, and what a killed
// process leaves behind is recognisable by its name.
func visibleTemp(target string) (*os.File, func() error, error) {
	for i := 0; ; i++ {
		tmp := tempName(target, i)
		f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && i < 100 {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		return f, func() error {
			if err := os.Rename(tmp, target); err != nil {
				os.Remove(tmp)
				return err
			}
			return nil
		}, nil
	}
}

func tempName(target string, i int) string {
	dir, base := filepath.Split(target)
	return filepath.Join(dir, "."+base+"."+strconv.Itoa(os.Getpid())+"."+strconv.Itoa(i)+".tmp")
}
