package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
)

// A batch is cut when it is full or when its first row is a second old, so that rows of
// a quiet run are safe with the parent soon and those of a busy one compress well.
const (
	batchRows  = 1024           // well under what a batch may have
	batchAge   = time.Second    //
	rowBacklog = run.RowBacklog // finished rows that wait for the encoder

	// rowGather is for how long rows gather while none waits: a thread is not woken for each.
	rowGather = 10 * time.Millisecond
)

// rows encodes finished rows and sends them to the parent. One goroutine runs it.
type rows struct {
	out *link.Writer
	in  chan *run.Request
	enc *run.Encoder

	mu   sync.Mutex
	over []*run.Request // what in had no room for

	envelope []link.Row
	buf      []byte
	sent     int64
	waiting  atomic.Int64 // rows handed over and not yet sent
}

func newRows(out *link.Writer) *rows {
	return &rows{out: out, in: make(chan *run.Request, rowBacklog), enc: run.NewEncoder()}
}

// put hands a finished row over. It never waits, since it may run on the pacing thread:
// behind an output that is stuck, rows gather in memory, which backlog_rows shows.
func (r *rows) put(row *run.Request) {
	r.waiting.Add(1)
	select {
	case r.in <- row:
	default:
		r.mu.Lock()
		r.over = append(r.over, row)
		r.mu.Unlock()
	}
}

// overflow takes the rows that had no room.
func (r *rows) overflow() error {
	r.mu.Lock()
	over := r.over
	r.over = nil
	r.mu.Unlock()
	for _, row := range over {
		if err := r.take(row); err != nil {
			return err
		}
	}
	return nil
}

// take encodes a row, and sends the batch that is full with it.
func (r *rows) take(row *run.Request) error {
	r.add(row)
	if r.enc.Len() >= batchRows || r.enc.Full() {
		return r.flush()
	}
	return nil
}

// run takes rows until in is closed, and sends all of them.
func (r *rows) run() error {
	age := time.NewTimer(batchAge)
	age.Stop()
	for {
		select {
		case row, ok := <-r.in:
			if !ok {
				if err := r.overflow(); err != nil {
					return err
				}
				return r.flush()
			}
			if r.enc.Len() == 0 {
				age.Reset(batchAge)
			}
			err := r.take(row)
			if err == nil && len(r.in) == 0 {
				time.Sleep(rowGather)
				err = r.overflow()
			}
			if err != nil {
				return err
			}
		case <-age.C:
			if err := r.overflow(); err != nil {
				return err
			}
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
}

// add takes in a row, which nobody has any more.
func (r *rows) add(row *run.Request) {
	r.envelope = append(r.envelope, link.RowOf(row))
	r.enc.Append(row)
	blank.Put(row)
}

func (r *rows) flush() error {
	if r.enc.Len() == 0 {
		return nil
	}
	batch, _, err := r.enc.Batch()
	if err != nil {
		return err
	}
	r.buf = link.AppendRows(r.buf[:0], r.envelope)
	if err := r.out.Write(link.KindRows, r.buf, batch.Message); err != nil {
		return err
	}
	r.sent += batch.Rows
	r.waiting.Add(-batch.Rows)
	r.envelope = r.envelope[:0]
	return nil
}
