package main

import (
	"context"
	"io"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/calibrate"
	"hydrant/cmd/replay/internal/host"
	"hydrant/cmd/replay/internal/worker"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

// Bounds of --calibrate. Less finds no ceiling, more is a benchmark of its own.
const (
	leastCalibration = 500 * time.Millisecond
	mostCalibration  = 10 * time.Minute
)

// sampleTime bounds the wait for more lines once the first has come: a pipe may be slow.
const sampleTime = 2 * time.Second

// parseCalibration reads the flags that say where the generator's ceiling comes from.
func (o *options) parseCalibration(c *ucli.Context) error {
	o.reuse = c.String("calibration")
	text := c.String("calibrate")
	if o.reuse != "" {
		if c.IsSet("calibrate") {
			return cli.Usagef("--calibration: cannot stand beside --calibrate: it takes a calibration that was made earlier")
		}
		return nil
	}
	if text == format.CalibrationOff {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < leastCalibration || d > mostCalibration {
		return cli.Usagef("--calibrate: got %q, want off, or a duration from %s to %s", text, leastCalibration, mostCalibration)
	}
	o.calibrate = d
	return nil
}

// calibration names what is done, as the run's header has it.
func (o *options) calibration() string {
	switch {
	case o.reuse != "":
		return format.Reused
	case o.calibrate > 0:
		return o.calibrate.String()
	}
	return format.CalibrationOff
}

// ceiling finds what the generator can do: by measuring it, or from an earlier run. h is the
// schedule's plain text, of which the head is looked at. The error is that of a calibration
// that does not fit, or the end of ctx.
func (o *options) ceiling(ctx context.Context, h *head, exe string, stderr io.Writer, warn func(string, ...any)) (*format.Calibration, error) {
	defer h.letGo()
	if o.calibration() == format.CalibrationOff {
		if !o.quiet { // it was asked for
			warn("--calibrate off: the verdict will be INVALID, its headroom is unproven")
		}
		return &format.Calibration{Status: format.CalibrationOff, Reason: "--calibrate off", Points: []format.Point{}}, nil
	}
	sample, err := o.sample(ctx, h)
	if err != nil {
		return nil, err
	}
	setup := o.setup("")
	co := calibrate.Options{Sample: sample, Profile: calibrate.ProfileOf(sample, setup, o.injected(), o.sim), Open: o.timing == worker.Schedule || o.timing == worker.Strict, Closed: o.concurrency,
		Budget: o.calibrate, Executable: exe, Workers: o.workers, Setup: setup, Host: host.Facts(), Stderr: stderr}
	if o.reuse != "" {
		return calibrate.Reuse(o.reuse, co)
	}
	c, err := calibrate.Run(ctx, co)
	if err != nil {
		return nil, err
	}
	if c.Status == format.CalibrationFailed {
		warn("calibration: %s: the verdict will be INVALID, its headroom is unproven", c.Reason)
	}
	return c, nil
}

// sample looks at the head of the schedule.
func (o *options) sample(ctx context.Context, h *head) (*calibrate.Sample, error) {
	brief, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &look{h: h, ctx: brief, most: calibrate.SampleBytes}
	var late *time.Timer
	r, err := schedule.NewReader(l, pipe.Place(o.input))
	if err == nil {
		var s *calibrate.Sample
		s, err = calibrate.ReadSample(r, o.requests, o.duration, func() { late = time.AfterFunc(sampleTime, cancel) })
		if late != nil {
			late.Stop()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil || l.ended {
			return s, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, err
}
