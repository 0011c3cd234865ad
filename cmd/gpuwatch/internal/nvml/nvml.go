// Package nvml reads what NVIDIA's driver says of its devices.
//
// Use [Open], then Devices, then Read of each device for every sample. It is the
// one door to go-nvml, which needs cgo; without cgo the package builds all the
// same and Open says so. What a device does not report is null, never 0.
package nvml

import (
	"errors"
	"fmt"

	"hydrant/formats"
)

// Library is an opened NVML.
type Library interface {
	Driver() string             // version of the driver
	Devices() ([]Device, error) // in the driver's order, which is not CUDA's
	Close() error
}

// Device is one device of a library. One goroutine uses it at a time.
type Device interface {
	Identity() Identity
	// Read queries the device. The error is ErrLost when it is gone; a single
	// query that failed is in Reading.Failed, and its value null.
	Read() (Reading, error)
}

// Identity is what does not change while a device is sampled.
type Identity struct {
	Index            int64 // the driver's
	UUID             string
	Name             string
	MemoryTotalBytes formats.Int
	PowerLimitMW     formats.Int // in force when the device was opened
}

// Reading is the state of a device at one instant. Null: the device does not
// report the value, or its query failed.
type Reading struct {
	UtilizationPPM    formats.Int // null in MIG mode, where drivers may say 0
	MemoryActivityPPM formats.Int
	MemoryUsedBytes   formats.Int
	MemoryTotalBytes  formats.Int
	PowerMW           formats.Int
	PowerLimitMW      formats.Int
	EnergyMJ          formats.Int
	TemperatureC      formats.Int
	SMClockMHz        formats.Int
	MemoryClockMHz    formats.Int
	ThrottleReasons   formats.Int
	ThrottlePowerNS   formats.Int
	ThrottleThermalNS formats.Int

	Failed []Failure // queries that failed otherwise than by not being supported
}

// Failure is a query that failed.
type Failure struct {
	Query string
	Err   error
}

// ErrLost is the error of a device that fell off the bus or was taken away.
var ErrLost = errors.New("the device is lost")

// UnavailableError says why there is nothing to sample on this host.
type UnavailableError struct {
	What string
	Help string
}

func (e *UnavailableError) Error() string { return "nvml: " + e.What }

// Hint returns the next step for the user.
func (e *UnavailableError) Hint() string { return e.Help }

const optional = "--optional writes an empty stream that says so, and exits 0"

// noDevices is the error of a driver without devices.
func noDevices() error {
	return &UnavailableError{What: "the driver has no devices", Help: optional}
}

// percent turns a share in percent into parts per million.
func percent(v uint32) formats.Int { return formats.Some(int64(v) * 10_000) }

// unsigned takes a 64-bit counter; one beyond the range of an int64 is not
// believed.
func unsigned(v uint64) formats.Int {
	if v > 1<<63-1 {
		return formats.Int{}
	}
	return formats.Some(int64(v))
}

// failed wraps the failure of a query.
func failed(query, why string) Failure {
	return Failure{Query: query, Err: fmt.Errorf("%s", why)}
}
