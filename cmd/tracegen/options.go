package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

// common is what all commands take from the command line.
type common struct {
	input   string // the first one
	inputs  []string
	output  string
	force   bool
	quiet   bool
	timeout time.Duration
	plan    plan.Options
}

// commonOptions are those of a command with one input.
func commonOptions(c *ucli.Context) (common, error) {
	if c.NArg() > 1 {
		return common{}, cli.Usagef("got %d inputs, want one: %q", c.NArg(), c.Args().Slice())
	}
	return severalOptions(c)
}

// severalOptions are those of a command that joins its inputs.
func severalOptions(c *ucli.Context) (o common, err error) {
	o = common{input: c.Args().First(), inputs: c.Args().Slice(), output: c.String("output"), force: c.Bool("force"), quiet: c.Bool("quiet"), timeout: c.Duration("timeout")}
	if len(o.inputs) == 0 {
		o.inputs = []string{""}
	}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), append(slices.Clone(o.inputs), o.output)...); err != nil {
		return o, err
	}
	o.plan, err = readTransforms(c)
	return o, err
}

// place names the inputs in errors that concern all of them.
func (o common) place() string {
	place := pipe.Place(o.input)
	if n := len(o.inputs) - 1; n > 0 {
		place += " and " + itoa(int64(n)) + " more"
	}
	return place
}

// what names the inputs in the summary.
func (o common) what() string {
	if n := len(o.inputs); n > 1 {
		return itoa(int64(n)) + " inputs"
	}
	return sourceName(o.input)
}

// checkText refuses a text that a schedule cannot hold.
func checkText(name, text string) error {
	if !utf8.ValidString(text) {
		return cli.Usagef("--%s: got %q, want UTF-8", name, text)
	}
	return nil
}

// traceName is the base name of an input, which becomes the scope of block ids where
// none is given.
func traceName(input, scope string) (string, error) {
	name := sourceName(input)
	if utf8.ValidString(name) {
		return name, nil
	}
	if scope == "" {
		return "", cli.WithHint(cli.Usagef("input: got %q, want a name in UTF-8, which becomes the scope of block ids", name), "--scope NAME gives them another")
	}
	return strings.ToValidUTF8(name, "\uFFFD"), nil
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
