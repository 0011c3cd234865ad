package main

import (
	"strconv"

	ucli "github.com/urfave/cli/v2"

	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/traces"
)

// option is a flag that says how a trace is read.
type option struct {
	flag func(f traces.Format) ucli.Flag
	// read puts the flag's value, when it was given, into o. It returns the value as an
	// effective argument, "" when it changes nothing.
	read func(c *ucli.Context, f traces.Format, o *traces.Options) (arg string, err error)
}

// options are all options of all formats, by the name of their flag; a format lists
// those it reads.
var options = map[string]option{
	"block-size": {
		func(f traces.Format) ucli.Flag {
			text := itoa(f.Block)
			if f.Block == 0 {
				text = "as the trace says"
			}
			return &ucli.Int64Flag{Name: "block-size", Category: categoryTrace, Usage: "tokens per block id, `N`, where the trace does not say", DefaultText: text}
		},
		func(c *ucli.Context, f traces.Format, o *traces.Options) (string, error) {
			o.BlockSize = c.Int64("block-size")
			if n := o.BlockSize; n < 1 || n > traces.MaxBlockSize {
				return "", cli.Usagef("--block-size: got \"%d\", want a whole number between 1 and %d", n, traces.MaxBlockSize)
			}
			if o.BlockSize == f.Block {
				return "", nil
			}
			return itoa(o.BlockSize), nil
		},
	},
	"context": {
		func(traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "context", Category: categoryTrace, Usage: "rows of sessions are `KIND` prompts, whole or delta", DefaultText: "as their block ids show"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			o.Context = c.String("context")
			if o.Context != schedule.Whole && o.Context != schedule.Delta {
				return "", cli.Usagef("--context: got %q, want whole or delta", o.Context)
			}
			return o.Context, nil
		},
	},
	"scope": {
		func(f traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "scope", Category: categoryTrace, Usage: "`NAME` within which an id means the same text; give parts of one trace one name", DefaultText: f.Name + "/ and the file's name"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			o.Scope = c.String("scope")
			return o.Scope, checkText("scope", o.Scope)
		},
	},
	"drop-failed": boolean("drop-failed", "leave out requests that failed upstream (no output tokens)", func(o *traces.Options) *bool { return &o.DropFailed }),
	"mint-blocks": {
		func(traces.Format) ucli.Flag {
			return &ucli.Int64Flag{Name: "mint-blocks", Category: categoryTrace, Usage: "assume block ids of `N` tokens: a prompt that grows begins with its session's prompt before it", DefaultText: "no ids"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			o.MintBlocks = c.Int64("mint-blocks")
			if n := o.MintBlocks; n < 1 || n > traces.MaxBlockSize {
				return "", cli.Usagef("--mint-blocks: got \"%d\", want a whole number between 1 and %d", n, traces.MaxBlockSize)
			}
			return itoa(o.MintBlocks), nil
		},
	},
	"tables": {
		func(traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "tables", Category: categoryTrace, Usage: "`DIR` with the tables that the trace refers to", DefaultText: "where the trace lies"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			if o.Tables = c.String("tables"); o.Tables == "" {
				return "", cli.Usagef("--tables: got \"\", want a folder")
			}
			return "", nil // a file name, which the header leaves out
		},
	},
	"kv-hints": boolean("kv-hints", "send the recorded block ids as hash_ids and block_size; strict servers answer 400", func(o *traces.Options) *bool { return &o.KVHints }),
	"session-key": {
		func(traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "session-key", Category: categoryTrace, Usage: "the session is what key or attribute `NAME` says", DefaultText: "as the format has it"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			if o.SessionKey = c.String("session-key"); o.SessionKey == "" {
				return "", cli.Usagef("--session-key: got \"\", want the name of a key")
			}
			return o.SessionKey, checkText("session-key", o.SessionKey)
		},
	},
	"session-column": {
		func(traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "session-column", Category: categoryTrace, Usage: "the session is what column `NAME` says", DefaultText: "provided_session_id, else poor_man_session_id"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			if o.SessionColumn = c.String("session-column"); o.SessionColumn == "" {
				return "", cli.Usagef("--session-column: got \"\", want the name of a column")
			}
			return o.SessionColumn, checkText("session-column", o.SessionColumn)
		},
	},
	"think": {
		func(traces.Format) ucli.Flag {
			return &ucli.StringFlag{Name: "think", Category: categoryTrace, Usage: "`recorded`: wait for the trace's own think_time, as other tools do; it counts some waits twice", DefaultText: "from recorded starts and ends"}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			if o.Think = c.String("think"); o.Think != traces.RecordedThink {
				return "", cli.Usagef("--think: got %q, want recorded", o.Think)
			}
			return o.Think, nil
		},
	},
	"independent": boolean("independent", "draw each length of a request for itself, not all from one number", func(o *traces.Options) *bool { return &o.Independent }),
	"strict":      boolean("strict", "refuse keys that are not known", func(o *traces.Options) *bool { return &o.Strict }),
}

// boolean is an option that is on or off.
func boolean(name, usage string, field func(*traces.Options) *bool) option {
	return option{
		func(traces.Format) ucli.Flag {
			return &ucli.BoolFlag{Name: name, Category: categoryTrace, Usage: usage}
		},
		func(c *ucli.Context, _ traces.Format, o *traces.Options) (string, error) {
			*field(o) = c.Bool(name)
			return strconv.FormatBool(c.Bool(name)), nil
		},
	}
}

// formatCommand is the subcommand of a trace format.
func formatCommand(f traces.Format) *ucli.Command {
	flags := []ucli.Flag{&ucli.BoolFlag{Name: "describe", Category: categoryTrace, Usage: "print what is understood of the trace, and make no schedule"}}
	for _, name := range f.Options {
		flags = append(flags, options[name].flag(f))
	}
	flags = append(flags,
		&ucli.StringFlag{Name: "licence", Category: categoryTrace, Usage: "`TEXT` on the trace's licence, for the header"},
		&ucli.StringFlag{Name: "url", Category: categoryTrace, Usage: "`URL` of the trace's origin, for the header"})
	return &ucli.Command{
		Name:        f.Name,
		Usage:       f.Usage,
		UsageText:   "tracegen " + f.Name + " [flags] [TRACE…]",
		Description: f.Text + "\n\n" + cli.ExitText,
		Flags:       append(append(flags, transformFlags()...), cli.Flags("output", "force", "quiet", "timeout", "seed")...),
		Action:      func(c *ucli.Context) error { return convert(c, f) },
	}
}

// readOptions reads the flags of a format and returns them, and the effective
// arguments for the header: defaults, file names and what only concerns the output are
// left out.
func readOptions(c *ucli.Context, f traces.Format) (o traces.Options, args []string, err error) {
	args = []string{f.Name}
	for _, name := range f.Options {
		if !c.IsSet(name) {
			continue
		}
		if other := f.Needs[name]; other != "" && !c.IsSet(other) {
			return o, nil, cli.Usagef("--%s: has no effect without --%s", name, other)
		}
		arg, err := options[name].read(c, f, &o)
		switch {
		case err != nil:
			return o, nil, err
		case arg == "true":
			args = append(args, "--"+name)
		case arg != "" && arg != "false":
			args = append(args, "--"+name, arg)
		}
	}
	return o, args, nil
}
