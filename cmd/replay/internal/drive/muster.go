package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/slots"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// musterTime bounds how long workers may take to say hello; a loaded host needs
// fractions of a second.
const musterTime = 30 * time.Second

// muster starts the workers and waits for their hello.
func (d *drive) muster() error {
	var shared *os.File
	if d.o.Setup.Concurrency > 0 || d.o.Setup.Sessions > 0 {
		var err error
		if d.slots, shared, err = slots.New(d.o.Workers); err != nil {
			return err
		}
		defer shared.Close()
	}
	for i := range d.o.Workers {
		m, err := spawn(d.o.Executable, i, shared)
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.crew = append(d.crew, m)
		d.mu.Unlock()
		go d.guard(m, m.write)
		go d.guard(m, func() error { return d.attend(m) })
		s := d.o.Setup
		s.Worker, s.Workers = i, d.o.Workers
		m.sendJSON(link.KindSetup, s)
	}
	return d.await(musterTime, "hello", func(m *member) bool { return m.hello != nil })
}

// await waits until all workers are as they should be.
func (d *drive) await(limit time.Duration, what string, is func(*member) bool) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		d.mu.Lock()
		var missing *member
		for _, m := range d.crew {
			if !is(m) {
				missing = m
			}
		}
		cause := d.cause
		d.mu.Unlock()
		switch {
		case cause != nil:
			return cause
		case missing == nil:
			return nil
		}
		select {
		case <-d.moved:
		case <-d.stopped:
		case <-late.C:
			return fmt.Errorf("worker %d (pid %d): no %s within %s", missing.index, missing.pid, what, limit)
		}
	}
}

// guard turns a panic or an error of a worker's goroutine into the end of the run.
func (d *drive) guard(m *member, f func() error) {
	if err := cli.Guard(f); err != nil {
		d.fail(fmt.Errorf("worker %d (pid %d): %w", m.index, m.pid, err))
		m.kill()
	}
}

// attend reads all that a worker says, and settles its debts when it is gone.
func (d *drive) attend(m *member) error {
	frames := link.NewReader(m.out)
	var err error
	for err == nil {
		var kind link.Kind
		var payload []byte
		if kind, payload, err = frames.Next(); err == nil {
			m.silent.Store(math.MinInt64 / 2) // not while the output keeps us waiting
			err = d.hear(m, kind, payload)
			m.silent.Store(0)
		}
	}
	m.silent.Store(math.MinInt64 / 2)
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		d.fail(fmt.Errorf("worker %d (pid %d): %w", m.index, m.pid, err))
		m.kill()
	}
	exit, how := m.wait()
	d.mu.Lock()
	m.exit = exit
	well := exit == 0 && m.bye != nil
	if !well {
		m.reason = how
	}
	d.mu.Unlock()
	d.wake(m)
	if !well {
		d.fail(cli.WithHint(fmt.Errorf("worker %d (pid %d) %s", m.index, m.pid, how),
			"its requests have rows all the same: truncated when they were in flight, else not_sent"))
		d.writeOff(m)
	}
	close(m.ended)
	d.stir()
	return nil
}

// hear takes one frame of a worker.
func (d *drive) hear(m *member, kind link.Kind, payload []byte) error {
	defer d.stir()
	switch kind {
	case link.KindHello:
		var h link.Hello
		if err := json.Unmarshal(payload, &h); err != nil {
			return err
		}
		if h.Build != cli.Build() {
			return fmt.Errorf("build: got %q, want %q: the program was replaced while it started", h.Build, cli.Build())
		}
		d.mu.Lock()
		m.hello = &h
		d.mu.Unlock()
	case link.KindReady:
		d.mu.Lock()
		m.ready = true
		d.mu.Unlock()
	case link.KindSent:
		stamps, err := link.DecodeStamps(payload)
		if err != nil {
			return err
		}
		d.mu.Lock()
		for _, s := range stamps {
			if d.ledger.sent(s) {
				d.live.sent++
			}
		}
		d.mu.Unlock()
	case link.KindRows:
		return d.takeRows(m, payload)
	case link.KindClient:
		var rows []run.Client
		if err := json.Unmarshal(payload, &rows); err != nil {
			return err
		}
		return d.takeClient(m, rows)
	case link.KindDropped:
		var l link.Dropped
		if err := json.Unmarshal(payload, &l); err != nil {
			return err
		}
		return d.takeDropped(m, l.IDs)
	case link.KindWake:
		d.wake(m)
	case link.KindFault:
		var f link.Fault
		if err := json.Unmarshal(payload, &f); err != nil {
			return err
		}
		d.fail(cli.WithHint(errors.New(f.Text), f.Hint))
	case link.KindBye:
		var b link.Bye
		if err := json.Unmarshal(payload, &b); err != nil {
			return err
		}
		d.mu.Lock()
		m.bye = &b
		d.mu.Unlock()
		m.shut()
	default:
		return fmt.Errorf("got frame %d, want a worker's", kind)
	}
	return nil
}

// wake tells the workers that wait for slots that one may be free.
func (d *drive) wake(from *member) {
	if d.slots == nil {
		return
	}
	d.mu.Lock()
	crew := d.crew
	d.mu.Unlock()
	for _, m := range crew {
		if m == from || !d.slots.Waiting(m.index) {
			continue
		}
		select {
		case m.outbox <- frame{kind: link.KindSlots}:
		default:
			go m.send(frame{kind: link.KindSlots}, nil) // never waits for a worker that waits for us
		}
	}
}

// takeDropped strikes off what the plan ended before.
func (d *drive) takeDropped(m *member, ids []int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		debt := d.ledger.owed[id]
		if _, ok := d.ledger.settle(id, m.index); !ok {
			return fmt.Errorf("internal error: request %d is dropped by a worker that does not owe it", id)
		}
		if err := d.unplan(debt); err != nil {
			return err
		}
	}
	return nil
}

// takeRows forwards a batch and strikes its rows off the ledger.
func (d *drive) takeRows(m *member, payload []byte) error {
	r, err := link.DecodeRows(payload)
	if err != nil {
		return err
	}
	s := d.sink.Load()
	if s == nil {
		return nil // a fault before the start: nobody wants the row
	}
	d.mu.Lock()
	for _, row := range r.Rows {
		wasSent, ok := d.ledger.settle(row.ID, m.index)
		if !ok {
			d.mu.Unlock()
			return fmt.Errorf("internal error: a row for request %d, which it does not owe", row.ID)
		}
		if row.Dispatched {
			m.sent++
			if !wasSent {
				d.live.sent++
			}
			d.live.ended++
		}
		m.rows++
		d.totals.row(row)
	}
	d.mu.Unlock()
	if err := s.batch(r); err != nil {
		d.stop(run.Failed, err, 0) // nobody can have the rest
	}
	return nil
}

func (d *drive) takeClient(m *member, rows []run.Client) error {
	d.mu.Lock()
	for i := range rows {
		d.totals.client(&rows[i])
		d.live.client(&rows[i])
		m.inTable.dispatched += rows[i].Dispatched.V
		m.inTable.completed += rows[i].Completed.V
	}
	d.mu.Unlock()
	if err := d.sink.Load().client(rows); err != nil {
		d.stop(run.Failed, err, 0)
	}
	return nil
}

// writeOff makes the rows that a dead worker owed, and a client row for what its own
// rows no longer told, so that both counts agree.
func (d *drive) writeOff(m *member) {
	if d.sink.Load() == nil {
		return // no load yet
	}
	d.mu.Lock()
	debts := d.owned(m)
	now := d.now()
	reason := fmt.Sprintf("worker %d (pid %d) %s", m.index, m.pid, m.reason)
	d.mu.Unlock()
	for _, debt := range debts {
		row, err := debt.row(reason, now)
		if err != nil {
			d.fail(err)
			return
		}
		d.ownRow(row)
		if row.DispatchedNS.Valid {
			m.sent++
		}
	}
	c := run.Client{TNS: now, Worker: int64(m.index), PID: int64(m.pid), InFlight: formats.Some(0)}
	d.mu.Lock()
	c.Dispatched = formats.Some(max(m.sent-m.inTable.dispatched, 0))
	c.Completed = formats.Some(max(m.sent-m.inTable.completed, 0))
	d.mu.Unlock()
	if err := d.sink.Load().client([]run.Client{c}); err != nil {
		d.stop(run.Failed, err, 0)
	}
}

// ownRow writes a row that the parent made.
func (d *drive) ownRow(row *run.Request) {
	d.mu.Lock()
	d.totals.row(link.RowOf(row))
	d.mu.Unlock()
	if err := d.sink.Load().row(row); err != nil {
		d.stop(run.Failed, err, 0)
	}
}
