package pipe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Memory of a stream that waits to be read. The one that is being read gets more
// and stops its writer when it is full; the others spill to a file, so that a
// writer is never held up by another writer.
const (
	queueCurrent = 4 << 20
	queueOther   = 256 << 10
)

var errQueueClosed = errors.New("the reader has been closed")

// queue holds the bytes of one writer between its connection and Read. One
// goroutine pushes, one reads.
type queue struct {
	mu      sync.Mutex
	change  chan struct{} // closed and replaced whenever something changes
	mem     [][]byte
	held    int // bytes in mem
	spool   *os.File
	in, out int64 // bytes written to and read from the spool
	current bool
	ended   bool
	err     error // after everything that is held
	closed  bool
}

func newQueue() *queue { return &queue{change: make(chan struct{})} }

// wake tells the other side to look again. The caller holds mu.
func (q *queue) wake() {
	close(q.change)
	q.change = make(chan struct{})
}

// push adds b, which the queue keeps. It waits while this is the current stream
// and full.
func (q *queue) push(b []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch waiting := int64(q.held) + q.in - q.out; {
		case q.closed:
			return errQueueClosed
		case q.current && waiting >= queueCurrent:
			c := q.change
			q.mu.Unlock()
			<-c
			q.mu.Lock()
			continue
		case q.in > q.out || !q.current && waiting+int64(len(b)) > queueOther:
			if err := q.spill(b); err != nil {
				return err
			}
		default:
			q.mem = append(q.mem, b)
			q.held += len(b)
		}
		q.wake()
		return nil
	}
}

// spill appends b to the temporary file, which has no name and goes with the process.
func (q *queue) spill(b []byte) error {
	if q.spool == nil {
		f, err := os.CreateTemp("", "hydrant-spool-")
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		os.Remove(f.Name())
		q.spool = f
	}
	n, err := q.spool.WriteAt(b, q.in)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	q.in += int64(n)
	return nil
}

// end marks the end of the stream; err, if any, follows what is held.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended, q.err = true, err
		q.wake()
	}
}

// use makes this the current stream.
func (q *queue) use() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = true
	q.wake()
}

// read fills p with what there is. With nothing there it returns 0 and the
// channel that tells of a change, or the stream's error, io.EOF for a whole one.
func (q *queue) read(p []byte) (n int, change <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.held > 0:
		n = copy(p, q.mem[0])
		q.mem[0] = q.mem[0][n:]
		if len(q.mem[0]) == 0 {
			q.mem[0] = nil
			q.mem = q.mem[1:]
		}
		q.held -= n
	case q.in > q.out:
		n, err = q.spool.ReadAt(p[:min(int64(len(p)), q.in-q.out)], q.out)
		if err != nil {
			return 0, nil, fmt.Errorf("spool: %w", err)
		}
		q.out += int64(n)
		if q.in == q.out { // start again, so that the file does not grow for ever
			q.in, q.out = 0, 0
			if err := q.spool.Truncate(0); err != nil {
				return 0, nil, fmt.Errorf("spool: %w", err)
			}
		}
	case q.ended && q.err != nil:
		return 0, nil, q.err
	case q.ended:
		return 0, nil, io.EOF
	default:
		return 0, q.change, nil
	}
	q.wake()
	return n, nil, nil
}

// close drops everything and releases a push that waits.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed, q.mem, q.held = true, nil, 0
	if q.spool != nil {
		q.spool.Close()
		q.in, q.out = 0, 0
	}
	q.wake()
}
