//go:build !unix

package sim

import "net"

// rawWriter needs file descriptors; elsewhere a goroutine per stream writes.
type rawWriter struct{}

func newRawWriter(net.Conn) *rawWriter { return nil }

func (*rawWriter) write([]byte) (int, error) { return 0, nil }

func isDescriptorLimit(error) bool { return false }
