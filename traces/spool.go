package traces

import (
	"fmt"
	"os"
	"slices"
)

// spool keeps parts of a trace between two passes over it, to be read in any order:
// in memory at first, in an unlinked temporary file when they are many.
type spool struct {
	limit int // bytes in memory
	mem   []byte
	base  int64 // offset of mem: what comes before lies in the file
	file  *os.File
	parts []spooled
}

type spooled struct {
	off int64
	len int
}

// spoolMemory is how many bytes of parts wait in memory.
const spoolMemory = 1 << 18

func newSpool() *spool { return &spool{limit: spoolMemory} }

// add copies a part, whose number is the count of those before it.
func (s *spool) add(b []byte) error {
	s.parts = append(s.parts, spooled{s.base + int64(len(s.mem)), len(b)})
	s.mem = append(s.mem, b...)
	if len(s.mem) < s.limit {
		return nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "tracegen-*")
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.file = f
		os.Remove(f.Name()) // the open descriptor keeps it; where that fails it stays until close
	}
	if _, err := s.file.WriteAt(s.mem, s.base); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	s.base += int64(len(s.mem))
	s.mem = s.mem[:0]
	return nil
}

// get returns a part in buf, which grows as it must.
func (s *spool) get(n int, buf []byte) ([]byte, error) {
	p := s.parts[n]
	buf = slices.Grow(buf[:0], p.len)[:p.len]
	if p.off >= s.base {
		copy(buf, s.mem[p.off-s.base:])
		return buf, nil
	}
	if _, err := s.file.ReadAt(buf, p.off); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return buf, nil
}

// close removes the temporary file.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	os.Remove(f.Name())
	return f.Close()
}
