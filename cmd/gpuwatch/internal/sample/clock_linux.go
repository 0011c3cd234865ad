package sample

import (
	"time"

	"golang.org/x/sys/unix"
)

// System is the host's clock: Unix time and CLOCK_MONOTONIC, as replay uses them.
type System struct{}

// Now returns the instant on both clocks.
func (System) Now() (wallNS, monotonicNS int64) {
	var ts unix.Timespec
	wall := time.Now().UnixNano()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return wall, 0
	}
	return wall, ts.Nano()
}
