package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/gpuwatch/internal/nvml"
	"hydrant/cmd/gpuwatch/internal/sample"
	"hydrant/formats/gpu"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

const source = "nvml"

// watch is the action: it opens the driver, then the output, and samples.
func watch(c *ucli.Context) (err error) {
	o, err := parse(c)
	if err != nil {
		return err
	}
	h := gpu.Header{Build: cli.Build(), BootID: bootID(), PeriodNS: int64(o.interval), Source: source, Devices: []gpu.Device{}, Labels: o.labels}
	h.Host, _ = os.Hostname()
	devices, driver, stop, err := open(o.devices)
	if err != nil {
		var nothing *nvml.UnavailableError
		if !o.optional || !errors.As(err, &nothing) {
			return err
		}
		cli.Warnf(cli.Stderr(c), c.App.Name, "%v; the stream is empty", err)
		h.Reason = nothing.Error()
	}
	defer func() {
		if e := stop(); err == nil {
			err = e
		}
	}()
	h.Driver = driver
	for _, d := range devices {
		id := d.Identity()
		h.Devices = append(h.Devices, gpu.Device{Index: id.Index, UUID: id.UUID, Name: id.Name, MemoryTotalBytes: id.MemoryTotalBytes, PowerLimitMW: id.PowerLimitMW})
	}
	out, err := pipe.Create(cli.Context(c), o.output, cli.Stdout(c), pipe.Options{Binary: true, Force: o.force, Timeout: o.timeout})
	if err != nil {
		return err
	}
	w, err := gpu.NewWriter(out, h)
	if err != nil {
		return out.Finish(err)
	}
	return record(c, o, h, devices, w, out)
}

// open returns the chosen devices of the driver, and what closes it.
func open(names []string) (devices []nvml.Device, driver string, stop func() error, err error) {
	stop = func() error { return nil }
	lib, err := nvml.Open()
	if err != nil {
		return nil, "", stop, err
	}
	all, err := lib.Devices()
	if err == nil {
		devices, err = sample.Select(all, names)
	}
	var unknown *sample.UnknownDeviceError
	if errors.As(err, &unknown) {
		err = cli.WithHint(cli.Usagef("%w", err), unknown.Hint())
	}
	if err != nil {
		return nil, "", stop, errors.Join(err, lib.Close())
	}
	return devices, lib.Driver(), lib.Close, nil
}

// record samples until the end and seals the stream with how it came to it. A
// stream that was interrupted, or whose devices were lost, is kept.
func record(c *ucli.Context, o options, h gpu.Header, devices []nvml.Device, w *gpu.Writer, out *pipe.Output) error {
	ctx := cli.Context(c)
	end := gpu.End{Status: gpu.Complete, Reason: h.Reason}
	var tally sample.Tally
	var err error
	if len(devices) > 0 {
		tally, err = sample.Run(ctx, devices, w, sample.System{}, sample.Options{Host: h.Host, Source: source, Period: o.interval, Duration: o.duration,
			Warn: func(f string, a ...any) { cli.Warnf(cli.Stderr(c), c.App.Name, f, a...) }})
	}
	if tally.Lost != "" {
		end.Reason = "lost devices: " + tally.Lost
	}
	switch {
	case err == nil:
	case errors.Is(err, cli.ErrInterrupted):
		end.Status, end.Reason = gpu.Interrupted, joined("interrupted", end.Reason)
	case errors.Is(err, sample.ErrAllLost):
		end.Status, end.Reason = gpu.Failed, joined(err.Error(), end.Reason)
	default:
		return out.Finish(err)
	}
	if e := w.Close(end); e != nil {
		return out.Finish(e)
	}
	if e := out.Finish(nil); e != nil {
		return e
	}
	if !o.quiet && len(devices) > 0 {
		fmt.Fprintln(cli.Stderr(c), summary(c.App.Name, tally, len(devices)))
	}
	return err
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}

// summary is the line at the end of a sampling.
func summary(tool string, t sample.Tally, devices int) string {
	s := fmt.Sprintf("%s: %d samples of %d devices · %d missed · late at most %.3g ms", tool, t.Samples, devices, t.Missed, float64(t.MaxLate)/float64(time.Millisecond))
	if devices == 1 {
		s = strings.Replace(s, "1 devices", "1 device", 1)
	}
	if t.Lost != "" {
		s += " · lost " + t.Lost
	}
	return s
}

// bootID names the boot to which monotonic times belong, "" where the kernel has
// no name for it.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
