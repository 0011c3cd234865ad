package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// tape is an input that is read several times: a file again from where it began, a pipe
// from a copy on disk made by the first reading.
type tape struct {
	in     io.Reader
	seek   io.Seeker // nil: a pipe
	begin  int64
	spool  *os.File
	fault  error // of the copy
	copied int64
}

func newTape(in io.Reader) (*tape, error) {
	t := &tape{in: in}
	if s, ok := in.(io.Seeker); ok {
		begin, err := s.Seek(0, io.SeekCurrent)
		if err == nil {
			t.seek, t.begin = s, begin
			return t, nil
		}
	}
	f, err := os.CreateTemp("", "replay-schedule-")
	if err != nil {
		return nil, fmt.Errorf("copy of the schedule for --loop: %w", err)
	}
	os.Remove(f.Name())
	t.spool = f
	return t, nil
}

func (t *tape) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	if t.spool != nil && t.fault == nil && n > 0 {
		_, t.fault = t.spool.Write(p[:n])
		t.copied += int64(n)
	}
	return n, err
}

// Rewind returns the input from its beginning. The input was read to its end.
func (t *tape) Rewind() (io.Reader, error) {
	if t.seek != nil {
		_, err := t.seek.Seek(t.begin, io.SeekStart)
		return t.in, err
	}
	if t.fault != nil {
		return nil, fmt.Errorf("copy of the schedule for --loop: %w", t.fault)
	}
	return io.NewSectionReader(t.spool, 0, t.copied), nil
}

// Close drops the copy.
func (t *tape) Close() error {
	if t.spool == nil {
		return nil
	}
	return errors.Join(t.fault, t.spool.Close())
}
