package drive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// How far the parent reads ahead. Workers need the time to build bodies; the counts
// bound memory whatever the rate. A line that is due already passes up to the larger
// counts: sessions that run behind the plan must not hold up the others.
const (
	lookAhead  = 10 * time.Second // Options.Ahead changes it
	aheadLines = 8 << 10
	aheadBytes = 256 << 20
	lateLines  = 256 << 10
	lateBytes  = 1 << 30

	// Lines go out in bunches: each alone would wake the worker for itself.
	bunches   = 40 // one part of this many of the look-ahead passes before the next are given
	freeShare = 16 // one part of this many of a full window has to be free
)

const (
	primeTime = 2 * time.Second        // for the first lines to come through a pipe, from the first on
	readyTime = time.Minute            // for their bodies to be built
	startLead = 200 * time.Millisecond // from the order to start to the epoch; Options.Lead changes it
	stuckLook = 100 * time.Millisecond // between two looks at sessions that may be stuck
	restTime  = 5 * time.Second        // to read the rest of the schedule after a stop
	restIdle  = time.Second            // without a line: the pipe has gone quiet
)

// stuckLooks is how many looks in a row find stuck what is: jobs on their way to a worker
// take less.
const stuckLooks = 50

// prime gives the workers what is due first and waits until it is prepared, so that no
// request is late because of the start. A fault found here ends the run before any
// load. It returns the line that it read too far, or the end.
func (d *drive) prime() (held *fed, err error) {
	var late <-chan time.Time
	for n := 0; held == nil && n < aheadLines; n++ {
		select {
		case f := <-d.lines:
			switch {
			case f.err != nil && !errors.Is(f.err, io.EOF):
				return nil, f.err
			case f.err != nil || d.timed() && f.line.at.Valid && f.line.at.V > int64(d.o.Ahead):
				held = &f
			default:
				d.give(f.line)
			}
		case <-late:
			n = aheadLines
		case <-d.stopped:
			return nil, d.reason()
		}
		if late == nil {
			late = time.After(primeTime)
		}
	}
	for _, m := range d.crew {
		m.send(frame{kind: link.KindPrime}, d.stopped)
	}
	return held, d.await(readyTime, "word that the first bodies are ready", func(m *member) bool { return m.ready })
}

// begin opens the output, fixes the epoch and gives the order to start.
func (d *drive) begin() (*Spool, error) {
	out, err := d.o.Open()
	if err != nil {
		return nil, err
	}
	spool, err := d.o.Spool()
	if err != nil {
		return nil, err
	}
	e := clock.Epoch()
	e.MonotonicNS += int64(d.o.Lead)
	e.WallNS += int64(d.o.Lead)
	h := d.o.Header
	h.Epoch = e
	s, err := newSink(out, h, spool)
	if err != nil {
		spool.Close(true) // nothing is in it
		return nil, err
	}
	d.sink.Store(s)
	d.mu.Lock()
	d.clock, d.begun = clock.New(e), true
	if d.o.Setup.Released {
		time.AfterFunc(d.o.Lead+time.Duration(d.o.Setup.DurationNS), func() { close(d.over) })
	}
	d.mu.Unlock()
	for _, m := range d.crew {
		m.sendJSON(link.KindStart, link.Start{Epoch: e})
	}
	return spool, nil
}

// give hands a line to its worker.
func (d *drive) give(l *line) {
	d.waits = d.waits || l.waits
	d.mu.Lock()
	d.plan(l)
	m := d.crew[l.worker]
	d.ledger.add(l.id, &debt{worker: l.worker, job: l.slim, size: int64(len(l.job))})
	d.mu.Unlock()
	m.send(frame{link.KindJob, l.job}, d.stopped)
}

// plan counts a line of the plan. The caller holds the mutex.
func (d *drive) plan(l *line) {
	d.totals.planned++
	d.totals.input.add(l.in)
	d.totals.output.add(l.out)
	if l.at.Valid && d.timed() && d.status == run.Complete {
		d.live.planned(l.at.V, d.now())
	}
}

// timed reports whether the times of the schedule say when its lines are needed.
func (d *drive) timed() bool {
	t := d.o.Setup.Timing
	return t != worker.Asap && t != worker.Think
}

// unplan takes a line off the plan that ended before it. The caller holds the mutex.
func (d *drive) unplan(debt *debt) error {
	j, err := link.DecodeJob(debt.job)
	if err != nil {
		return err
	}
	d.totals.planned--
	d.totals.input.remove(j.Request.InputTokens)
	d.totals.output.remove(j.Request.OutputTokens)
	return nil
}

// owned returns what a worker owes and will not pay. Where the plan is what was released,
// what was not sent is no part of it.
func (d *drive) owned(m *member) []*debt {
	all := d.ledger.writeOff(m.index)
	if !d.o.Setup.Released {
		return all
	}
	return slices.DeleteFunc(all, func(debt *debt) bool { return !debt.dispatched && d.unplan(debt) == nil })
}

// deliver gives lines to workers as their time comes near, until the plan ends or the
// run is stopped.
func (d *drive) deliver(held *fed) {
	for {
		var f fed
		if held != nil {
			f, held = *held, nil
		} else {
			select {
			case f = <-d.lines:
			case <-d.stopped:
				return
			case <-d.over:
				d.drain()
				return
			}
		}
		switch {
		case errors.Is(f.err, io.EOF):
			d.exhausted = true
			d.mu.Lock()
			d.live.whole = true
			d.mu.Unlock()
			return
		case f.err != nil:
			d.exhausted = true
			d.fail(f.err)
			return
		case !d.gate(f.line):
			if d.stopping() {
				d.decline(f.line)
			} else {
				d.drain()
			}
			return
		}
		d.give(f.line)
	}
}

// drain ends the plan: the schedule is read no further. A pipe that has gone quiet is
// left where it is.
func (d *drive) drain() {
	d.feed.over.Store(true)
	idle := time.NewTimer(restIdle)
	defer idle.Stop()
	for !d.exhausted {
		select {
		case f := <-d.lines:
			d.exhausted = f.err != nil
		case <-idle.C:
			return
		}
	}
}

// window returns how many lines and bytes may wait in workers. Where the times of the
// schedule do not say which lines are needed next, those of open sessions may lie far ahead.
func (d *drive) window() (lines, bytes int64) {
	if d.o.Setup.Timing == worker.Think || d.o.Setup.Timing == worker.Asap && d.waits || d.o.Setup.Sessions > 0 {
		return lateLines, lateBytes
	}
	return aheadLines, aheadBytes
}

// gate waits until l may go to its worker; false when the run was stopped or the plan has
// ended instead.
func (d *drive) gate(l *line) bool {
	most, mostBytes := d.window()
	stuck := 0 // looks at sessions that nothing is left to do for
	for {
		d.mu.Lock()
		now, lines, bytes := d.now(), d.ledger.waiting, d.ledger.bytes
		d.mu.Unlock()
		wait := time.Duration(-1) // until something moves
		full := lines >= most || bytes >= mostBytes
		switch {
		case d.stopping():
			return false
		case !d.timed():
			if d.room(lines, bytes, most, mostBytes) {
				return true
			}
		case l.place <= now:
			if lines < lateLines && bytes < lateBytes {
				return true
			}
		case l.place-now > int64(d.o.Ahead):
			wait = time.Duration(l.place-now) - d.o.Ahead + d.o.Ahead/bunches
		case d.room(lines, bytes, most, mostBytes):
			return true
		default:
			wait = time.Duration(l.place - now)
		}
		if n := d.o.Setup.Sessions; n > 0 && full {
			// The open sessions may go on with lines that are not read yet, and those before
			// them wait for the open sessions to end.
			if wait = stuckLook; !d.slots.Stuck(worker.Sessions, n) {
				stuck = 0
			} else if stuck++; stuck > stuckLooks {
				d.fail(cli.WithHint(fmt.Errorf("--sessions %d: the next lines of the open sessions lie further ahead than the %d lines (%d MiB) that may wait", n, lines, bytes>>20),
					"raise --sessions, or cut the schedule into parts"))
				return false
			}
		}
		var timer *time.Timer
		var after <-chan time.Time
		if wait >= 0 {
			timer = time.NewTimer(wait)
			after = timer.C
		}
		select {
		case <-after:
		case <-d.moved:
		case <-d.stopped:
		case <-d.over:
			return false
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// room reports whether the window takes a line; a full one does when a part of it is free.
// A larger window is one of lines that may wait for later ones, and takes them singly.
func (d *drive) room(lines, bytes, most, mostBytes int64) bool {
	if d.full && most == aheadLines {
		most, mostBytes = most-most/freeShare, mostBytes-mostBytes/freeShare
	}
	d.full = lines >= most || bytes >= mostBytes
	return !d.full
}

// settle waits until every worker has ended. After a stop it makes rows of what is left
// of the schedule meanwhile, and kills who does not end in time.
func (d *drive) settle() {
	for _, m := range d.crew {
		go m.send(frame{kind: link.KindFinish}, nil)
	}
	for _, m := range d.crew {
		select {
		case <-m.ended:
		case <-d.stopped:
		}
	}
	defer d.sweep()
	if !d.stopping() {
		return
	}
	end := time.NewTimer(d.o.Grace + killAfter)
	defer end.Stop()
	d.declineRest()
	for _, m := range d.crew {
		select {
		case <-m.ended:
			continue
		case <-end.C:
		}
		for _, m := range d.crew {
			select {
			case <-m.ended:
			default:
				d.fail(fmt.Errorf("worker %d (pid %d) did not end within %s", m.index, m.pid, d.o.Grace+killAfter))
				m.kill()
			}
		}
		break
	}
	for _, m := range d.crew {
		<-m.ended
	}
}

// sweep makes the rows of jobs that were on their way to a worker when the run was
// stopped or the worker died, and so reached nobody.
func (d *drive) sweep() {
	d.mu.Lock()
	var lost []*debt
	for _, m := range d.crew {
		lost = append(lost, d.owned(m)...)
	}
	cause := d.cause
	d.mu.Unlock()
	if len(lost) > 0 && cause == nil {
		cause = fmt.Errorf("internal error: workers ended well and owe %d rows", len(lost))
		d.fail(cause)
	}
	for _, debt := range lost {
		debt.dispatched = false
		row, err := debt.row(cause.Error(), 0)
		if err != nil {
			d.fail(err)
			return
		}
		d.ownRow(row)
	}
}

// decline makes the row of a line that no worker was given. It has none where the plan
// is what was released.
func (d *drive) decline(l *line) {
	if d.o.Setup.Released {
		return
	}
	d.mu.Lock()
	d.plan(l)
	d.mu.Unlock()
	j, err := link.DecodeJob(l.slim)
	if err != nil {
		d.fail(err)
		return
	}
	row := planned(j)
	row.Outcome, row.Error = run.NotSent, d.reason().Error()
	d.ownRow(row)
}

// declineRest makes the rows of the plan that was not delivered. A schedule that does
// not end soon, as one from a living pipe, is left where it is.
func (d *drive) declineRest() {
	if d.o.Setup.Released {
		return
	}
	end := time.After(restTime)
	for !d.exhausted && d.sink.Load().healthy() {
		idle := time.NewTimer(restIdle)
		select {
		case f := <-d.lines:
			if f.err != nil {
				d.exhausted = true
			} else {
				d.decline(f.line)
			}
		case <-idle.C:
			return
		case <-end:
			return
		}
		idle.Stop()
	}
}

// dismiss ends what is left of the workers.
func (d *drive) dismiss() {
	for _, m := range d.crew {
		select {
		case <-m.ended:
		default:
			m.kill()
		}
	}
	for _, m := range d.crew {
		<-m.ended
	}
}
