package main

import (
	"slices"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
	"hydrant/internal/cli"
)

const categoryTransform = "Transforms, in the order in which they act"

// transformFlags are the flags of all commands that write a schedule. A command that
// has flags of its own by some of the names leaves those out.
func transformFlags(without ...string) []ucli.Flag {
	text := func(name, usage, deflt string) ucli.Flag {
		return &ucli.StringFlag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: deflt}
	}
	tokens := func(name, usage string) ucli.Flag {
		return &ucli.Int64Flag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: "no limit"}
	}
	silence := func(name, usage string) ucli.Flag {
		return &ucli.DurationFlag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: "no limit"}
	}
	flag := func(name, usage string) ucli.Flag {
		return &ucli.BoolFlag{Name: name, Category: categoryTransform, Usage: usage}
	}
	all := []ucli.Flag{
		text("window", "keep `FROM:TO` of recorded time, FROM included, TO not (as 10m:20m, 90s:, :1h)", ""),
		flag("spread", "move each session by a uniform share of the step to the next instant, where arrivals were collected"),
		text("sample", "keep the share `R` of the sessions, a decimal above 0 and up to 1", "1"),
		tokens("max-context", "drop sessions with a request of more than `N` tokens, input and output"),
		tokens("max-input-drop", "drop sessions with a request of more than `N` input tokens"),
		text("speed", "divide times and waits by `R`, a decimal above 0", "1"),
		silence("think-cap", "leave at most `DURATION` of each stretch of time in which a session has nothing running, after --speed"),
		silence("gap-cap", "leave at most `DURATION` of each stretch of time in which nothing at all runs, after --speed"),
		tokens("max-output", "make answers at most `N` tokens"),
		tokens("max-input", "cut prompts to `N` tokens"),
		text("arrivals", "give sessions the gaps of `PROCESS` at the same mean rate: constant, poisson, gamma:K, weibull:K, lognormal:CV", "as recorded"),
		text("rate", "with --arrivals: `R` sessions a second, a decimal above 0", "as recorded"),
		&ucli.Int64Flag{Name: "clone", Category: categoryTransform, Usage: "make `N` of each session, with text of its own", DefaultText: "1"},
		flag("clone-share", "with --clone: copies share the text of block ids with the original"),
		text("zero", "`POINT` that is time 0: trace (its own zero) or first (the first request kept)", "trace"),
	}
	return slices.DeleteFunc(all, func(f ucli.Flag) bool { return slices.Contains(without, f.Names()[0]) })
}

// ofRetiming are the flags that a command which makes arrivals has for itself.
var ofRetiming = []string{"arrivals", "rate"}

// readTransforms reads those flags. A flag that another makes useless is a mistake.
func readTransforms(c *ucli.Context) (o plan.Options, err error) {
	if c.IsSet("window") {
		w, err := plan.ParseWindow(c.String("window"))
		if err != nil {
			return o, cli.Usagef("--window: %w", err)
		}
		o.Window = &w
	}
	if c.IsSet("speed") {
		if o.Speed, err = plan.ParseRatio(c.String("speed")); err != nil {
			return o, cli.Usagef("--speed: %w", err)
		}
	}
	for _, f := range []struct {
		name string
		ns   *formats.Int
	}{{"think-cap", &o.ThinkCap}, {"gap-cap", &o.GapCap}} {
		if !c.IsSet(f.name) {
			continue
		}
		if *f.ns = formats.Some(int64(c.Duration(f.name))); f.ns.V < 0 {
			return o, cli.Usagef("--%s: got %q, want a duration of at least 0", f.name, time.Duration(f.ns.V))
		}
	}
	if err := readLengths(c, &o); err != nil {
		return o, err
	}
	if err := readRandom(c, &o); err != nil {
		return o, err
	}
	switch zero := c.String("zero"); zero {
	case "", "trace":
	case "first":
		o.Zero = true
	default:
		return o, cli.Usagef("--zero: got %q, want trace or first", zero)
	}
	return o, nil
}

// readRandom reads the flags of transforms that draw.
func readRandom(c *ucli.Context, o *plan.Options) (err error) {
	o.Seed = c.Int64("seed")
	o.Spread = c.Bool("spread")
	if c.IsSet("sample") {
		if o.Sample, err = plan.ParseShare(c.String("sample")); err != nil {
			return cli.Usagef("--sample: %w", err)
		}
	}
	if c.IsSet("clone") {
		if o.Clone.Copies = c.Int64("clone"); o.Clone.Copies < 1 || o.Clone.Copies > maxClones {
			return cli.Usagef("--clone: got \"%d\", want a whole number between 1 and %d", o.Clone.Copies, maxClones)
		}
	}
	if o.Clone.Share = c.Bool("clone-share"); o.Clone.Share && o.Clone.Copies < 2 {
		return cli.Usagef("--clone-share: has no effect without --clone of at least 2")
	}
	if c.Command.Name == "synth" {
		return nil
	}
	if c.IsSet("arrivals") {
		t := &plan.Retiming{}
		if t.Process, err = arrivals.ParseProcess(c.String("arrivals")); err != nil {
			return cli.Usagef("--arrivals: %w", err)
		}
		o.Retime = t
	}
	if c.IsSet("rate") {
		if o.Retime == nil {
			return cli.Usagef("--rate: has no effect without --arrivals")
		}
		if o.Retime.Rate, err = plan.ParseRatio(c.String("rate")); err != nil {
			return cli.Usagef("--rate: %w", err)
		}
	}
	if o.Spread && o.Retime != nil {
		return cli.Usagef("--spread: has no effect before --arrivals, which moves all sessions")
	}
	return nil
}

// maxClones bounds what one request may become.
const maxClones = 1_000_000

// defaultSeed is that of the flag.
const defaultSeed = 1

// checkSeed refuses a seed that nothing uses.
func checkSeed(c *ucli.Context, o common) error {
	if c.IsSet("seed") && !o.plan.Random() {
		return cli.Usagef("--seed: has no effect where nothing is drawn")
	}
	return nil
}

// sow logs the seed in a header, where the reader draws or a transform does.
func sow(o common, h *schedule.Header, draws bool) {
	if !draws && !o.plan.Random() {
		return
	}
	h.Seed = o.plan.Seed
	if o.plan.Seed != defaultSeed {
		h.Args = append(h.Args, "--seed", itoa(o.plan.Seed))
	}
}

// readLengths reads the limits of lengths, in tokens.
func readLengths(c *ucli.Context, o *plan.Options) error {
	for _, f := range []struct {
		name string
		n    *formats.Int
	}{{"max-context", &o.MaxContext}, {"max-input-drop", &o.MaxInputDrop}, {"max-output", &o.MaxOutput}, {"max-input", &o.MaxInput}} {
		if !c.IsSet(f.name) {
			continue
		}
		if *f.n = formats.Some(c.Int64(f.name)); f.n.V < 1 {
			return cli.Usagef("--%s: got \"%d\", want a whole number of at least 1", f.name, f.n.V)
		}
	}
	for _, f := range []struct {
		name   string
		n      formats.Int
		by     string
		before formats.Int
	}{
		{"max-input-drop", o.MaxInputDrop, "max-context", o.MaxContext},
		{"max-output", o.MaxOutput, "max-context", o.MaxContext},
		{"max-input", o.MaxInput, "max-context", o.MaxContext},
		{"max-input", o.MaxInput, "max-input-drop", o.MaxInputDrop},
	} {
		if f.n.Valid && f.before.Valid && f.n.V >= f.before.V {
			return cli.Usagef("--%s: got \"%d\", which changes nothing behind --%s %d", f.name, f.n.V, f.by, f.before.V)
		}
	}
	return nil
}
