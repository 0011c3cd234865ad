package clock

import (
	"testing"
	"time"
)

// The two ways of reading are one clock: readings taken in turn never run backwards
// by more than the resolution of one calibration, however long ago that was.
func TestNowIsMonotonicClock(t *testing.T) {
	e := Epoch()
	c := New(e)
	const slack = 50_000 // ns: a calibration in which every try was preempted
	for range 1000 {
		a := Monotonic() - e.MonotonicNS
		b := c.Now()
		d := Monotonic() - e.MonotonicNS
		if b < a-slack || b > d+slack {
			t.Fatalf("Now() = %d; want within [%d, %d]", b, a, d)
		}
	}
}

// Two clocks of one epoch, made at different times as in two processes, agree.
func TestClocksOfOneEpochAgree(t *testing.T) {
	e := Epoch()
	a, b := New(e), New(e)
	for range 100 {
		x, y, z := a.Now(), b.Now(), a.Now()
		if y < x-50_000 || y > z+50_000 {
			t.Fatalf("second clock reads %d between %d and %d of the first", y, x, z)
		}
	}
}

func TestEpochPairs(t *testing.T) {
	a, b := Epoch(), Epoch()
	if a.MonotonicNS <= 0 || a.WallNS <= 0 {
		t.Fatalf("Epoch() = %+v; want both clocks read", a)
	}
	if b.MonotonicNS < a.MonotonicNS {
		t.Errorf("second epoch is at %d, before the first at %d", b.MonotonicNS, a.MonotonicNS)
	}
}

func BenchmarkNow(b *testing.B) {
	c := New(Epoch())
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkMonotonic(b *testing.B) {
	for b.Loop() {
		Monotonic()
	}
}

func TestBoth(t *testing.T) {
	c := New(Epoch())
	before, wallBefore := c.Now(), time.Now().UnixNano()
	at, wall := c.Both()
	if after := c.Now(); at < before || at > after {
		t.Errorf("Both at %d; want between %d and %d", at, before, after)
	}
	if d := wall - wallBefore; d < 0 || d > int64(time.Minute) {
		t.Errorf("Both is %d ns after the wall clock read before it", d)
	}
}
