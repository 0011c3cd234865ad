package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/analyze"
	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
	"hydrant/traces"
)

const categoryFigures = "What is computed"

// Defaults of the lists, as they would be written.
const (
	defaultBlockSizes  = "1,16,64,128,512,1024"
	defaultCacheTokens = "1M,10M,100M,1G"
)

// maxList is how many sizes a list may have: each costs time on every request.
const maxList = 64

func analyzeCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "analyze",
		Usage:     "say what a trace or a schedule is like: lengths, arrivals, reuse, sessions",
		UsageText: `tracegen analyze [flags] [TRACE or SCHEDULE]`,
		Description: `Prints counts, sums and percentiles of lengths, how bursty the arrivals are, what
prefix caches of several kinds and sizes would find, and what sessions and waits
look like. docs/formats/analysis.md defines each figure. A trace is read with the
defaults of its format; what needs flags, or a part of it, comes through a pipe.

  tracegen analyze trace.jsonl.zst
  tracegen mooncake trace.jsonl --window 10m:20m | tracegen analyze --format json

` + cli.ExitText,
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "block-sizes", Category: categoryFigures, Usage: "hit ratios of servers with blocks of `N,N,…` tokens", DefaultText: defaultBlockSizes},
			&ucli.StringFlag{Name: "cache-tokens", Category: categoryFigures, Usage: "hit ratios of LRU caches of `N,N,…` tokens, as 500k,1M,2.5G", DefaultText: defaultCacheTokens},
			&ucli.DurationFlag{Name: "rate-window", Category: categoryFigures, Usage: "count requests in windows of `DURATION` for the rate over time", DefaultText: "1m"},
			&ucli.StringFlag{Name: "format", Category: cli.CategoryOutput, Value: "auto", Usage: "write `FORMAT`: auto (a table on a terminal, else json), table or json"},
			&ucli.StringFlag{Name: "plot", Category: cli.CategoryOutput, Usage: "draw rate, lengths and hit ratios as well, into `FILE`.html or .svg", DefaultText: "no drawing"},
		}, cli.Flags("output", "timeout")...),
		Action: analyzeInput,
	}
}

// analyzeOptions is what the command takes.
type analyzeOptions struct {
	common
	table   bool
	plot    string
	figures analyze.Options
}

func readAnalyzeOptions(c *ucli.Context) (o analyzeOptions, err error) {
	if o.common, err = commonOptions(c); err != nil {
		if c.NArg() > 1 {
			err = cli.WithHint(err, "tracegen merges several: tracegen FORMAT A B | tracegen analyze")
		}
		return o, err
	}
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.input); err != nil {
		return o, err
	}
	switch format := c.String("format"); format {
	case "auto":
		o.table = (o.output == "" || o.output == "-") && cli.IsTerminal(cli.Stdout(c))
	case "table", "json":
		o.table = format == "table"
	default:
		return o, cli.Usagef("--format: got %q, want auto, table or json", format)
	}
	if c.IsSet("plot") {
		if o.plot = c.String("plot"); !strings.HasSuffix(o.plot, ".html") && !strings.HasSuffix(o.plot, ".svg") || strings.HasPrefix(o.plot, "zmq+") {
			return o, cli.Usagef("--plot: got %q, want a file whose name ends in .html or .svg", o.plot)
		}
		if err := pipe.CheckNames(cli.Stdin(c), o.plot, o.input); err != nil {
			return o, cli.Usagef("--plot: got %q, which is the input", o.plot)
		}
		if filepath.Clean(o.plot) == filepath.Clean(o.output) {
			return o, cli.Usagef("--plot and --output: got %q for both, want two names", o.plot)
		}
		o.figures.Curve = true
	}
	if o.figures.ServerBlocks, err = sizes(c, "block-sizes", defaultBlockSizes, traces.MaxBlockSize); err != nil {
		return o, err
	}
	if o.figures.CacheTokens, err = sizes(c, "cache-tokens", defaultCacheTokens, 1<<62); err != nil {
		return o, err
	}
	if c.IsSet("rate-window") {
		d := c.Duration("rate-window")
		if d < time.Millisecond {
			return o, cli.Usagef("--rate-window: got %q, want at least 1ms", d)
		}
		o.figures.RateWindowNS = int64(d)
	}
	return o, nil
}

// sizes reads a list of token counts, in ascending order and each once.
func sizes(c *ucli.Context, name, byDefault string, most int64) (all []int64, err error) {
	text := byDefault
	if c.IsSet(name) {
		text = c.String(name)
	}
	for part := range strings.SplitSeq(text, ",") {
		n, ok := analyze.ParseTokens(part)
		if !ok || n > most {
			return nil, cli.Usagef("--%s: got %q, want whole numbers of tokens between 1 and %d, as 512 or 10M", name, part, most)
		}
		if slices.Contains(all, n) {
			return nil, cli.Usagef("--%s: got %q twice, want each size once", name, part)
		}
		all = append(all, n)
	}
	if len(all) > maxList {
		return nil, cli.Usagef("--%s: got %d sizes, want at most %d", name, len(all), maxList)
	}
	slices.Sort(all)
	return all, nil
}

// analyzeInput is `tracegen analyze`.
func analyzeInput(c *ucli.Context) (err error) {
	o, err := readAnalyzeOptions(c)
	if err != nil {
		return err
	}
	in, err := open(c, o.common, o.input, true)
	if err != nil {
		return err
	}
	defer in.Close()
	w, err := openWorkload(c, in, o.input)
	if err != nil {
		return err
	}
	defer w.close()
	if w.block == nil {
		for _, name := range []string{"block-sizes", "cache-tokens"} {
			if c.IsSet(name) {
				return cli.Usagef("--%s: has no effect: this input (%s) has no block ids", name, w.format)
			}
		}
	}
	o.figures.Place = in.Place
	report, err := analyze.Analyze(w.stopping(c), w.block, o.figures)
	if err != nil {
		return err
	}
	report.Build, report.Input = cli.Build(), analyze.Source{Name: w.name, Format: w.format}
	return o.write(c, report)
}

// write writes the drawing and the figures: both, or neither.
func (o analyzeOptions) write(c *ucli.Context, report *analyze.Report) error {
	out, err := pipe.Create(cli.Context(c), o.output, cli.Stdout(c), pipe.Options{Timeout: o.timeout})
	if err != nil {
		return err
	}
	if o.plot == "" {
		return out.Finish(o.figuresTo(out, report))
	}
	drawing, err := pipe.Create(cli.Context(c), o.plot, nil, pipe.Options{})
	if err != nil {
		return out.Finish(err)
	}
	draw := report.HTML
	if strings.HasSuffix(o.plot, ".svg") {
		draw = report.SVG
	}
	if err = draw(drawing); err == nil {
		err = o.figuresTo(out, report)
	}
	return drawing.Finish(out.Finish(err))
}

func (o analyzeOptions) figuresTo(out io.Writer, report *analyze.Report) error {
	if o.table {
		return analyze.Table(out, &report.Figures)
	}
	return analyze.Document.Write(out, &report.Figures)
}

// workload is what is analyzed: a trace of any format, or a schedule.
type workload struct {
	name   string
	format string // that of the trace, or schedule
	block  *schedule.Block
	// sources are the bytes of a trace as read.
	sources []schedule.SourceDigest
	next    func() (*schedule.Request, error)
	close   func() error
}

// openWorkload finds out what an input is.
func openWorkload(c *ucli.Context, in *input, path string) (*workload, error) {
	var head []byte
	var names []string
	if in.R == nil {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	} else {
		var err error
		if head, err = readHead(in.R); err != nil {
			return nil, fmt.Errorf("%s: %w", in.Place, err)
		}
		in.R = io.MultiReader(bytes.NewReader(head), in.R)
	}
	kind, err := sniff(in.Place, head, names)
	if err != nil {
		return nil, err
	}
	w := &workload{name: sourceName(path), format: kind, close: func() error { return nil }}
	if kind == "schedule" {
		r, err := schedule.NewReader(in.R, in.Place)
		if err != nil {
			return nil, err
		}
		w.block, w.next = r.Header().Block, plan.FromSchedule(r, in.Place)
		return w, nil
	}
	i := slices.IndexFunc(traces.Formats, func(f traces.Format) bool { return f.Name == kind })
	if in.Name, err = traceName(path, "analysis"); err != nil {
		return nil, err
	}
	trace, err := traces.Formats[i].Read(in.Input, traces.Options{Seed: defaultSeed})
	if err != nil {
		return nil, err
	}
	for _, text := range trace.Warnings {
		cli.Warnf(cli.Stderr(c), "tracegen", "%s", text)
	}
	w.block, w.sources, w.next, w.close = trace.Block, trace.Sources, trace.Next, trace.Close
	return w, nil
}

// stopping ends the requests when the tool is interrupted.
func (w *workload) stopping(c *ucli.Context) func() (*schedule.Request, error) {
	ctx := cli.Context(c)
	return func() (*schedule.Request, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return w.next()
	}
}
