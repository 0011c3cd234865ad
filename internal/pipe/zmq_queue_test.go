package pipe

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// drain reads the queue to its end.
func drain(q *queue) ([]byte, error) {
	var got []byte
	buf := make([]byte, 100_000)
	for {
		n, change, err := q.read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			return got, err
		}
		if n == 0 {
			<-change
		}
	}
}

func TestQueueSpillsAndKeepsOrder(t *testing.T) {
	q := newQueue()
	defer q.close()
	in := noise(3, 2<<20)
	for b := in; len(b) > 0; {
		n := min(len(b), 99_991)
		if err := q.push(b[:n]); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	if q.held > queueOther || q.in == 0 {
		t.Errorf("%d bytes in memory, %d in the file; want at most %d in memory", q.held, q.in, queueOther)
	}
	q.use()
	more := noise(4, 3<<20) // comes while the first part is read
	pushed := make(chan error, 1)
	go func() {
		var err error
		for b := more; len(b) > 0 && err == nil; {
			n := min(len(b), 250_001)
			err = q.push(b[:n])
			b = b[n:]
		}
		q.end(nil)
		pushed <- err
	}()
	got, err := drain(q)
	if err != io.EOF || !bytes.Equal(got, append(in, more...)) {
		t.Errorf("read %d bytes, %v; want %d in order", len(got), err, len(in)+len(more))
	}
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if st, err := q.spool.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("the spool holds %d bytes at the end, %v", st.Size(), err)
	}
}

// The stream that is being read stops its writer when it is full.
func TestQueueHoldsTheWriter(t *testing.T) {
	q := newQueue()
	q.use()
	block := make([]byte, maxPayload)
	for range queueCurrent / maxPayload {
		if err := q.push(block); err != nil {
			t.Fatal(err)
		}
	}
	pushed := make(chan error, 1)
	go func() { pushed <- q.push(block) }()
	select {
	case err := <-pushed:
		t.Fatalf("push = %v into a full queue", err)
	default:
	}
	if q.in != 0 {
		t.Error("the current stream spills")
	}
	if _, _, err := q.read(make([]byte, maxPayload)); err != nil {
		t.Fatal(err)
	}
	if err := <-pushed; err != nil {
		t.Errorf("push = %v after a read", err)
	}
	go func() { pushed <- q.push(block) }()
	q.close()
	if err := <-pushed; !errors.Is(err, errQueueClosed) {
		t.Errorf("push = %v; want %v", err, errQueueClosed)
	}
	q.close()
}

func TestQueueErrorComesLast(t *testing.T) {
	q := newQueue()
	q.push([]byte("good"))
	q.end(errStop)
	q.end(nil) // the first end counts
	if got, err := drain(q); string(got) != "good" || err != errStop {
		t.Errorf("read %q, %v; want good, then the error", got, err)
	}
}
