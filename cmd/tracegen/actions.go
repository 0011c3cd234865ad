package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/internal/pipe"
	"hydrant/traces"
)

// convert is `tracegen FORMAT`.
func convert(c *ucli.Context, f traces.Format) error {
	o, err := severalOptions(c)
	if err != nil {
		return err
	}
	// A schedule may take the place of the one it was made from; a trace is kept.
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.inputs...); err != nil {
		return err
	}
	read, args, err := readOptions(c, f)
	if err != nil {
		return err
	}
	if f.Draws {
		read.Seed = c.Int64("seed")
	} else if err := checkSeed(c, o); err != nil {
		return err
	}
	for _, name := range []string{"licence", "url"} {
		if err := checkText(name, c.String(name)); err != nil {
			return err
		}
	}
	if c.Bool("describe") {
		if err := onlyDescribe(c, o); err != nil {
			return err
		}
	}
	all, err := readTraces(c, o, f, read)
	if err != nil {
		return err
	}
	defer all.Close()
	h, err := all.header(f, c.String("licence"), c.String("url"))
	if err != nil {
		return err
	}
	earlier := h.Transforms
	h.Build, h.Args = cli.Build(), append(args, o.plan.Args()...)
	h.Transforms = append(slices.Clip(earlier), o.plan.Transforms()...)
	sow(o, &h, f.Draws)
	p, err := all.pipeline(read.Scope != "", earlier, o)
	if err != nil {
		return err
	}
	defer p.Close()
	p.Place, p.Block = o.place(), h.Block
	if c.Bool("describe") {
		return describe(cli.Stdout(c), f, p, h, all[0].trace)
	}
	return write(c, o, f.Name+" "+o.what(), p, h, all.trailer)
}

// transform is `tracegen schedule`.
func transform(c *ucli.Context) error {
	o, err := severalOptions(c)
	if err != nil {
		return err
	}
	if err := checkSeed(c, o); err != nil {
		return err
	}
	if err := pipe.CheckNames(cli.Stdin(c), "", o.inputs...); err != nil { // the output may be an input
		return err
	}
	all, err := readSchedules(c, o)
	if err != nil {
		return err
	}
	defer all.Close()
	h, err := all.header(c.Bool("reseal") || len(o.plan.Args()) > 0)
	if err != nil {
		return err
	}
	earlier := h.Transforms
	h.Build, h.Args = cli.Build(), append([]string{"schedule"}, o.plan.Args()...)
	h.Transforms = append(slices.Clip(earlier), o.plan.Transforms()...)
	if c.Bool("reseal") {
		h.Edited = true
		h.Args = slices.Insert(h.Args, 1, "--reseal")
	}
	sow(o, &h, false)
	p, err := all.pipeline(earlier, o)
	if err != nil {
		return fmt.Errorf("%s: %w", o.place(), err)
	}
	defer p.Close()
	p.Place, p.Block = o.place(), h.Block
	return write(c, o, "schedule "+o.what(), p, h, all.trailer)
}

// input is a trace or a schedule that is open.
type input struct {
	traces.Input
	file io.Closer
}

// open opens the input and looks through its compression. A folder is opened by
// whoever reads it.
func open(c *ucli.Context, o common, name string, folder bool) (*input, error) {
	beside := func(path string) (io.ReadCloser, error) { // a file that the reader found
		if err := pipe.CheckNames(nil, o.output, path); err != nil {
			return nil, err
		}
		return unpack(c, o, path)
	}
	in := &input{Input: traces.Input{Place: pipe.Place(name), Open: beside}}
	if st, err := os.Stat(name); err == nil && (st.Mode().IsRegular() || st.IsDir()) {
		in.Path = name
		if folder && st.IsDir() {
			return in, nil
		}
	}
	r, err := unpack(c, o, name)
	if err != nil {
		return nil, err
	}
	in.R, in.file = r, r
	return in, nil
}

func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// unpack opens a path, standard input or an endpoint, and looks through its compression.
func unpack(c *ucli.Context, o common, path string) (io.ReadCloser, error) {
	f, err := pipe.OpenWith(cli.Context(c), path, cli.Stdin(c), pipe.Options{Timeout: o.timeout})
	if err != nil {
		return nil, err
	}
	z, _, err := codec.NewReader(f)
	if err != nil {
		f.Close()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &formats.TruncatedError{Place: pipe.Place(path), Want: "the rest of the file", Err: err, Help: "the file was cut off; copy it again"}
		}
		return nil, fmt.Errorf("%s: %w", pipe.Place(path), err)
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
func write(c *ucli.Context, o common, what string, p *plan.Pipeline, h schedule.Header, end func() schedule.Trailer) (err error) {
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
	case errors.Is(err, plan.ErrNothing) && o.plan.Window != nil && len(o.plan.Transforms()) == 1:
		return fmt.Errorf("--window: got %q, in which no request starts", o.plan.Window)
	case errors.Is(err, plan.ErrNothing) && len(o.plan.Transforms()) > 0:
		return fmt.Errorf("%s: %w after %s", p.Place, err, strings.Join(o.plan.Args(), " "))
	case errors.Is(err, plan.ErrNothing):
		return fmt.Errorf("%s: %w", p.Place, err)
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
