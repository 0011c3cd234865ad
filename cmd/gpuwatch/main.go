// Gpuwatch samples the accelerators of this host while something else runs.
//
// It reads NVIDIA's driver through NVML on absolute instants and writes a gpu
// stream (docs/formats/gpu.md): one row per device and sample, with utilization,
// memory, power, energy, temperature, clocks and why clocks were held down. What a
// device does not report is null. The stream ends in a seal that says how it ended.
//
//	gpuwatch -o gpu.arrows --duration 10m
//	gpuwatch -o gpu.arrows & replay --url http://127.0.0.1:8000 day.sched.zst -o run.arrows; kill -INT $!; wait
//	reduce run.arrows gpu.arrows
//
// It ends after --duration, or at the first SIGINT or SIGTERM: then the stream is
// whole, its end says "interrupted", and the status is 130.
//
// Without a driver or a device there is nothing to sample: one error, status 3.
// With --optional the stream is whole and empty and says why, status 0, so that a
// script may start it on any host.
package main

import (
	"io"
	"os"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(app(), args, stdin, stdout, stderr)
}

const description = `Samples through NVML and writes a gpu stream (.arrows) for reduce and judge. Instants are
start + k × interval; a late sample says how late it was, instants that passed are
counted as missed. Devices are known by uuid: an index is the driver's, not CUDA's. Values
a device does not report are null, never 0, as utilization in MIG mode. Drivers renew most
values about ten times a second, so a shorter interval repeats them. NVML's utilization
says that some kernel ran, no more.

Without a driver, a library or a device: status 3, or with --optional an empty stream that
says why.

pipelines:
  gpuwatch --duration 10m -o gpu.arrows
  gpuwatch --duration 10m --interval 1s --devices 0,1 --label node=a17 -o gpu.arrows
  gpuwatch --optional --duration 1s | reduce run.arrows -

` + cli.ExitText + `
An interrupted stream is whole and says so.`

const categorySampling = "Sampling"

// Bounds of --interval. A sample takes a driver a millisecond or more per device.
const (
	defaultInterval = 100 * time.Millisecond
	minInterval     = 10 * time.Millisecond
	maxInterval     = time.Hour
)

func app() *ucli.App {
	return &ucli.App{
		Name:      "gpuwatch",
		Usage:     "sample the accelerators of this host",
		UsageText: "gpuwatch [OPTIONS] [-o FILE]",
		Flags: append([]ucli.Flag{
			&ucli.DurationFlag{Name: "interval", Category: categorySampling, Value: defaultInterval, Usage: "sample every `DURATION`, from 10ms to 1h"},
			&ucli.StringFlag{Name: "devices", Category: categorySampling, Usage: "sample the devices in `LIST`, indices or uuids with commas between", DefaultText: "all"},
			&ucli.DurationFlag{Name: "duration", Category: categorySampling, Usage: "end after `DURATION`", DefaultText: "when interrupted"},
			&ucli.BoolFlag{Name: "optional", Category: categorySampling, Usage: "without a driver or device write an empty stream that says why, status 0"},
			&ucli.StringSliceFlag{Name: "label", Category: categorySampling, Usage: "note `KEY=VALUE` in the stream; may be repeated"},
		}, cli.Flags("output", "force", "quiet", "timeout")...),
		Description: description,
		Action:      watch,
	}
}

// options is the command line, read and checked before anything is opened.
type options struct {
	output   string
	force    bool
	quiet    bool
	optional bool
	timeout  time.Duration
	interval time.Duration
	duration time.Duration
	devices  []string
	labels   map[string]string
}

func parse(c *ucli.Context) (o options, err error) {
	o = options{output: c.String("output"), force: c.Bool("force"), quiet: c.Bool("quiet"), optional: c.Bool("optional"),
		timeout: c.Duration("timeout"), interval: c.Duration("interval"), duration: c.Duration("duration")}
	if c.Args().Present() {
		return o, cli.WithHint(cli.Usagef("%s: gpuwatch reads no input", c.Args().First()), "-o FILE names the output")
	}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), o.output); err != nil {
		return o, err
	}
	if o.interval < minInterval || o.interval > maxInterval {
		return o, cli.Usagef("--interval: got %q, want from %v to %v", o.interval, minInterval, maxInterval)
	}
	if c.IsSet("duration") && o.duration <= 0 {
		return o, cli.Usagef("--duration: got %q, want more than 0", o.duration)
	}
	if c.IsSet("devices") {
		for _, name := range strings.Split(c.String("devices"), ",") {
			if name == "" {
				return o, cli.Usagef("--devices: got %q, want indices or uuids with commas between", c.String("devices"))
			}
			o.devices = append(o.devices, name)
		}
	}
	for _, s := range c.StringSlice("label") {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return o, cli.Usagef("--label: got %q, want KEY=VALUE", s)
		}
		if _, twice := o.labels[key]; twice {
			return o, cli.Usagef("--label: got %q twice, want each key once", key)
		}
		if o.labels == nil {
			o.labels = map[string]string{}
		}
		o.labels[key] = value
	}
	return o, nil
}
