package traces

import (
	"fmt"
	"io"
	"os"
)

// seekable is a trace that can be read at any place: its own file, or a temporary one.
type seekable struct {
	*os.File
	size int64
	temp bool
}

// seek reads a trace to its end, for its digest, and returns it as a file. A file on
// disk that begins as the trace does, uncompressed, is used itself; everything else is
// copied to a temporary file without a name.
func (in *intake) seek(f Input, magics ...string) (*seekable, error) {
	d := newDigest()
	s, err := direct(f.Path, magics)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Place, err)
	}
	var w io.Writer = d
	if s == nil {
		t, err := os.CreateTemp("", "tracegen-*")
		if err != nil {
			return nil, fmt.Errorf("temporary file: %w", err)
		}
		s = &seekable{File: t, temp: true}
		os.Remove(t.Name()) // the open descriptor keeps it; where that fails it stays until close
		w = io.MultiWriter(d, temporary{t})
	}
	if _, err = io.Copy(w, f.R); err != nil {
		s.close()
		if _, ok := err.(spoolError); ok {
			return nil, err
		}
		return nil, in.broken(1, err)
	}
	s.size = d.bytes
	in.source(f.Name, d)
	return s, nil
}

// direct opens a file that begins with one of magics, nil when it does not.
func direct(path string, magics []string) (*seekable, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() {
		for _, magic := range magics {
			head := make([]byte, len(magic))
			if _, err := f.ReadAt(head, 0); err == nil && string(head) == magic {
				return &seekable{File: f}, nil
			}
		}
	}
	f.Close()
	return nil, err
}

// temporary is the temporary file, whose errors are not those of the trace.
type temporary struct{ w io.Writer }

type spoolError struct{ error }

func (s temporary) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		err = spoolError{fmt.Errorf("temporary file: %w", err)}
	}
	return n, err
}

func (s *seekable) close() error {
	if s.temp {
		os.Remove(s.Name())
	}
	return s.File.Close()
}
