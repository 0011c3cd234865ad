package main

import (
	"path/filepath"
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
	input   string
	output  string
	force   bool
	quiet   bool
	timeout time.Duration
	plan    plan.Options
}

func commonOptions(c *ucli.Context) (o common, err error) {
	if c.NArg() > 1 {
		return o, cli.WithHint(cli.Usagef("got %d inputs, want one: %q", c.NArg(), c.Args().Slice()),
			"convert each by itself with the same --scope and join them with cat")
	}
	o = common{input: c.Args().First(), output: c.String("output"), force: c.Bool("force"), quiet: c.Bool("quiet"), timeout: c.Duration("timeout")}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), o.input, o.output); err != nil {
		return o, err
	}
	o.plan, err = readTransforms(c)
	return o, err
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
