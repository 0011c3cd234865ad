// Command tracegen turns a production trace into a schedule, the plan that replay
// carries out, and changes schedules: a window of time, a sample, another speed, other
// arrivals, a new seal after an edit by hand.
//
//	tracegen mooncake trace.jsonl.zst --window 10m:20m -o ten.sched.zst
//	tracegen schedule ten.sched.zst --speed 2 | replay --sim default > run.arrows
package main

import (
	"io"
	"os"
	"runtime/debug"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
	"hydrant/traces"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// collectAt is how much garbage, in percent of what is in use, is left lying: little is made
// beside much that stays, and a day's trace is to fit where a minute's does.
const collectAt = 25

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	debug.SetGCPercent(collectAt)
	a := app()
	var names []string
	for _, c := range a.Commands {
		names = append(names, c.Name)
	}
	args, stdin, err := withCommand(args, names, stdin)
	if err != nil {
		args, a.Commands = nil, nil
		a.Action = func(*ucli.Context) error { return err }
	}
	return cli.Run(a, args, stdin, stdout, stderr)
}

func app() *ucli.App {
	return &ucli.App{
		Name:  "tracegen",
		Usage: "make a schedule from a trace",
		UsageText: `tracegen [FORMAT] [flags] [TRACE…]
tracegen schedule [flags] [SCHEDULE]
tracegen synth [flags] [WORKLOAD.yaml]
tracegen analyze [flags] [TRACE or SCHEDULE]
tracegen check [flags] SCHEDULE [SOURCE]`,
		Description: `Reads a trace and writes a schedule: JSON Lines in zstd, one line per request, with
a trailer that proves it whole. TRACE is a path, or - or nothing for standard
input. zstd and gzip are seen by content, and so is the format where FORMAT is left
out. The same input, flags and build give the same bytes. A trace is checked to its
end before the first line goes out. A summary goes to standard error.

  tracegen mooncake trace.jsonl --window 10m:20m -o ten.sched.zst
  tracegen mooncake trace.jsonl --speed 10 | replay --sim default | reduce

` + cli.ExitText,
		Commands: commands(),
	}
}

const categoryTrace = "How the trace is read"

// commands are a subcommand for each trace format, and those that read schedules.
func commands() (all []*ucli.Command) {
	for _, f := range traces.Formats {
		all = append(all, formatCommand(f))
	}
	return append(all, synthCommand(), scheduleCommand(), analyzeCommand(), checkCommand())
}

func scheduleCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "schedule",
		Usage:     "from a schedule: transform it, join several, seal it after an edit",
		UsageText: `tracegen schedule [flags] [SCHEDULE…]`,
		Description: `Several schedules in a row, as cat makes them, become one that plays them one
after the other; several files are merged by time. Lines that a person has edited no longer match their trailer,
and replay refuses them: --reseal checks the lines, numbers them again and writes
a trailer that fits; the header then says that the schedule was edited.

  tracegen schedule day.sched.zst --window 10m:20m --speed 2 -o part.sched.zst
  tracegen schedule chat.sched.zst code.sched.zst --sample 0.1 -o mixed.sched.zst
  tracegen schedule --reseal edited.jsonl -o edited.sched.zst

` + cli.ExitText,
		Flags: append(append([]ucli.Flag{
			&ucli.BoolFlag{Name: "reseal", Category: categoryTrace, Usage: "accept lines changed by hand and write a new trailer"},
		}, transformFlags()...), cli.Flags("output", "force", "quiet", "timeout", "seed")...),
		Action: transform,
	}
}
