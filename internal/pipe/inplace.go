package pipe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// inPlace opens a file to be written into itself. One process at a time may do so; what
// the file held stays until the first write, so a tool that fails before that has
// changed nothing.
func inPlace(name string) (*Output, error) {
	_, err := os.Stat(name)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, named(name, err)
	}
	if lock(f) != nil {
		f.Close()
		return nil, fmt.Errorf("%s: another process is writing it", name)
	}
	if err := syncDir(filepath.Dir(name)); err != nil {
		f.Close()
		return nil, named(name, err)
	}
	w := &overwriter{f: f}
	return &Output{name: name, w: w, file: f, path: name, end: func(err error) error {
		switch {
		case err == nil:
			err = w.begin()
		case fresh && !w.begun:
			err = os.Remove(name)
		default:
			err = nil
		}
		return errors.Join(err, syncFile(f), f.Close())
	}}, nil
}

// overwriter empties its file before the first write.
type overwriter struct {
	f     *os.File
	begun bool
}

func (w *overwriter) begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.f.Truncate(0)
}

// Write writes to the file.
func (w *overwriter) Write(p []byte) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}
