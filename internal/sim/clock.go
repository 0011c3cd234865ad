package sim

import "time"

// clock is what the live server waits on. One goroutine waits, any may wake it.
// Times are ns on one monotonic scale with an origin of the clock's own.
type clock interface {
	// start is called once by the goroutine that waits.
	start()
	now() int64
	// mark is taken before looking for work; a wake after it ends the next wait.
	mark() uint32
	// wait returns at the absolute time until, or when woken; forever means no time.
	wait(mark uint32, until int64)
	wake()
}

const forever = int64(1<<63 - 1)

// timerClock waits on timers of package time. It works everywhere, also inside a
// testing/synctest bubble, and is up to a millisecond late in an idle process.
type timerClock struct {
	zero  time.Time
	woken chan struct{}
}

func newTimerClock() *timerClock {
	return &timerClock{zero: time.Now(), woken: make(chan struct{}, 1)} // one pending wake is as good as many
}

func (*timerClock) start() {}

func (c *timerClock) now() int64 { return int64(time.Since(c.zero)) }

func (*timerClock) mark() uint32 { return 0 }

func (c *timerClock) wait(_ uint32, until int64) {
	if until == forever {
		<-c.woken
		return
	}
	t := time.NewTimer(time.Duration(until - c.now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.woken:
	}
}

func (c *timerClock) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
