package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/cmd/replay/internal/host"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/preflight"
	"hydrant/cmd/replay/internal/progress"
	"hydrant/cmd/replay/internal/serve"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/internal/pipe"
)

// action is the tool: check the flags, read the schedule's header, look at the server,
// then let drive replay.
func action(c *ucli.Context) (err error) {
	o, err := parse(c)
	if err != nil {
		return err
	}
	ctx, stderr := cli.Context(c), cli.Stderr(c)
	warn := func(format string, a ...any) { cli.Warnf(stderr, "replay", format, a...) }

	in, err := o.openInput(ctx, cli.Stdin(c))
	if err != nil {
		return err
	}
	defer in.Close()
	source, again := io.Reader(in), drive.Again(nil)
	if o.loop {
		tape, err := newTape(in)
		if err != nil {
			return err
		}
		defer tape.Close()
		source, again = tape, func() (*schedule.Reader, error) {
			rewound, err := tape.Rewind()
			if err != nil {
				return nil, err
			}
			r, _, err := openSchedule(context.WithoutCancel(ctx), rewound, pipe.Place(o.input))
			return r, err
		}
	}
	reader, plain, err := openSchedule(ctx, source, pipe.Place(o.input))
	if err != nil {
		return err
	}
	exe, err := executable()
	if err != nil {
		return err
	}
	if o.sim != nil {
		url, stop, err := serve.Start(ctx, exe, *o.sim, stderr)
		if err != nil {
			return err
		}
		defer func() {
			if e := stop(); err == nil && e != nil {
				warn("%v", e)
			}
		}()
		o.urls = []string{url}
	}
	found := &preflight.Findings{Model: o.model, Server: json.RawMessage("null")}
	if found.Model == "" && o.sim != nil {
		found.Model = o.sim.Model
	}
	if o.preflight {
		found, err = preflight.Check(ctx, preflight.Options{URLs: o.urls, Header: o.header, Connect: o.connect, Model: o.model, Endpoint: o.endpoint,
			Prompt: o.prompt, Stream: o.stream, Pin: o.pin, Timeout: o.firstByte, CA: o.ca, HTTP2: o.http2, Proxy: o.proxy})
		if err != nil {
			return err
		}
		for _, w := range found.Warnings {
			warn("%s", w)
		}
		for _, n := range found.Notes {
			if !o.quiet {
				fmt.Fprintf(stderr, "replay: %s\n", n)
			}
		}
	}
	if slow := o.slowed(); slow != "" {
		warn("%s per token event: the client is slowed down on purpose; the run says so, and its figures are not the server's", slow)
	}
	if err := o.checkLimits(warn); err != nil {
		return err
	}
	ceiling, err := o.ceiling(ctx, plain, exe, stderr, warn)
	if err != nil {
		return err
	}
	return o.drive(ctx, c, reader, again, exe, found, ceiling, warn)
}

// drive replays with everything in place, and says how it went.
func (o *options) drive(ctx context.Context, c *ucli.Context, reader *schedule.Reader, again drive.Again, exe string, found *preflight.Findings, ceiling *format.Calibration, warn func(string, ...any)) error {
	stderr := cli.Stderr(c)
	out := &output{ctx: ctx, o: o, stdout: cli.Stdout(c)}
	line := &progress.Line{W: stderr, Terminal: cli.IsTerminal(stderr), Workers: o.workers, Slowed: o.slowed()}
	d := drive.Options{
		Schedule: reader, Again: again, Executable: exe, Workers: o.workers, Setup: o.setup(found.Model), Requests: o.requests, ServerBlock: o.serverBlock, Grace: o.grace,
		Header: o.runHeader(reader.HeaderJSON(), found), Open: out.open, Spool: out.spool, Calibration: ceiling,
	}
	if !o.quiet {
		d.Notice = func(text string) { line.Done(); fmt.Fprintf(stderr, "replay: %s\n", text) }
	}
	if !o.quiet && (line.Terminal || o.shown) {
		d.Live = line.Show
	}
	began := time.Now()
	result, err := drive.Run(ctx, d)
	if d.Live != nil {
		line.Done()
	}
	if e := out.finish(err); err == nil {
		err = e
	}
	if result == nil {
		return err
	}
	if !o.quiet {
		fmt.Fprint(stderr, progress.Block(progress.Summary{Result: result, Output: o.output, Bytes: out.n, Duration: time.Since(began)}))
		o.advise(result, warn)
	}
	return err
}

// lagLimit is the send lag from which the load is not the planned one any more.
const lagLimit = 10 * time.Millisecond

// advise warns of what will cost the verdict.
func (o *options) advise(r *drive.Result, warn func(string, ...any)) {
	if reached := o.reached(r); reached != "" && r.LagP99 > lagLimit {
		warn("lag p99 %s, limit %s: requests waited for %s; raise it or lower the rate, or ask for a closed loop (--closed)", r.LagP99.Round(100*time.Microsecond), lagLimit, reached)
	} else if r.LagP99 > lagLimit {
		next := "free a core or lower the rate" // more workers than CPUs only get in each other's way
		if o.workers < host.Usable() {
			next = "add --workers or lower the rate"
		}
		warn("lag p99 %s, limit %s: the generator is late with %d workers on %d CPUs; %s",
			r.LagP99.Round(100*time.Microsecond), lagLimit, o.workers, host.Usable(), next)
	}
	o.adviseCaps(r, warn)
}

// setup is what every worker is told.
func (o *options) setup(model string) link.Setup {
	return link.Setup{Engine: o.engine, Timing: o.timing, Concurrency: o.concurrency, Sessions: o.sessions, RampNS: int64(o.ramp), Released: o.released(), GOMAXPROCS: workerProcs, URLs: o.urls, Endpoint: o.endpoint, Prompt: o.prompt, Model: model, Stream: o.stream, PinOutput: o.pin,
		Chunks: o.chunks == "full", Header: o.header, CA: o.ca, HTTP2: o.http2, Proxy: o.proxy, Seed: o.seed, ConnectNS: int64(o.connect), FirstByteNS: int64(o.firstByte), IdleNS: int64(o.idle),
		TotalNS: int64(o.total), DurationNS: int64(o.duration), GraceNS: int64(o.grace), CancelPPM: o.cancel.ppm, CancelNS: int64(o.cancel.after), SpinNS: int64(o.spin), Nice: o.nice,
		WorkNS: int64(o.slow.Work), StallNS: int64(o.slow.Stall)}
}

func (o *options) runHeader(schedule []byte, found *preflight.Findings) format.Header {
	targets := make([]string, len(o.urls))
	for i, u := range o.urls {
		targets[i] = preflight.Redact(u)
	}
	return format.Header{Build: cli.Build(), Schedule: schedule, Target: targets, Endpoint: o.endpoint, Model: found.Model, Server: found.Server,
		Streaming: o.stream, Engine: o.engine, Prompt: o.prompt, Timing: o.timing, Flags: o.effective, Seed: o.seed, Workers: o.workers, WorkerProcs: workerProcs,
		ChunkLists: o.chunks, WarmupNS: int64(o.warmup), RampNS: int64(o.ramp), Calibration: o.calibration(), Host: host.Facts(), Labels: o.labels, ServerConfig: o.config, Injected: o.injected()}
}

// openSchedule reads the header; a signal ends the wait for it. The plain text can be looked
// at from its start until it is let go.
func openSchedule(ctx context.Context, in io.Reader, place string) (*schedule.Reader, *head, error) {
	type opened struct {
		r   *schedule.Reader
		h   *head
		err error
	}
	done := make(chan opened, 1)
	go func() {
		var o opened
		o.err = cli.Guard(func() error {
			plain, _, err := codec.NewReader(in)
			if err != nil {
				return pipe.At(place, err)
			}
			o.h = &head{in: plain}
			o.r, err = schedule.NewReader(o.h, place)
			return err
		})
		done <- o
	}()
	select {
	case o := <-done:
		return o.r, o.h, o.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// executable returns the path of this very program. On Linux it names the program that
// runs, even when its file was replaced meanwhile.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}
