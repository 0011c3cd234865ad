//go:build !linux

package host

import "runtime"

// allowed returns the CPUs of the process: there is no affinity mask to ask for.
func allowed() int { return runtime.NumCPU() }

// clockSync is not known here.
func clockSync() (string, int64) { return "unknown", 0 }
