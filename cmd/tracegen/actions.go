package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/internal/pipe"
	"hydrant/traces"
)

// mooncake is `tracegen mooncake`.
func mooncake(c *ucli.Context) error {
	o, err := readMooncakeOptions(c)
	if err != nil {
		return err
	}
	in, err := open(c, o.options)
	if err != nil {
		return err
	}
	defer in.Close()
	trace, err := traces.Mooncake(in, pipe.Place(o.input), o.trace)
	if err != nil {
		return err
	}
	defer trace.Close()
	if trace.Undecided {
		return cli.Usagef("--context: got %q, but no session of this trace leaves it open", o.trace.Context)
	}
	for _, w := range trace.Warnings {
		cli.Warnf(cli.Stderr(c), "tracegen", "%s", w)
	}
	h := schedule.Header{
		Build: cli.Build(), Args: o.args(), Block: trace.Block, QuantumNS: trace.QuantumNS,
		Sources:    []schedule.Source{{Name: o.trace.Name, Format: "mooncake", Licence: o.licence, URL: o.url}},
		Transforms: o.plan.Transforms(),
	}
	p := plan.New(trace.Next, o.plan)
	p.Place = pipe.Place(o.input)
	return write(c, o.options, "mooncake "+o.trace.Name, p, h, func() schedule.Trailer {
		return schedule.Trailer{Counts: trace.Counts(), Sources: []schedule.SourceDigest{trace.Source}}
	})
}

// transform is `tracegen schedule`.
func transform(c *ucli.Context) error {
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	in, err := open(c, o)
	if err != nil {
		return err
	}
	defer in.Close()
	place := pipe.Place(o.input)
	read := schedule.NewReader
	if c.Bool("reseal") {
		read = schedule.NewEditedReader
	}
	r, err := read(in, place)
	if err != nil {
		return err
	}
	h := r.Header()
	h.Build = cli.Build()
	h.Args = append([]string{"schedule"}, o.plan.Args()...)
	h.Transforms = append(slices.Clip(h.Transforms), o.plan.Transforms()...)
	if c.Bool("reseal") {
		h.Edited = true
		h.Args = slices.Insert(h.Args, 1, "--reseal")
	}
	p := plan.New(plan.FromSchedule(r, place), o.plan)
	p.Place = place
	return write(c, o, "schedule "+sourceName(o.input), p, h, func() (end schedule.Trailer) {
		for _, t := range r.Trailers() {
			end.Counts = append(end.Counts, t.Counts...)
			end.Sources = append(end.Sources, t.Sources...)
		}
		end.Counts = append(end.Counts, schedule.Count{Name: "after_dropped", N: r.Dropped()})
		return end
	})
}

// open opens the input and looks through its compression.
func open(c *ucli.Context, o options) (io.ReadCloser, error) {
	f, err := pipe.OpenWith(cli.Context(c), o.input, cli.Stdin(c), pipe.Options{Timeout: o.timeout})
	if err != nil {
		return nil, err
	}
	z, _, err := codec.NewReader(f)
	if err != nil {
		f.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &formats.TruncatedError{Place: pipe.Place(o.input), Want: "the rest of the file", Err: err, Help: "the file was cut off; copy it again"}
		}
		return nil, fmt.Errorf("%s: %w", pipe.Place(o.input), err)
	}
	return both{z, f}, nil
}

// both closes a decompressor and what lies below it.
type both struct {
	io.ReadCloser
	below io.Closer
}

func (b both) Close() error { return errors.Join(b.ReadCloser.Close(), b.below.Close()) }

// write writes the pipeline's requests. The output is opened when the first request is
// there, so that a bad input makes no file and nothing goes down a pipe.
func write(c *ucli.Context, o options, what string, p *plan.Pipeline, h schedule.Header, end func() schedule.Trailer) (err error) {
	ctx := cli.Context(c)
	var out *pipe.Output
	var z *codec.ZstdWriter
	defer func() {
		if out != nil {
			err = out.Finish(err)
		}
	}()
	w, err := p.Write(ctx, func() (_ *schedule.Writer, err error) {
		if out, err = pipe.Create(ctx, o.output, cli.Stdout(c), pipe.Options{Binary: true, Force: o.force, Timeout: o.timeout}); err != nil {
			return nil, err
		}
		if z, err = codec.NewZstdWriter(out); err != nil {
			return nil, err
		}
		return schedule.NewWriter(z, h)
	})
	switch {
	case errors.Is(err, plan.ErrNothing) && o.plan.Window != nil:
		return fmt.Errorf("--window: got %q, in which no request starts", o.plan.Window)
	case errors.Is(err, plan.ErrNothing):
		return fmt.Errorf("%s: %w", pipe.Place(o.input), err)
	case err != nil && w != nil && errors.Is(err, context.Cause(ctx)):
		t := end()
		t.Status = schedule.Interrupted
		t.Counts = append(t.Counts, p.Counts()...)
		if _, e := w.Close(t); e == nil {
			z.Close() // the reader learns why; the error is the interruption
		}
		return err
	case err != nil:
		return err
	}
	t := end()
	t.Counts = append(t.Counts, p.Counts()...)
	t, err = w.Close(t)
	if err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := out.Finish(nil); err != nil {
		return err
	}
	if !o.quiet {
		_, err = io.WriteString(cli.Stderr(c), summary(what, o.output, t, p.Idle()))
	}
	return err
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
