package kernel

import "testing"

func TestMono(t *testing.T) {
	// read 30 ns after the arrival, whatever the distance of the clocks
	if got := Mono(1000, 1_700_000_000_000_000_030, 1_700_000_000_000_000_000); got != 970 {
		t.Errorf("Mono = %d; want 970", got)
	}
}
