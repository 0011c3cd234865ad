package main

import (
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
	"hydrant/traces"
)

// options is what both commands take from the command line.
type options struct {
	input   string
	output  string
	force   bool
	quiet   bool
	timeout time.Duration
	plan    plan.Options
}

func commonOptions(c *ucli.Context) (o options, err error) {
	if c.NArg() > 1 {
		return o, cli.WithHint(cli.Usagef("got %d inputs, want one: %q", c.NArg(), c.Args().Slice()),
			"convert each by itself with the same --scope and join them with cat")
	}
	o = options{input: c.Args().First(), output: c.String("output"), force: c.Bool("force"), quiet: c.Bool("quiet"), timeout: c.Duration("timeout")}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), o.input, o.output); err != nil {
		return o, err
	}
	if c.IsSet("window") {
		w, err := plan.ParseWindow(c.String("window"))
		if err != nil {
			return o, cli.Usagef("--window: %w", err)
		}
		o.plan.Window = &w
	}
	if c.IsSet("speed") {
		if o.plan.Speed, err = plan.ParseRatio(c.String("speed")); err != nil {
			return o, cli.Usagef("--speed: %w", err)
		}
	}
	switch zero := c.String("zero"); zero {
	case "", "trace":
	case "first":
		o.plan.Zero = true
	default:
		return o, cli.Usagef("--zero: got %q, want trace or first", zero)
	}
	return o, nil
}

// mooncakeOptions is what the mooncake command takes beside them.
type mooncakeOptions struct {
	options
	trace        traces.MooncakeOptions
	licence, url string
}

func readMooncakeOptions(c *ucli.Context) (o mooncakeOptions, err error) {
	if o.options, err = commonOptions(c); err != nil {
		return o, err
	}
	// A schedule may take the place of the one it was made from; a trace is kept.
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.input); err != nil {
		return o, err
	}
	o.trace = traces.MooncakeOptions{
		Name: sourceName(o.input), Scope: c.String("scope"), Context: c.String("context"), Strict: c.Bool("strict"), BlockSize: c.Int64("block-size"),
	}
	o.licence, o.url = c.String("licence"), c.String("url")
	for _, name := range []string{"scope", "licence", "url"} {
		if text := c.String(name); !utf8.ValidString(text) {
			return o, cli.Usagef("--%s: got %q, want UTF-8", name, text)
		}
	}
	if !utf8.ValidString(o.trace.Name) {
		if o.trace.Scope == "" {
			return o, cli.WithHint(cli.Usagef("input: got %q, want a name in UTF-8, which becomes the scope of block ids", o.trace.Name), "--scope NAME gives them another")
		}
		o.trace.Name = strings.ToValidUTF8(o.trace.Name, "\uFFFD")
	}
	switch o.trace.Context {
	case "", schedule.Whole, schedule.Delta:
	default:
		return o, cli.Usagef("--context: got %q, want whole or delta", o.trace.Context)
	}
	if n := o.trace.BlockSize; c.IsSet("block-size") && (n < 1 || n > traces.MaxBlockSize) {
		return o, cli.Usagef("--block-size: got \"%d\", want a whole number between 1 and %d", n, traces.MaxBlockSize)
	}
	if c.IsSet("scope") && o.trace.Scope == "" {
		return o, cli.Usagef(`--scope: got "", want a name`)
	}
	return o, nil
}

// args returns the effective arguments for the header: defaults, file names and what
// only concerns the output are left out.
func (o mooncakeOptions) args() []string {
	args := []string{"mooncake"}
	if n := o.trace.BlockSize; n != 0 && n != traces.MooncakeBlock {
		args = append(args, "--block-size", itoa(n))
	}
	if o.trace.Context != "" {
		args = append(args, "--context", o.trace.Context)
	}
	if o.trace.Scope != "" {
		args = append(args, "--scope", o.trace.Scope)
	}
	if o.trace.Strict {
		args = append(args, "--strict")
	}
	return append(args, o.plan.Args()...)
}

// sourceName is the base name of an input, "stdin" for standard input and the address
// for an endpoint.
func sourceName(input string) string {
	switch {
	case input == "" || input == "-":
		return "stdin"
	case strings.HasPrefix(input, "zmq+"):
		return input
	}
	return filepath.Base(input)
}
