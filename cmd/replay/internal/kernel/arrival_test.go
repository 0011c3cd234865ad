package kernel

import (
	"testing"

	"hydrant/cmd/replay/internal/clock"
)

// One stamp converts alike however often, and a clock that was set back is followed.
func TestConverter(t *testing.T) {
	clk := clock.New(clock.Epoch())
	c := NewConverter(clk)
	_, stamp := clk.Both()
	before := clk.Now()
	at, first := c.Arrival(stamp)
	if at < before || at > clk.Now() {
		t.Errorf("at %d; want now, %d", at, before)
	}
	if d := first - before; d > 1_000_000 || d < -1_000_000 {
		t.Errorf("arrival %d; want about %d", first, before)
	}
	for range 10_000 {
		at, k := c.Arrival(stamp)
		if d := k - first; d < -slack || d > slack {
			t.Fatalf("arrival %d; want %d to 1 µs", k, first)
		}
		if k > at {
			t.Fatalf("arrival %d after the read at %d", k, at)
		}
	}
	c.offset.Add(1_000_000_000) // the wall clock was a second ahead until now
	if _, k := c.Arrival(stamp); k < first-slack || k > first+slack {
		t.Errorf("arrival after a step of the clock %d; want %d", k, first)
	}
	if n := testing.AllocsPerRun(100, func() { c.Arrival(stamp) }); n != 0 {
		t.Errorf("Arrival allocates %v times", n)
	}
}
