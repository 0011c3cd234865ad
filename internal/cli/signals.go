package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals returns a context that the first SIGINT or SIGTERM cancels with cause
// ErrInterrupted; the second ends the process at once with StatusInterrupted.
// stop gives the signals back and ends the context.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	got := make(chan os.Signal, 2) // room for the two that count
	done := make(chan struct{})
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-got:
				if n > 0 {
					os.Exit(StatusInterrupted)
				}
				cancel(ErrInterrupted)
			}
		}
	}()
	var once sync.Once
	return ctx, func() {
		once.Do(func() {
			signal.Stop(got)
			close(done)
			cancel(nil)
		})
	}
}

// catchPipe makes a write to a closed standard output return EPIPE. Left alone,
// the runtime kills the process on descriptors 1 and 2 and deferred work is lost.
// The signal is caught and not ignored, since an ignored one is inherited by
// child processes.
func catchPipe() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}
