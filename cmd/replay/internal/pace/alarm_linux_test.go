package pace

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func mono() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}

func TestAlarmIsNeverEarly(t *testing.T) {
	var a Alarm
	for i := range 20 {
		until := mono() + int64(i)*100_000
		for mono() < until {
			a.Sleep(until)
		}
		Nanosleep(until + 100_000)
		if now := mono(); now < until+100_000 {
			t.Fatalf("woke %d ns early", until+100_000-now)
		}
	}
}

func TestRingEndsTheSleep(t *testing.T) {
	var a Alarm
	a.Ring()
	a.Sleep(Forever) // heard although it rang before
	done := make(chan struct{})
	asleep := make(chan struct{})
	go func() {
		Pin()
		close(asleep)
		a.Sleep(Forever)
		close(done)
	}()
	<-asleep
	a.Ring()
	<-done
}

func TestQueueOnTheRealClock(t *testing.T) {
	var a Alarm
	q := New[int64](mono, a.Sleep, a.Ring)
	done := make(chan []int64)
	go func() {
		Pin()
		var got []int64
		q.Run(func(due, now int64) {
			if now < due {
				t.Errorf("released %d ns early", due-now)
			}
			if got = append(got, due); len(got) == 3 {
				q.Close()
			}
		})
		done <- got
	}()
	t0 := mono()
	q.Push(t0+20_000_000, t0+20_000_000)
	q.Start()
	q.Push(t0+10_000_000, t0+10_000_000) // earlier than what is slept for
	q.Push(t0-1, t0-1)                   // late when it comes
	got := <-done
	if len(got) != 3 || got[0] != t0-1 || got[1] != t0+10_000_000 {
		t.Errorf("released %v; want the late one, then in order", got)
	}
}

// A pinned thread comes before the others, as far as the system grants it.
func TestPinPrefersItsThread(t *testing.T) {
	type answer struct {
		before, after int
		granted       bool
	}
	got := make(chan answer)
	niceness := func() int {
		p, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		if err != nil {
			t.Error(err)
		}
		return 20 - p // what the system call gives
	}
	go func() {
		var a answer
		runtime.LockOSThread()
		a.granted = unix.Setpriority(unix.PRIO_PROCESS, 0, -1-preferred) == nil && unix.Setpriority(unix.PRIO_PROCESS, 0, -1) == nil
		a.before = niceness()
		Pin()
		a.after = niceness()
		got <- a
	}()
	a := <-got
	want := a.before
	if a.granted {
		want = -1 - preferred
	}
	if a.after != want {
		t.Errorf("niceness %d from %d on; want %d", a.after, a.before, want)
	}
}
