// Reduce turns the rows of a run into metrics.
//
// It reads runs and gpu streams, in any order, from files or standard input, and
// writes one summary: a table on a terminal, JSON (docs/formats/summary.md) for
// everything else. Each metric is defined once, in docs/metrics.md. The parts or shards
// of one run, and summaries of them, become one, with the exact percentiles of their
// union.
//
//	reduce run.arrows
//	reduce run.arrows gpu.arrows -o run.summary.json
//	reduce --follow run.arrows
//	reduce run.arrows --slo 'ttft:p99<500ms' --slo 'tpot:p90<60ms'
//	reduce run.arrows --format parquet -o requests.parquet
//	replay --url http://127.0.0.1:8000 day.sched.zst | tee run.arrows | reduce | judge
//
// Memory is constant but for 320 bytes per request, and 208 per worker and second.
package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/reduce/internal/aiperf"
	"hydrant/cmd/reduce/internal/cells"
	"hydrant/cmd/reduce/internal/page"
	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
	"hydrant/internal/fold"
	"hydrant/internal/pipe"
	"hydrant/internal/slo"
)

func main() {
	// What is kept of the rows has few pointers, so that collecting more often than by default
	// costs little and leaves less garbage beside it.
	debug.SetGCPercent(25)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return cli.Run(app(), args, stdin, stdout, stderr)
}

const description = `Reads runs (.arrows), gpu streams and summaries, told apart by content: the parts or
shards of one run, and summaries of them, become one. Writes a table for people or JSON
for judge and other programs. All figures are over the steady window: from the end of
the warm-up, declared or detected, to the last planned request. What cannot be computed
is null, with the reason; a percentile below its sample floor is refused. Rows after a
cut are never guessed: a truncated input is an error and leaves no output. With
objectives, which are those of judge --slo, it counts good requests: ok, and within the
limit of each objective, whatever its level.

pipelines:
  reduce run.arrows
  reduce run.arrows gpu.arrows -o run.summary.json
  reduce run.arrows --slo 'ttft:p99<500ms' --slo 'tpot:p90<60ms' --format table
  replay --sim default plan.sched.zst | reduce | judge --slo 'ttft:p99<1s'

` + cli.ExitText

const (
	categoryWindow = "The window"
	categoryTable  = "What is written"
)

func app() *ucli.App {
	return &ucli.App{
		Name:      "reduce",
		Usage:     "turn the rows of runs into metrics",
		UsageText: "reduce [OPTIONS] [RUN | SUMMARY | GPU …]",
		Flags: append([]ucli.Flag{
			&ucli.DurationFlag{Name: "warmup", Category: categoryWindow, Usage: "leave out the first `DURATION` of the load, at least", DefaultText: "as the run's header says"},
			&ucli.StringFlag{Name: "window", Category: categoryWindow, Usage: "use `FROM:TO` after the first planned request, as 1m:5m, :10m or 30s:, or two instants, as 2026-01-02T15:04:00Z/2026-01-02T15:09:00Z, in place of the steady window; it ends with the load at the latest", DefaultText: "from the end of the warm-up"},
			&ucli.StringFlag{Name: "by", Category: categoryWindow, Usage: "reduce the rows by the values of `KEYS` too, some of " + groupKeys()},
			&ucli.DurationFlag{Name: "slice", Category: categoryWindow, Usage: "cut the load into slices of `DURATION`, whole seconds, for the series over time", DefaultText: "about 100 slices"},
			&ucli.StringFlag{Name: "fluidity", Category: categoryWindow, Usage: "compute the share of tokens in time, by `FIRST:LATER` deadlines, as 500ms:50ms, or 500ms+20us:50ms with 20us more for each input token"},
			&ucli.BoolFlag{Name: "partial", Category: categoryWindow, Usage: "compute from what is whole of a truncated run; every figure says that it is partial"},
			&ucli.StringFlag{Name: "format", Category: categoryTable, Value: "auto", Usage: "write `FORMAT`: auto (a table on a terminal, else json), " + formList()},
			&ucli.StringFlag{Name: "percentiles", Category: categoryTable, Value: "p50,p90,p99,p99.9", Usage: "show `LIST` in the table, from p1 p5 p10 p25 p50 p75 p90 p95 p99 p99.9"},
			&ucli.StringFlag{Name: "plot", Category: categoryTable, Usage: "draw the summary as well: one page, readable without a network, into `FILE.html`, or one SVG per chart into a folder", DefaultText: "no drawings"},
			&ucli.BoolFlag{Name: "follow", Category: categoryTable, Usage: "read a run that replay -o still writes and show the figures so far on standard error; it is cut when it has not grown for --timeout"},
			&ucli.DurationFlag{Name: "interval", Category: categoryTable, Value: defaultInterval, Usage: "show them every `DURATION`"},
			&ucli.StringFlag{Name: "columns", Category: categoryTable, Usage: "`on` or off: keep the per-request columns that judge needs", DefaultText: "on up to 1,000,000 requests"},
		}, cli.Flags("slo", "slo-file", "output", "timeout", "force")...),
		Description: description,
		Action:      reduce,
	}
}

// options is the command line, read and checked before anything is opened.
type options struct {
	inputs  []string
	output  string
	timeout time.Duration
	slos    []string
	files   []string // of objectives
	fold    fold.Options
	form    *form
	screen  bool // the output is a terminal
	force   bool // it may be given binary output

	export   *aiperf.Export // of the formats that need it
	gathered bool           // the rows of a run were seen
	view     table.Options
	plot     string // page or folder of drawings; "" for none
	follow   bool   // the input is still being written
	interval time.Duration
	bare     bool // the summary is written without columns, though they were kept to draw them
}

func parse(c *ucli.Context) (o options, err error) {
	o = options{inputs: c.Args().Slice(), output: c.String("output"), timeout: c.Duration("timeout"), slos: c.StringSlice("slo"),
		files: c.StringSlice("slo-file"), fold: fold.Options{Build: cli.Build()}}
	if len(o.inputs) == 0 {
		o.inputs = []string{""} // standard input, unless that is a terminal
	}
	reads := slices.Concat(o.inputs, o.files)
	if err := pipe.CheckNames(cli.Stdin(c), o.output, reads...); err != nil {
		return o, err
	}
	if err := checkFollow(c, &o); err != nil {
		return o, err
	}
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout") && !o.follow, append(reads, o.output)...); err != nil {
		return o, err
	}
	if o.plot = c.String("plot"); c.IsSet("plot") {
		if err := checkPlot(cli.Stdin(c), o.plot, o.output, reads); err != nil {
			return o, err
		}
	}
	if c.IsSet("warmup") {
		d := c.Duration("warmup")
		if d < 0 {
			return o, cli.Usagef("--warmup: got %q, want at least 0", d)
		}
		o.fold.WarmupNS = formats.Some(int64(d))
	}
	if c.IsSet("window") {
		if c.IsSet("warmup") {
			return o, cli.Usagef("--window and --warmup: got both, want one: a window has no warm-up")
		}
		if o.fold.Window, err = parseWindow(c.String("window")); err != nil {
			return o, err
		}
	}
	if o.fold.By, err = parseBy(c.String("by"), c.IsSet("by")); err != nil {
		return o, err
	}
	if c.IsSet("slice") {
		d := c.Duration("slice")
		if d < time.Second || d%time.Second != 0 || d > fold.MaxSpanNS {
			return o, cli.Usagef("--slice: got %q, want whole seconds from 1s to %v", d, time.Duration(fold.MaxSpanNS))
		}
		o.fold.SliceNS = int64(d)
	}
	if c.IsSet("fluidity") {
		if o.fold.Fluidity, err = parseFluidity(c.String("fluidity")); err != nil {
			return o, err
		}
	}
	o.fold.Partial = c.Bool("partial")
	switch v := c.String("columns"); v {
	case "":
		if c.IsSet("columns") {
			return o, cli.Usagef("--columns: got %q, want on or off", v)
		}
	case "on":
		o.fold.MaxColumns = summary.MaxRows
	case "off":
		o.bare = true
		o.fold.NoColumns, o.fold.Sums = o.plot == "", true
	default:
		return o, cli.Usagef("--columns: got %q, want on or off", v)
	}
	toTerminal := (o.output == "" || o.output == "-") && cli.IsTerminal(cli.Stdout(c))
	if o.form, err = parseForm(c.String("format"), toTerminal); err != nil {
		return o, err
	}
	o.fold.NoRows = o.form.name != "json" // the only form that holds them
	o.screen, o.force = toTerminal, c.Bool("force")
	if o.form.gather != nil && !o.form.binary && o.fold.Window != nil {
		return o, cli.WithHint(cli.Usagef("--window: AIPerf's files have no window"), "--warmup leaves the beginning out")
	}
	o.view.Bold = toTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if c.IsSet("percentiles") && !o.form.levels && o.plot == "" {
		return o, cli.WithHint(cli.Usagef("--percentiles: the output is %s, which has all of them", o.form.name), "--format table writes the table here too")
	}
	o.view.Levels, err = parseLevels(c.String("percentiles"))
	return o, err
}

// parseWindow reads FROM:TO, either of which may be empty.
func parseWindow(s string) (*fold.Span, error) {
	bad := cli.Usagef("--window: got %q, want FROM:TO with FROM below TO, as 1m:5m, :10m or 30s:", s)
	long := cli.Usagef("--window: got %q, want at most %v", s, time.Duration(fold.MaxSpanNS))
	if from, to, ok := strings.Cut(s, "/"); ok {
		return parseInstants(s, from, to)
	}
	from, to, ok := strings.Cut(s, ":")
	if !ok {
		return nil, bad
	}
	var w fold.Span
	if from != "" {
		d, err := time.ParseDuration(from)
		if err != nil || d < 0 {
			return nil, bad
		}
		if w.FromNS = int64(d); d > fold.MaxSpanNS {
			return nil, long
		}
	}
	if to != "" {
		d, err := time.ParseDuration(to)
		if err != nil || int64(d) <= w.FromNS {
			return nil, bad
		}
		if w.ToNS = formats.Some(int64(d)); d > fold.MaxSpanNS {
			return nil, long
		}
	}
	return &w, nil
}

// parseInstants reads two instants, RFC 3339.
func parseInstants(s, from, to string) (*fold.Span, error) {
	a, err := time.Parse(time.RFC3339Nano, from)
	b, err2 := time.Parse(time.RFC3339Nano, to)
	if err != nil || err2 != nil || !b.After(a) || a.Year() < 1970 || b.Year() > 2200 {
		return nil, cli.Usagef("--window: got %q, want two instants, the earlier first, as 2026-01-02T15:04:00Z/2026-01-02T15:09:00Z", s)
	}
	return &fold.Span{FromNS: a.UnixNano(), ToNS: formats.Some(b.UnixNano()), Wall: true}, nil
}

// parseLevels reads a list such as p50,p99.9 into thousandths.
func parseLevels(s string) ([]int64, error) {
	var levels []int64
	for p := range strings.SplitSeq(s, ",") {
		p = strings.TrimSpace(p)
		i := slices.IndexFunc(fold.Levels[:], func(level int64) bool { return cells.LevelName(level) == p })
		if i < 0 || slices.Contains(levels, fold.Levels[i]) {
			return nil, cli.Usagef("--percentiles: got %q, want some of p1 p5 p10 p25 p50 p75 p90 p95 p99 p99.9, each once", p)
		}
		levels = append(levels, fold.Levels[i])
	}
	slices.Sort(levels)
	return levels, nil
}

// objectives reads those of --slo and --slo-file; what is wrong in one is a usage error.
func objectives(ctx context.Context, o options, stdin io.Reader) ([]slo.Objective, error) {
	set, err := slo.Args(o.slos, o.files, func(file string) (io.ReadCloser, string, error) {
		in, err := pipe.OpenWith(ctx, file, stdin, pipe.Options{Timeout: o.timeout})
		return in, pipe.Place(file), err
	})
	if _, bad := err.(*slo.Error); bad {
		return nil, cli.Usagef("%w", err)
	}
	return set, err
}

func reduce(c *ucli.Context) (err error) {
	o, err := parse(c)
	if err != nil {
		return err
	}
	ctx := cli.Context(c)
	if o.fold.SLO, err = objectives(ctx, o, cli.Stdin(c)); err != nil {
		return err
	}
	var inputs []fold.Input
	for _, name := range o.inputs {
		if o.follow {
			break // it may not be there yet
		}
		in, err := pipe.OpenWith(ctx, name, cli.Stdin(c), pipe.Options{Timeout: o.timeout})
		if err != nil {
			return err
		}
		defer in.Close()
		inputs = append(inputs, fold.Input{Name: pipe.Place(name), R: in})
	}
	// Outputs are opened before the work, so that a name that cannot be written is
	// known before a long read.
	plots, err := openPlot(ctx, o.plot)
	if err != nil {
		return err
	}
	defer func() { err = plots.finish(err) }()
	out, err := pipe.Create(ctx, o.output, cli.Stdout(c), pipe.Options{Timeout: o.timeout, Binary: o.form.binary, Force: o.force})
	if err != nil {
		return err
	}
	defer func() { err = out.Finish(err) }()
	if o.form.gather != nil {
		if err := o.form.gather(out, &o); err != nil {
			return err
		}
		if o.export != nil {
			defer o.export.Close()
		}
	}
	cleared := func() {}
	if o.follow {
		in, done := tail(ctx, &o, cli.Stderr(c))
		defer in.Close()
		inputs, cleared = []fold.Input{{Name: in.Name, R: in}}, done
	}
	s, err := fold.Run(ctx, inputs, o.fold)
	cleared()
	var cut *formats.TruncatedError
	if errors.As(err, &cut) && cut.Help == "" {
		cut.Help = "nothing was written: a part of a run is not a result"
	}
	if err != nil {
		return err
	}
	if o.form.gather != nil && !o.gathered && s.Plan.Rows > 0 {
		return &formats.SyntaxError{Place: inputs[0].Name, What: "kind", Got: "a summary", Want: "a run: format " + o.form.name + " is made of its rows"}
	}
	if err := plots.write(s, page.Options{SLO: o.fold.SLO, Levels: o.view.Levels}); err != nil {
		return err
	}
	if o.bare {
		s.Columns, s.Rows = nil, nil
	}
	if o.form.write == nil {
		return nil
	}
	if !o.screen || o.form.levels {
		return o.form.write(out, s, &o)
	}
	var text bytes.Buffer
	if err := o.form.write(&text, s, &o); err != nil {
		return err
	}
	_, err = io.WriteString(out, cli.Plain(text.String()))
	return err
}
