package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	// A schedule may take the place of the one it was made from; a trace is kept.
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.input); err != nil {
		return err
	}
	read, args, err := readOptions(c, f)
	if err != nil {
		return err
	}
	if err := checkSeed(c, o); err != nil {
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
	name, err := traceName(o.input, read.Scope)
	if err != nil {
		return err
	}
	in, err := open(c, o, f.Folder)
	if err != nil {
		return err
	}
	defer in.Close()
	in.Name = name
	trace, err := f.Read(in.Input, read)
	if err != nil {
		return err
	}
	defer trace.Close()
	if trace.Undecided {
		return cli.Usagef("--context: got %q, but no session of this trace leaves it open", read.Context)
	}
	if trace.Idle != "" {
		return cli.Usagef("--%s: has no effect on this trace", trace.Idle)
	}
	for _, w := range trace.Warnings {
		cli.Warnf(cli.Stderr(c), "tracegen", "%s", w)
	}
	h := schedule.Header{
		Build: cli.Build(), Args: append(args, o.plan.Args()...), Block: trace.Block, QuantumNS: trace.QuantumNS,
		Sources:    []schedule.Source{{Name: name, Format: f.Name, Licence: c.String("licence"), URL: c.String("url")}},
		Transforms: append(slices.Clip(trace.Transforms), o.plan.Transforms()...),
	}
	sow(o, &h)
	p, err := plan.New(trace.Next, trace.Transforms, o.plan)
	if err != nil {
		return err
	}
	defer p.Close()
	p.Place, p.Block = in.Place, trace.Block
	if c.Bool("describe") {
		return describe(cli.Stdout(c), f, p, h, trace)
	}
	return write(c, o, f.Name+" "+name, p, h, func() schedule.Trailer {
		return schedule.Trailer{Counts: trace.Counts(), Sources: trace.Sources}
	})
}

// transform is `tracegen schedule`.
func transform(c *ucli.Context) error {
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	if err := checkSeed(c, o); err != nil {
		return err
	}
	in, err := open(c, o, false)
	if err != nil {
		return err
	}
	defer in.Close()
	place := pipe.Place(o.input)
	read := schedule.NewReader
	if c.Bool("reseal") {
		read = schedule.NewEditedReader
	}
	sum := &counted256{Hash: sha256.New()}
	r, err := read(io.TeeReader(in.R, sum), place)
	if err != nil {
		return err
	}
	h := r.Header()
	h.Build = cli.Build()
	changed := len(o.plan.Args()) > 0 || c.Bool("reseal")
	if changed { // a copy has the sources of what it was copied from
		h.Sources = append(slices.Clip(h.Sources), schedule.Source{Name: sourceName(o.input), Format: "schedule"})
	}
	h.Args = append([]string{"schedule"}, o.plan.Args()...)
	h.Transforms = append(slices.Clip(h.Transforms), o.plan.Transforms()...)
	if c.Bool("reseal") {
		h.Edited = true
		h.Args = slices.Insert(h.Args, 1, "--reseal")
	}
	sow(o, &h)
	next := plan.FromSchedule(r, place)
	if o.plan.Caps() {
		next = plan.SameSpeed(r, place, next)
	}
	p, err := plan.New(next, r.Header().Transforms, o.plan)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	defer p.Close()
	p.Place, p.Block = place, h.Block
	return write(c, o, "schedule "+sourceName(o.input), p, h, func() (end schedule.Trailer) {
		for _, t := range r.Trailers() {
			end.Counts = append(end.Counts, t.Counts...)
			end.Sources = append(end.Sources, t.Sources...)
		}
		if changed {
			end.Sources = append(end.Sources, schedule.SourceDigest{Name: sourceName(o.input), SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: sum.bytes})
		}
		end.Counts = append(end.Counts, schedule.Count{Name: "after_dropped", N: r.Dropped()})
		return end
	})
}

// counted256 hashes and counts what is written to it.
type counted256 struct {
	hash.Hash
	bytes int64
}

func (c *counted256) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.Hash.Write(p)
}

// input is a trace or a schedule that is open.
type input struct {
	traces.Input
	file io.Closer
}

// open opens the input and looks through its compression. A folder is opened by
// whoever reads it.
func open(c *ucli.Context, o common, folder bool) (*input, error) {
	unpack := func(path string) (io.ReadCloser, error) { return unpack(c, o, path) }
	in := &input{Input: traces.Input{Place: pipe.Place(o.input), Open: unpack}}
	if st, err := os.Stat(o.input); err == nil && (st.Mode().IsRegular() || st.IsDir()) {
		in.Path = o.input
		if folder && st.IsDir() {
			return in, nil
		}
	}
	r, err := unpack(o.input)
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
		return fmt.Errorf("%s: %w after %s", pipe.Place(o.input), err, strings.Join(o.plan.Args(), " "))
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
