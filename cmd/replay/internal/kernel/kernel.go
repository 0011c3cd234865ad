// Package kernel asks the kernel when the bytes of a connection arrived, and what
// the connection went through.
//
// Enable asks for the arrival times of a socket, Recv reads with them, Mono puts
// them on the run's clock, Info reads the connection's counters. Warm has to come
// before all of them: the kernel begins to stamp some time after the option is
// first used on the host, and packets that arrive before that have no stamp.
//
// A stamp is CLOCK_REALTIME at the instant when the newest segment of what was
// read came in from the network. When one read takes several segments, the
// older ones were there earlier than it says; that is why segments are counted.
//
// On other systems than Linux there are no stamps: Enable and Info return
// ErrUnsupported and Recv reports every read as not stamped.
package kernel

import "errors"

// ErrUnsupported says that this system or this kind of socket has no arrival
// times or no counters.
var ErrUnsupported = errors.New("kernel: no arrival times or counters on this system")

// OOBSize is how much room Recv needs for a stamp, bytes.
const OOBSize = 128

// Mono returns the instant of a stamp on the monotonic clock, ns. monoAtRead and
// wallAtRead are the two clocks read as one instant, directly after the read that
// gave the stamp. Only a step of the wall clock between arrival and read makes it
// wrong: a step back by more than the wait gives an instant behind monoAtRead.
func Mono(monoAtRead, wallAtRead, stampWall int64) int64 {
	return monoAtRead - (wallAtRead - stampWall)
}

// TCPInfo is what the kernel has counted on a connection since it was opened.
type TCPInfo struct {
	SegmentsIn  int64 // segments received with data in them
	Retransmits int64 // segments this side sent again
	RTTUS       int64 // smoothed round trip time at this instant, µs
	MinRTTUS    int64 // shortest round trip time seen, µs
}
