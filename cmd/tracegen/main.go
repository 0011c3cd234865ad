// Command tracegen turns a production trace into a schedule, the plan that replay
// carries out, and changes schedules: a window of time, another speed, a new seal
// after an edit by hand.
//
//	tracegen mooncake trace.jsonl.zst --window 10m:20m -o ten.sched.zst
//	tracegen schedule ten.sched.zst --speed 2 | replay --sim default > run.arrows
package main

import (
	"io"
	"os"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(app(), args, stdin, stdout, stderr)
}

func app() *ucli.App {
	return &ucli.App{
		Name:  "tracegen",
		Usage: "make a schedule from a trace",
		UsageText: `tracegen mooncake [flags] [TRACE]
tracegen schedule [flags] [SCHEDULE]`,
		Description: `Reads a trace (a path, - or nothing for standard input; zstd and gzip are seen
by content) and writes a schedule: JSON Lines in zstd, one line per request, with
a trailer that proves it whole. The same input, flags and build give the same
bytes. A trace is checked to its end before the first line goes out. A summary goes
to standard error.

  tracegen mooncake trace.jsonl --window 10m:20m -o ten.sched.zst
  tracegen mooncake trace.jsonl --speed 10 | replay --sim default | reduce

` + cli.ExitText,
		Commands: []*ucli.Command{mooncakeCommand(), scheduleCommand()},
	}
}

const (
	categoryTrace     = "How the trace is read"
	categoryTransform = "Transforms, in the order in which they act"
)

func transformFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "window", Category: categoryTransform, Usage: "keep `FROM:TO` of recorded time, FROM included, TO not (as 10m:20m, 90s:, :1h)"},
		&ucli.StringFlag{Name: "speed", Category: categoryTransform, Usage: "divide times and waits by `R`, a decimal above 0", DefaultText: "1"},
		&ucli.StringFlag{Name: "zero", Category: categoryTransform, Usage: "`POINT` that is time 0: trace (its own zero) or first (the first request kept)", DefaultText: "trace"},
	}
}

func mooncakeCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "mooncake",
		Usage:     "from Mooncake's JSON Lines, and AIPerf's multi-turn rows",
		UsageText: `tracegen mooncake [flags] [TRACE]`,
		Description: `Each row is a request: timestamp (ms), input_length, output_length, hash_ids; or
text_input, messages, payload; session_id and delay for turns. Rows are sorted by
time, file order on ties. Every irregularity is refused with its row or counted
in the trailer.

  tracegen mooncake trace.jsonl.zst -o trace.sched.zst
  tracegen mooncake trace.jsonl.zst --speed 10 | replay --sim default | reduce

` + cli.ExitText,
		Flags: append(append([]ucli.Flag{
			&ucli.Int64Flag{Name: "block-size", Category: categoryTrace, Usage: "tokens per block id, `N`; a row does not say", DefaultText: "512"},
			&ucli.StringFlag{Name: "context", Category: categoryTrace, Usage: "rows of sessions are `KIND` prompts, whole or delta", DefaultText: "as their block ids show"},
			&ucli.StringFlag{Name: "scope", Category: categoryTrace, Usage: "`NAME` within which an id means the same text; give parts of one trace one name", DefaultText: "mooncake/ and the file's name"},
			&ucli.BoolFlag{Name: "strict", Category: categoryTrace, Usage: "refuse keys that are not known"},
			&ucli.StringFlag{Name: "licence", Category: categoryTrace, Usage: "`TEXT` on the trace's licence, for the header"},
			&ucli.StringFlag{Name: "url", Category: categoryTrace, Usage: "`URL` of the trace's origin, for the header"},
		}, transformFlags()...), cli.Flags("output", "force", "quiet", "timeout")...),
		Action: mooncake,
	}
}

func scheduleCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "schedule",
		Usage:     "from a schedule: transform it, join several, seal it after an edit",
		UsageText: `tracegen schedule [flags] [SCHEDULE]`,
		Description: `Several schedules in a row, as cat makes them, become one that plays them one
after the other. Lines that a person has edited no longer match their trailer,
and replay refuses them: --reseal checks the lines, numbers them again and writes
a trailer that fits; the header then says that the schedule was edited.

  tracegen schedule day.sched.zst --window 10m:20m --speed 2 -o part.sched.zst
  tracegen schedule --reseal edited.jsonl -o edited.sched.zst

` + cli.ExitText,
		Flags: append(append([]ucli.Flag{
			&ucli.BoolFlag{Name: "reseal", Category: categoryTrace, Usage: "accept lines changed by hand and write a new trailer"},
		}, transformFlags()...), cli.Flags("output", "force", "quiet", "timeout")...),
		Action: transform,
	}
}
