//go:build !linux

package sample

import "time"

// origin makes a monotonic clock out of the runtime's, for systems without a
// sampled device.
var origin = time.Now()

// System is the host's clock: Unix time, and time since the program started.
type System struct{}

// Now returns the instant on both clocks.
func (System) Now() (wallNS, monotonicNS int64) {
	now := time.Now()
	return now.UnixNano(), int64(now.Sub(origin))
}
