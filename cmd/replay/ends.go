package main

import (
	"context"
	"io"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

// checkEnds refuses ends that would destroy or drop something without a word.
func (o *options) checkEnds(c *ucli.Context) error {
	if err := pipe.CheckTimeout(o.timeout, c.IsSet("timeout"), o.input, o.output); err != nil {
		return err
	}
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.input); err != nil {
		return err
	}
	if spool := drive.SpoolName(o.output); pipe.CheckNames(cli.Stdin(c), spool, o.input) != nil {
		return cli.Usagef("--output: got %q, whose client rows wait in %s, which is the input", o.output, spool)
	}
	return nil
}

// openInput opens the schedule. A signal ends the wait for a writer and the load, but not
// the reading: what was not sent still gets its rows.
func (o *options) openInput(ctx context.Context, stdin io.Reader) (io.ReadCloser, error) {
	return pipe.OpenWith(context.WithoutCancel(ctx), o.input, stdin, pipe.Options{Timeout: o.timeout, Opening: ctx})
}

// output is the run's output: opened late, and its bytes counted.
type output struct {
	ctx    context.Context // ends the wait for a reader; what is written is not stopped by it
	o      *options
	stdout io.Writer
	out    *pipe.Output
	n      int64
}

func (w *output) open() (io.Writer, error) {
	out, err := pipe.Create(w.ctx, w.o.output, w.stdout, pipe.Options{Binary: true, Force: w.o.force, InPlace: true, Timeout: w.o.timeout})
	if err != nil {
		return nil, err
	}
	w.out = out
	return w, nil
}

func (w *output) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.n += int64(n)
	return n, err
}

func (w *output) spool() (*drive.Spool, error) { return drive.OpenSpool(w.out.File()) }

func (w *output) finish(err error) error {
	if w.out == nil {
		return err
	}
	return w.out.Finish(err)
}
