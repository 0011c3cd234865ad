package main

import (
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/internal/cli"
)

const categoryTransform = "Transforms, in the order in which they act"

// transformFlags are the flags of all commands that write a schedule.
func transformFlags() []ucli.Flag {
	text := func(name, usage, deflt string) ucli.Flag {
		return &ucli.StringFlag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: deflt}
	}
	tokens := func(name, usage string) ucli.Flag {
		return &ucli.Int64Flag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: "no limit"}
	}
	silence := func(name, usage string) ucli.Flag {
		return &ucli.DurationFlag{Name: name, Category: categoryTransform, Usage: usage, DefaultText: "no limit"}
	}
	return []ucli.Flag{
		text("window", "keep `FROM:TO` of recorded time, FROM included, TO not (as 10m:20m, 90s:, :1h)", ""),
		tokens("max-context", "drop sessions with a request of more than `N` tokens, input and output"),
		tokens("max-input-drop", "drop sessions with a request of more than `N` input tokens"),
		text("speed", "divide times and waits by `R`, a decimal above 0", "1"),
		silence("think-cap", "leave at most `DURATION` of each stretch of time in which a session has nothing running, after --speed"),
		silence("gap-cap", "leave at most `DURATION` of each stretch of time in which nothing at all runs, after --speed"),
		tokens("max-output", "make answers at most `N` tokens"),
		tokens("max-input", "cut prompts to `N` tokens"),
		text("zero", "`POINT` that is time 0: trace (its own zero) or first (the first request kept)", "trace"),
	}
}

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
	switch zero := c.String("zero"); zero {
	case "", "trace":
	case "first":
		o.Zero = true
	default:
		return o, cli.Usagef("--zero: got %q, want trace or first", zero)
	}
	return o, nil
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
