package drive

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
)

// sink writes the run: batches of the workers as they come, rows that the parent makes
// itself, and client rows by way of a spool. Safe for concurrent use; the first error
// sticks and ends the run.
type sink struct {
	mu      sync.Mutex
	w       *run.Writer
	own     *run.Encoder
	flushed time.Time // when client rows last went to the spool
	err     error
}

// spoolAge is how long client rows may wait in memory. A killed run loses at most that.
const spoolAge = 5 * time.Second

func newSink(out io.Writer, h run.Header, spool io.ReadWriteSeeker) (*sink, error) {
	w, err := run.NewWriter(out, h, spool)
	if err != nil {
		return nil, err
	}
	return &sink{w: w, own: run.NewEncoder(), flushed: time.Now()}, nil
}

// batch forwards a batch undecoded.
func (s *sink) batch(r link.Rows) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keep(s.w.Requests(run.Batch{Message: r.Message, Rows: int64(len(r.Rows))}))
}

// row adds a row of the parent's own; close writes those that wait.
func (s *sink) row(r *run.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Append(r)
	if s.own.Len() >= 1024 || s.own.Full() {
		return s.flushLocked()
	}
	return s.err
}

func (s *sink) flushLocked() error {
	if s.err != nil || s.own.Len() == 0 {
		return s.err
	}
	b, _, err := s.own.Batch()
	if err == nil {
		err = s.w.Requests(b)
	}
	return s.keep(err)
}

func (s *sink) client(rows []run.Client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.w.Client(rows)
	if err == nil && time.Since(s.flushed) >= spoolAge {
		err = s.w.Flush()
		s.flushed = time.Now()
	}
	return s.keep(err)
}

// close writes what is left, the client table and the end.
func (s *sink) close(e run.End) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flushLocked(); err != nil {
		return err
	}
	return s.keep(s.w.Close(e))
}

// sha256 returns the run's hash, once it is closed.
func (s *sink) sha256() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.SHA256()
}

// healthy reports whether the output still takes what it is given.
func (s *sink) healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil
}

func (s *sink) keep(err error) error {
	if s.err == nil {
		s.err = err
	}
	return s.err
}

// Spool is where client rows wait until the requests have ended.
type Spool struct {
	io.ReadWriteSeeker
	// Close ends it. Its name goes too when its rows are in the run, and stays when they
	// are not, since then they exist nowhere else.
	Close func(appended bool)
}

// SpoolName is where the client rows of a run in the file output wait.
func SpoolName(output string) string { return output + ".client" }

// OpenSpool opens a spool: SpoolName(output) beside a run that is a file, so that a
// killed run keeps its evidence, else (output "") a file without a name.
func OpenSpool(output string) (*Spool, error) {
	if output == "" {
		f, err := os.CreateTemp("", "replay-client-")
		if err != nil {
			return nil, fmt.Errorf("spool of client rows: %w", err)
		}
		os.Remove(f.Name())
		return &Spool{f, func(bool) { f.Close() }}, nil
	}
	name := SpoolName(output)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, fmt.Errorf("spool of client rows: %w", err)
	}
	return &Spool{f, func(appended bool) {
		f.Close()
		if appended {
			os.Remove(name)
		}
	}}, nil
}
