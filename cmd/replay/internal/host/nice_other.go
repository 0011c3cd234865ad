//go:build !linux

package host

// Grantable returns 0: priorities of threads are set on Linux only.
func Grantable(int) int { return 0 }

// SetNice does nothing outside Linux.
func SetNice(int) error { return nil }
