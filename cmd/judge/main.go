// Judge says two separate things about a run: whether the load generator delivered
// the traffic that it was asked for (VALID or INVALID), and whether the server met its
// objectives under it (PASS, FAIL or INCONCLUSIVE).
//
// It reads a run, or the summary that reduce made of it, decides each objective given
// with --slo, evaluates the checks of docs/validity.md, and writes the verdict: a
// report for a terminal, JSON (docs/formats/verdict.md) for everything else, Markdown
// or JUnit XML on request. The exit status repeats it:
//
//	0  VALID, and PASS or no objective given
//	1  VALID and FAIL
//	2  the command line is wrong
//	3  could not judge: bad, cut or unknown-version input, a schedule of another run
//	4  INVALID: the generator did not deliver the plan, or cannot prove it
//	5  INCONCLUSIVE: too few samples
//
// Evidence that is missing makes a run INVALID. --accept-unproven names it in the
// first line instead; what was found to be wrong it never forgives.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/judge/internal/report"
	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/internal/fold"
	"hydrant/internal/pipe"
	"hydrant/internal/slo"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(app(), args, stdin, stdout, stderr)
}

const description = `Judge reads one run (.arrows), the parts or shards of one, or the summary that
reduce made (from a file or standard input), and writes a verdict.

An objective is one of
  ttft:p99<500ms               a latency of most requests: ttft, ttfo, tpot, e2e,
                               icl_mean, icl_p99, icl_max at p1 to p99.9
  ttft/wire:p99<400ms          the same on a side: user (default), wire, sent
  ttft:p99<200ms+0.05ms*in     a limit that grows with the input tokens
  error_rate<1%                a share of failed requests
  good(ttft<2s,tpot<60ms):p90  a share of requests that meet several limits
  goodput>=90%                 the same with the limits of all other objectives
  out_tps>=2000                a rate over the window: out_tps, in_tps, goodput,
                               sent_rps, ok_rps, ended_rps; also <=
  mlperf/llama2-70b/server     the limits of an MLPerf scenario
< and <= mean the same: a value at its limit is good.

The checks and their limits are listed in docs/validity.md. How much a run says of
the wire is its evidence tier: T2 needs kernel stamps and a calibration, T1 makes
up for missing stamps with a headroom of 4; what has less is INVALID.

Exit status: 0 VALID, and PASS or no objective · 1 VALID and FAIL · 2 the command
line is wrong · 3 could not judge (bad, cut or unknown-version input, a schedule
of another run) · 4 INVALID · 5 INCONCLUSIVE · 130 interrupted.

pipelines:
  judge run.arrows --slo 'ttft:p99<500ms' --slo 'error_rate<1%'
  reduce run.arrows | judge --slo 'ttft:p90<2s' --short --accept-unproven`

const categoryRules = "The rules"

func app() *ucli.App {
	return &ucli.App{
		Name:      "judge",
		Usage:     "say whether a run is valid and whether the server met its objectives",
		UsageText: "judge [OPTIONS] [RUN | SUMMARY …]",
		Flags: append([]ucli.Flag{
			&ucli.StringSliceFlag{Name: "gpu", Category: cli.CategoryServer, Usage: "show the gpu stream in `FILE` over the window (may be repeated; needs the run, not its summary)"},
			&ucli.StringFlag{Name: "plan", Category: categoryRules, Usage: "compare the run with the schedule in `FILE`"},
			&ucli.BoolFlag{Name: "short", Category: categoryRules, Usage: "accept a window of 30 s and mark the verdict not publishable"},
			&ucli.BoolFlag{Name: "accept-unproven", Category: categoryRules, Usage: "name missing evidence in the first line instead of calling the run INVALID"},
			&ucli.StringFlag{Name: "evidence", Category: categoryRules, Value: "t1", Usage: "accept no less than evidence tier `TIER`: t1, t2 or t3"},
			&ucli.BoolFlag{Name: "directional", Category: categoryRules, Usage: "let what holds although the run is INVALID decide the exit status"},
			&ucli.StringSliceFlag{Name: "limit", Category: categoryRules, Usage: "change the limit `ID=VALUE`, as in B2.p99=20ms (may be repeated; the report says so)"},
			&ucli.StringFlag{Name: "format", Category: cli.CategoryOutput, Value: "auto", Usage: "write the verdict as `FORMAT`: auto (text on a terminal, else json), text, json, markdown (for a pull request) or junit (XML)"},
		}, cli.Flags("slo", "slo-file", "output", "timeout")...),
		Description: description,
		Action:      judge,
	}
}

// options is the command line, read and checked before anything is opened.
type options struct {
	inputs   []string
	gpus     []string
	plan     string
	slos     []string
	sloFiles []string
	rules    rule.Options
	output   string
	write    func(io.Writer, *verdict.Verdict) error
	timeout  time.Duration
}

func parse(c *ucli.Context) (options, error) {
	o := options{
		inputs: c.Args().Slice(), gpus: c.StringSlice("gpu"), plan: c.String("plan"), slos: c.StringSlice("slo"), sloFiles: c.StringSlice("slo-file"),
		output: c.String("output"), timeout: c.Duration("timeout"),
		rules: rule.Options{Build: cli.Build(), Short: c.Bool("short"), AcceptUnproven: c.Bool("accept-unproven"), Directional: c.Bool("directional"),
			Evidence: strings.ToUpper(c.String("evidence"))},
	}
	if len(o.inputs) == 0 {
		o.inputs = []string{""} // standard input, unless that is a terminal
	}
	reads := slices.Concat(o.inputs, o.gpus, o.sloFiles)
	if o.plan != "" {
		reads = append(reads, o.plan)
	}
	if err := pipe.CheckNames(cli.Stdin(c), o.output, reads...); err != nil {
		return o, err
	}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), append(reads, o.output)...); err != nil {
		return o, err
	}
	if !slices.Contains(rule.Tiers[:], o.rules.Evidence) {
		return o, cli.Usagef("--evidence: got %q, want t1, t2 or t3", c.String("evidence"))
	}
	for _, text := range c.StringSlice("limit") {
		l, err := rule.ParseOverride(text)
		if err != nil {
			return o, cli.Usagef("%w", err)
		}
		if slices.ContainsFunc(o.rules.Limits, func(before rule.Override) bool { return before.ID == l.ID }) {
			return o, cli.Usagef("--limit %q: given twice: got %q, want each limit once", text, l.ID)
		}
		o.rules.Limits = append(o.rules.Limits, l)
	}
	toTerminal := (o.output == "" || o.output == "-") && cli.IsTerminal(cli.Stdout(c))
	format := c.String("format")
	if format == "auto" {
		format = map[bool]string{true: "text", false: "json"}[toTerminal]
	}
	if o.write = writer(format, toTerminal && os.Getenv("NO_COLOR") == ""); o.write == nil {
		return o, cli.Usagef("--format: got %q, want auto, text, json, markdown or junit", format)
	}
	return o, nil
}

func judge(c *ucli.Context) (err error) {
	o, err := parse(c)
	if err != nil {
		return err
	}
	ctx, stdin := cli.Context(c), cli.Stdin(c)
	in := rule.Input{Options: o.rules}
	if in.Set, err = objectives(ctx, o, stdin); err != nil {
		return err
	}
	if o.plan != "" {
		if in.Plan, err = readPlan(ctx, o, stdin); err != nil {
			return err
		}
	}
	if in.Summary, err = readSummary(ctx, o, stdin); err != nil {
		return err
	}
	in.Place = pipe.Place(o.inputs[0])
	if in.Columns, err = in.Summary.Decode(in.Place); err != nil {
		return err
	}
	v, err := rule.Judge(in)
	if err != nil {
		return err
	}
	// The verdict is whole before the status says it, so that a crash never looks like one.
	out, err := pipe.Create(ctx, o.output, cli.Stdout(c), pipe.Options{Timeout: o.timeout})
	if err != nil {
		return err
	}
	if err := out.Finish(o.write(out, v)); err != nil {
		return err
	}
	return cli.Status(v.Exit)
}

// writer returns what writes a verdict in a format, nil for a format that is not known.
func writer(format string, colour bool) func(io.Writer, *verdict.Verdict) error {
	switch format {
	case "text":
		return func(w io.Writer, v *verdict.Verdict) error { return report.Text(w, v, report.Options{Colour: colour}) }
	case "json":
		return verdict.Write
	case "markdown":
		return report.Markdown
	case "junit":
		return report.JUnit
	}
	return nil
}

// objectives reads those of --slo and --slo-file; what is wrong in one is a usage error.
func objectives(ctx context.Context, o options, stdin io.Reader) ([]slo.Objective, error) {
	set, err := slo.Args(o.slos, o.sloFiles, func(file string) (io.ReadCloser, string, error) {
		in, err := pipe.OpenWith(ctx, file, stdin, pipe.Options{Timeout: o.timeout})
		return in, pipe.Place(file), err
	})
	if _, bad := err.(*slo.Error); bad {
		return nil, cli.Usagef("%w", err)
	}
	return set, err
}

func readPlan(ctx context.Context, o options, stdin io.Reader) (*rule.Plan, error) {
	in, err := pipe.OpenWith(ctx, o.plan, stdin, pipe.Options{Timeout: o.timeout})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	plain, _, err := codec.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pipe.Place(o.plan), err)
	}
	defer plain.Close()
	return rule.ReadPlan(plain, pipe.Place(o.plan))
}

// readSummary folds runs and gpu streams, or reads the one summary.
func readSummary(ctx context.Context, o options, stdin io.Reader) (*summary.Summary, error) {
	var inputs []fold.Input
	for _, name := range append(append([]string{}, o.inputs...), o.gpus...) {
		in, err := pipe.OpenWith(ctx, name, stdin, pipe.Options{Timeout: o.timeout})
		if err != nil {
			return nil, err
		}
		defer in.Close()
		inputs = append(inputs, fold.Input{Name: pipe.Place(name), R: in})
	}
	return fold.Run(ctx, inputs, fold.Options{Build: cli.Build(), GPUs: len(o.gpus), NoRows: true})
}
