package cli

import (
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// Categories of the flags that several tools have; tools add their own.
const (
	CategoryOutput  = "Output and messages"
	CategoryGeneral = "General"
	CategoryServer  = "The server"
)

// DefaultTimeout is how long an end may stay silent before it counts as cut.
const DefaultTimeout = time.Minute

// Flags returns the flags of the given names: output, seed, quiet, progress,
// timeout, force, slo, slo-file. Each means the same in every tool, so it is defined here once
// and added to each command that has it. An unknown name is a mistake of the
// program and panics.
func Flags(names ...string) []ucli.Flag {
	fs := make([]ucli.Flag, len(names))
	for i, n := range names {
		fs[i] = common(n)
	}
	return fs
}

func common(name string) ucli.Flag {
	switch name {
	case "output":
		return &ucli.StringFlag{Name: name, Aliases: []string{"o"}, Category: CategoryOutput,
			Usage: "write to `FILE`: a path, - for standard output, zmq+tcp://HOST:PORT or zmq+ipc:///PATH", DefaultText: "standard output"}
	case "seed":
		return &ucli.Int64Flag{Name: name, Category: CategoryGeneral, Value: 1,
			Usage: "`N` from which every random choice follows"}
	case "quiet":
		return &ucli.BoolFlag{Name: name, Category: CategoryOutput,
			Usage: "say nothing on standard error but errors and warnings"}
	case "progress":
		return &ucli.BoolFlag{Name: name, Category: CategoryOutput,
			Usage: "show progress on standard error even when it is not a terminal"}
	case "timeout":
		return &ucli.DurationFlag{Name: name, Category: CategoryGeneral, Value: DefaultTimeout,
			Usage: "count a ZMQ end as cut after `DURATION` of silence (as 500ms, 30s, 2m)"}
	case "force":
		return &ucli.BoolFlag{Name: name, Category: CategoryOutput,
			Usage: "write binary output to a terminal"}
	case "slo":
		return &ucli.StringSliceFlag{Name: name, Category: CategoryServer,
			Usage: "hold the server to `OBJECTIVE`, as ttft:p99<500ms (may be repeated)"}
	case "slo-file":
		return &ucli.StringSliceFlag{Name: name, Category: CategoryServer,
			Usage: "hold the server to the objectives in `FILE`, one a line, # starts a comment (may be repeated)"}
	}
	panic(fmt.Sprintf("cli.Flags: no common flag %q", name))
}
