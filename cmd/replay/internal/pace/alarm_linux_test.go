package pace

import (
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
