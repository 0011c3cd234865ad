//go:build !linux

package wire

import "errors"

// NewEpoll returns an error: the engine on epoll needs Linux.
func NewEpoll(Options) (Engine, error) { return nil, errors.New("epoll: needs Linux") }

// A prefix is of the engine on epoll alone.
type prefix struct{}

// LocalPorts returns a bound of the ports for connections to one destination: how many
// there are is not known.
func LocalPorts() int { return 1 << 16 }
