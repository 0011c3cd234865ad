package drive

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/formats/run"
)

// hung is a worker process that says nothing.
func hung(t *testing.T) *member {
	t.Helper()
	m := &member{cmd: exec.Command("sleep", "1000"), closed: make(chan struct{}), ended: make(chan struct{}), outbox: make(chan frame, outboxFrames)}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.pid = m.cmd.Process.Pid
	return m
}

func newDrive(m *member) *drive {
	return &drive{ledger: newLedger(), totals: newTotals(), status: run.Complete, stopped: make(chan struct{}), moved: make(chan struct{}, 1),
		crew: []*member{m}, begun: true}
}

func TestAHungWorkerEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := hung(t)
		d := newDrive(m)
		quit := make(chan struct{})
		go d.watch(t.Context(), quit)
		begin := time.Now()
		<-d.stopped
		if after := time.Since(begin); after != (silence+1)*time.Second {
			t.Errorf("stopped after %s; want %d s of silence", after, silence+1)
		}
		close(quit)
		synctest.Wait()
		if d.status != run.Failed || !strings.Contains(d.cause.Error(), "has said nothing for 60 s") {
			t.Errorf("status %s, cause %v", d.status, d.cause)
		}
		if err := m.cmd.Wait(); err == nil {
			t.Error("the worker was not killed")
		}
	})
}

func TestASignalStopsAndAFailureBeatsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := hung(t)
		defer m.cmd.Wait()
		defer m.kill()
		d := newDrive(m)
		why := errors.New("signal")
		ctx, cancel := context.WithCancelCause(t.Context())
		quit := make(chan struct{})
		go d.watch(ctx, quit)
		cancel(why)
		<-d.stopped
		synctest.Wait()
		if d.status != run.Interrupted || d.reason() != why {
			t.Errorf("status %s, cause %v", d.status, d.cause)
		}
		died := errors.New("worker died")
		d.fail(died)
		d.fail(errors.New("and another"))
		d.stop(run.Interrupted, why, 0)
		if d.status != run.Failed || d.reason() != died {
			t.Errorf("status %s, cause %v; want the first failure", d.status, d.cause)
		}
		close(quit)
	})
}

// Turns that wait for others without a time of their own do not hold up the lines behind
// them: they pass when the schedule's time has come to where they stand.
func TestUntimedTurnsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			place, waiting int64
			passes         bool
		}{
			"few wait":                          {0, aheadLines - 1, true},
			"many wait, its place has come":     {0, aheadLines, true},
			"as many as may wait":               {0, lateLines, false},
			"many wait, its place has not come": {int64(time.Hour), aheadLines, false},
		} {
			d := newDrive(&member{closed: make(chan struct{}), ended: make(chan struct{}), outbox: make(chan frame, outboxFrames)})
			d.clock = clock.New(clock.Epoch())
			d.ledger.waiting = c.waiting
			passed := make(chan bool, 1)
			go func() { passed <- d.gate(&line{place: c.place, waits: true}) }()
			synctest.Wait()
			if got := len(passed) == 1; got != c.passes {
				t.Errorf("%s: passes %v; want %v", name, got, c.passes)
			}
			d.stop(run.Interrupted, errors.New("the end"), 0)
			if got := <-passed; got != c.passes {
				t.Errorf("%s: gate = %v; want %v", name, got, c.passes)
			}
		}
	})
}
