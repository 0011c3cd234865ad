package main

import (
	"strconv"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/internal/cli"
)

// maxSlots is far beyond the connections that a host can have.
const maxSlots = 1 << 24

// parseTiming reads the flags that say when requests are sent, and how many at a time.
func (o *options) parseTiming(c *ucli.Context) error {
	o.timing, o.loop, o.ramp = c.String("timing"), c.Bool("loop"), c.Duration("ramp")
	for _, f := range []struct {
		name string
		to   *int64
	}{{"concurrency", &o.concurrency}, {"sessions", &o.sessions}, {"closed", &o.concurrency}} {
		if !c.IsSet(f.name) {
			continue
		}
		if *f.to = c.Int64(f.name); *f.to < 1 || *f.to > maxSlots {
			return cli.Usagef("--%s: got %q, want a whole number from 1 to %d", f.name, strconv.FormatInt(*f.to, 10), maxSlots)
		}
	}
	if c.IsSet("closed") {
		switch {
		case c.IsSet("timing") && o.timing != worker.Asap:
			return cli.WithHint(cli.Usagef("--closed: cannot stand beside --timing %s: it means --timing asap", o.timing), "--concurrency caps the requests in flight under every timing")
		case c.IsSet("concurrency"):
			return cli.Usagef("--closed: cannot stand beside --concurrency: both say how many requests are in flight")
		}
		o.timing = worker.Asap
	}
	switch o.timing {
	case worker.Schedule, worker.Think:
	case worker.Strict:
		if o.sessions > 0 {
			return cli.Usagef("--sessions: cannot stand beside --timing strict, which sends a request whatever its session does")
		}
	case worker.Asap:
		if o.concurrency == 0 && o.sessions == 0 {
			return cli.WithHint(cli.Usagef("--timing: got %q without a cap, want --concurrency or --sessions beside it", o.timing), "--closed N is --timing asap --concurrency N")
		}
	default:
		return cli.Usagef("--timing: got %q, want schedule, strict, think or asap", o.timing)
	}
	switch {
	case o.ramp < 0:
		return notNegative(map[string]time.Duration{"ramp": o.ramp})
	case o.ramp > 0 && o.timing != worker.Asap:
		return cli.WithHint(cli.Usagef("--ramp: got %q, which has no effect under --timing %s", o.ramp, o.timing), "the caps of --timing asap grow; an open loop follows its schedule")
	case o.ramp > 0 && max(o.concurrency, o.sessions) == 1:
		return cli.Usagef("--ramp: got %q, which has no effect on a cap of 1", o.ramp)
	case o.ramp > 0 && o.duration > 0 && o.ramp >= o.duration:
		return cli.Usagef("--ramp: got %q, want less than --duration %s", o.ramp, o.duration)
	case o.ramp > 0 && o.warmup > 0 && o.warmup <= o.ramp:
		return cli.Usagef("--warmup: got %q, which has no effect: the window begins after --ramp %s", o.warmup, o.ramp)
	case o.loop && o.requests == 0 && o.duration == 0:
		return cli.Usagef("--loop: never ends without --requests or --duration")
	}
	return nil
}

// released reports whether the plan is what was released before --duration ended: where
// the schedule's times do not say what is due by then.
func (o *options) released() bool {
	return o.duration > 0 && (o.timing == worker.Asap || o.timing == worker.Think)
}

// reached names a cap of an open loop that was reached, so that requests waited for it.
func (o *options) reached(r *drive.Result) string {
	switch {
	case o.timing == worker.Asap:
		return ""
	case o.concurrency > 0 && r.MostRequests >= o.concurrency:
		return "--concurrency " + strconv.FormatInt(o.concurrency, 10)
	case o.sessions > 0 && r.MostSessions >= o.sessions:
		return "--sessions " + strconv.FormatInt(o.sessions, 10)
	}
	return ""
}

// adviseCaps warns of caps and loops that had no effect, and of one that had a wrong one.
func (o *options) adviseCaps(r *drive.Result, warn func(string, ...any)) {
	switch {
	case o.concurrency > r.Planned:
		warn("%s fewer than --concurrency %d: at most %d were in flight", are(r.Planned, "request"), o.concurrency, r.MostRequests)
	case o.timing == worker.Asap && o.concurrency > r.MostRequests:
		warn("at most %d in flight, fewer than --concurrency %d: the schedule has no more that wait for nothing", r.MostRequests, o.concurrency)
	}
	if o.loop && r.Passes == 1 {
		warn("--loop had no effect: the plan ended in the first pass over the schedule")
	}
	if r.Literal {
		warn("--loop repeated text that stands in the schedule: a server with a prefix cache has seen it before")
	}
}

// are says how many there are: "1 request is", "2 requests are".
func are(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return strconv.FormatInt(n, 10) + " " + what + "s are"
}
