//go:build !linux

package sim

func newClock() clock { return newTimerClock() }
