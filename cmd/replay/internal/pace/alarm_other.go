//go:build !linux

package pace

import (
	"runtime"
	"sync"
	"time"

	"hydrant/cmd/replay/internal/clock"
)

// Alarm is an absolute sleep on the monotonic clock that another goroutine can end
// early. One goroutine sleeps, any number ring. The zero value is ready. It rests on the
// runtime's timers, which may be a millisecond late: the lag columns show it.
type Alarm struct {
	once sync.Once
	rung chan struct{}
}

func (a *Alarm) init() { a.once.Do(func() { a.rung = make(chan struct{}, 1) }) }

// Sleep returns at instant ns of the monotonic clock or as soon as Ring is called.
// Forever never passes.
func (a *Alarm) Sleep(ns int64) {
	a.init()
	var at <-chan time.Time
	if ns != Forever {
		t := time.NewTimer(time.Duration(ns - clock.Monotonic()))
		defer t.Stop()
		at = t.C
	}
	select {
	case <-at:
	case <-a.rung:
	}
}

// Ring ends the current Sleep, or the next one when nobody sleeps.
func (a *Alarm) Ring() {
	a.init()
	select {
	case a.rung <- struct{}{}:
	default:
	}
}

// Pin ties the calling goroutine to its thread.
func Pin() { runtime.LockOSThread() }

// Exact does nothing: timers are as exact as the runtime's.
func Exact() {}

// Nanosleep sleeps to instant ns of the monotonic clock.
func Nanosleep(ns int64) { time.Sleep(time.Duration(ns - clock.Monotonic())) }
