//go:build !linux

package wire

import "errors"

// NewEpoll returns an error: the engine on epoll needs Linux.
func NewEpoll(Options) (Engine, error) { return nil, errors.New("epoll: needs Linux") }
