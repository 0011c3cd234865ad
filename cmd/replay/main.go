// Replay sends the requests of a schedule to an inference server, each at its instant,
// and writes a run: one row per planned request, whatever became of it, and the
// evidence about the generator itself.
//
//	replay [flags] [SCHEDULE]      reads a schedule, from standard input when none is named
//	replay serve [flags]           runs the simulated server
//
// The target is a real server (--url), a simulated one that replay starts for the run
// (--sim SPEC), or one that answers at once (--null). Before any load a preflight asks the
// server for its models and sends one short request.
//
// Replay forks worker processes (--workers) and gives each whole sessions. A request's
// instant is the later of its time in the schedule and the end of what it waits for,
// and never moves: a late request goes out late and its row says so. The rows are the
// same for any number of workers.
//
// That is --timing schedule. Under strict only the time counts, under think only what it
// waits for and the think time, and --closed N keeps N requests in flight, whatever the
// time. --concurrency and --sessions cap what is in flight and open, over all workers: a
// request that waits for its slot is late. --loop repeats the schedule with fresh prompts
// until --requests or --duration.
//
// Every planned request has exactly one row. A signal ends the dispatching: what is in
// flight may go on for --grace, the rest becomes not_sent, the run says interrupted. A
// second signal leaves at once. A worker that dies, or a schedule that turns out cut or
// damaged, ends the run in the same way with status failed, and replay names the cause.
//
// The output is an Arrow stream (docs/formats/run.md). With -o FILE it is written in
// place, so that what was written survives a kill; client rows wait in FILE.client and
// are appended at the end.
//
// Examples:
//
//	$ replay day.sched.zst --sim default -o run.arrows
//	$ tracegen mooncake trace.jsonl.zst --speed 10 | replay --null --workers 2 | reduce
//	$ replay day.sched.zst --url http://localhost:8000 --api-key-env API_KEY -o run.arrows
//
// Exit status: 0 done, whatever the outcomes of requests; 2 the command line is wrong; 3
// could not do it (bad or cut schedule, unreachable server, dead worker, full disk,
// closed output); 130 interrupted.
package main

import (
	"fmt"
	"io"
	"os"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/serve"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is replay, or a worker process of it when its parent says so.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == worker.Arg {
		return work(stderr)
	}
	return cli.Run(app(), args, stdin, stdout, stderr)
}

// work is a worker process on the descriptors that its parent left open.
func work(stderr io.Writer) int {
	in, out := os.NewFile(worker.In, "frames in"), os.NewFile(worker.Out, "frames out")
	err := cli.Guard(func() error { return worker.Main(in, out) })
	if err != nil {
		fmt.Fprintln(stderr, err)
		return cli.StatusError
	}
	return cli.StatusDone
}

func app() *ucli.App {
	return &ucli.App{
		Name:      "replay",
		Usage:     "send a schedule's requests to a server, each at its instant",
		UsageText: "replay [flags] [SCHEDULE]\nreplay serve [flags]",
		Description: `Reads a schedule (a path, - or nothing for standard input; zstd, gzip or plain) and
writes a run to -o or standard output: one row per planned request, and the evidence
about the generator itself. Worker processes send each request at its instant; a late
request goes out late and its row says so. Rows do not depend on the number of workers.

The target is --url, --sim SPEC (replay starts a simulated server) or --null. Before any
load a preflight asks for the models and sends one short request. The model sent is
--model, else what /v1/models lists when it lists exactly one, else the line's.

--timing says what gives a request its instant: schedule (its time, and not before what it
waits for ended), strict (its time alone), think (what it waits for and a think time), asap
(a free slot; --closed N keeps N requests in flight). --loop repeats the schedule.

The first SIGINT or SIGTERM stops sending, lets requests in flight go on for --grace and
ends the run as interrupted; the second leaves at once. A dead worker or a schedule that
turns out cut ends the run in the same way as failed. Every planned request has a row.

` + cli.ExitText + `

Examples:
  replay day.sched.zst --sim default -o run.arrows
  tracegen mooncake trace.jsonl.zst --speed 10 | replay --null --workers 2 | reduce
  replay day.sched.zst --sim default --closed 64 --loop --duration 10m -o run.arrows
  replay day.sched.zst --url http://localhost:8000 --api-key-env API_KEY -o run.arrows`,
		Flags:    flags(),
		Action:   action,
		Commands: []*ucli.Command{serve.Command()},
	}
}
