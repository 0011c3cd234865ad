package drive

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
