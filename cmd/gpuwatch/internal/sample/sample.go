// Package sample reads devices on absolute instants and writes what they say as
// rows of table gpu, lateness and missed instants included: the sampler is a
// measurement too.
//
// Use [Run] with devices, a sink and a clock.
package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hydrant/cmd/gpuwatch/internal/nvml"
	"hydrant/formats"
	"hydrant/formats/gpu"
)

// Sink takes the rows; *gpu.Writer is one.
type Sink interface {
	Samples([]gpu.Sample) error
	Flush() error
}

// Clock gives the same instant as Unix time and on the monotonic clock, ns.
type Clock interface {
	Now() (wallNS, monotonicNS int64)
}

// flushEvery bounds how long a row waits before it is written, ns.
const flushEvery = int64(time.Second)

// Options say how to sample.
type Options struct {
	Host     string
	Source   string
	Period   time.Duration                    // between two instants, more than 0
	Duration time.Duration                    // 0: until the context ends
	Warn     func(format string, args ...any) // once per device and query
}

// Tally is what a finished sampling amounts to.
type Tally struct {
	Samples int64  // instants at which devices were read
	Missed  int64  // instants that passed unread
	MaxLate int64  // largest lateness of a device's reading, ns
	Lost    string // which devices were lost, "" when none
}

// ErrAllLost ends a sampling whose devices are all gone.
var ErrAllLost = errors.New("all devices are lost")

// Run samples until o.Duration has passed (nil), the context ends (its cause),
// the sink fails, or all devices are lost (ErrAllLost).
//
// Instants are start + k × period. A late reading is taken at once, with its
// lateness; instants that passed meanwhile are counted as missed in the next rows
// and not caught up. A lost device keeps its rows, with nulls, so that the gap is
// seen.
func Run(ctx context.Context, devices []nvml.Device, sink Sink, clock Clock, o Options) (Tally, error) {
	s := &sampler{sink: sink, clock: clock, o: o}
	for _, d := range devices {
		s.devices = append(s.devices, device{d: d, id: d.Identity(), warned: map[string]bool{}})
	}
	err := s.run(ctx)
	if e := sink.Flush(); e != nil {
		err = e // what could not be written counts more than why sampling ended
	}
	return s.tally, err
}

type sampler struct {
	devices []device
	sink    Sink
	clock   Clock
	o       Options
	tally   Tally
	rows    []gpu.Sample
}

type device struct {
	d      nvml.Device
	id     nvml.Identity
	last   formats.Int // monotonic time of the sample before
	lost   bool
	warned map[string]bool
}

func (s *sampler) run(ctx context.Context) error {
	_, start := s.clock.Now()
	period := int64(s.o.Period)
	flushed := start
	missed := int64(0)
	for k := int64(0); ; {
		due := start + k*period
		if s.o.Duration > 0 && due-start > int64(s.o.Duration) {
			return nil
		}
		if err := s.wait(ctx, due); err != nil {
			return err
		}
		if err := s.read(due, missed); err != nil {
			return err
		}
		_, now := s.clock.Now()
		if now-flushed >= flushEvery {
			flushed = now
			if err := s.sink.Flush(); err != nil {
				return err
			}
		}
		// The newest instant that has passed is read late; those before it are missed.
		next := max(k+1, (now-start)/period)
		missed = next - k - 1
		s.tally.Missed += missed
		k = next
	}
}

// wait sleeps until the monotonic clock shows due.
func (s *sampler) wait(ctx context.Context, due int64) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, now := s.clock.Now()
		if now >= due {
			return nil
		}
		timer := time.NewTimer(time.Duration(due - now))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// read takes one sample of every device, each with its own times.
func (s *sampler) read(due, missed int64) error {
	s.rows = s.rows[:0]
	left := 0
	for i := range s.devices {
		d := &s.devices[i]
		wall, mono := s.clock.Now()
		row := gpu.Sample{WallNS: wall, MonotonicNS: mono, IntervalNS: formats.Some(mono).Minus(d.last), Host: s.o.Host, Source: s.o.Source,
			Index: d.id.Index, UUID: d.id.UUID, Name: d.id.Name, SamplerLateNS: formats.Some(mono - due), SamplerMissed: formats.Some(missed)}
		d.last = formats.Some(mono)
		s.tally.MaxLate = max(s.tally.MaxLate, mono-due)
		if !d.lost {
			left++
			s.query(d, &row)
		}
		s.rows = append(s.rows, row)
	}
	s.tally.Samples++
	if err := s.sink.Samples(s.rows); err != nil {
		return err
	}
	if left == 0 {
		return ErrAllLost
	}
	return nil
}

// query fills a row with what its device reports.
func (s *sampler) query(d *device, row *gpu.Sample) {
	r, err := d.d.Read()
	if err != nil {
		d.lost = true
		if s.tally.Lost != "" {
			s.tally.Lost += ", "
		}
		s.tally.Lost += d.id.UUID
		s.warn(d, "read", err)
		return
	}
	for _, f := range r.Failed {
		s.warn(d, f.Query, f.Err)
	}
	row.UtilizationPPM, row.MemoryActivityPPM = r.UtilizationPPM, r.MemoryActivityPPM
	row.MemoryUsedBytes, row.MemoryTotalBytes = r.MemoryUsedBytes, r.MemoryTotalBytes
	row.PowerMW, row.PowerLimitMW, row.EnergyMJ = r.PowerMW, r.PowerLimitMW, r.EnergyMJ
	row.TemperatureC, row.SMClockMHz, row.MemoryClockMHz = r.TemperatureC, r.SMClockMHz, r.MemoryClockMHz
	row.ThrottleReasons, row.ThrottlePowerNS, row.ThrottleThermalNS = r.ThrottleReasons, r.ThrottlePowerNS, r.ThrottleThermalNS
}

// warn says once per device and query that it failed; its values are null.
func (s *sampler) warn(d *device, query string, err error) {
	if d.warned[query] || s.o.Warn == nil {
		return
	}
	d.warned[query] = true
	s.o.Warn("device %d (%s): %s: %v; its values are null from now on", d.id.Index, d.id.UUID, query, err)
}

// Select returns the devices that names pick, by index or uuid, in the order of
// the driver; all of them when there are no names. Each name must pick one.
func Select(devices []nvml.Device, names []string) ([]nvml.Device, error) {
	if len(names) == 0 {
		return devices, nil
	}
	picked := make([]bool, len(devices))
	for _, name := range names {
		found := false
		for i, d := range devices {
			if id := d.Identity(); name == id.UUID || name == fmt.Sprint(id.Index) {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, &UnknownDeviceError{Name: name, Devices: devices}
		}
	}
	var out []nvml.Device
	for i, d := range devices {
		if picked[i] {
			out = append(out, d)
		}
	}
	return out, nil
}

// UnknownDeviceError names a device that is not there.
type UnknownDeviceError struct {
	Name    string
	Devices []nvml.Device
}

func (e *UnknownDeviceError) Error() string {
	return fmt.Sprintf("--devices: got %q, want an index below %d or a uuid", e.Name, len(e.Devices))
}

// Hint lists what is there.
func (e *UnknownDeviceError) Hint() string {
	s := "devices:"
	for _, d := range e.Devices {
		id := d.Identity()
		s += fmt.Sprintf(" %d %s (%s)", id.Index, id.UUID, id.Name)
	}
	return s
}
