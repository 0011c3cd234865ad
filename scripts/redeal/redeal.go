// Package redeal copies a run with its rows dealt out anew: left out, written twice, or
// spread over several runs. Tests make runs with it that no generator should write.
package redeal

import (
	"errors"
	"fmt"
	"io"

	"hydrant/formats/run"
)

// Run reads the one part of a run and writes each request times times to one of the
// outputs, as deal says. A client row goes to the output of its worker's number, modulo their
// count. A single output keeps the end of the run, so that it can lack a row of its plan; of
// several each has the requests dealt to it planned.
func Run(in io.Reader, out []io.Writer, deal func(row *run.Request) (to, times int)) error {
	r, err := run.NewReader(in, "run")
	if err != nil {
		return err
	}
	part, err := r.NextPart()
	if err != nil {
		return err
	}
	copies := make([]output, len(out))
	for i, w := range out {
		if copies[i], err = newOutput(w, part.Header()); err != nil {
			return err
		}
	}
	if err := each(part.NextRequest, func(row *run.Request) error {
		to, times := deal(row)
		return copies[to].add(row, times)
	}); err != nil {
		return err
	}
	for i := range copies {
		if err := copies[i].flush(); err != nil {
			return err
		}
	}
	if err := each(part.NextClient, func(row *run.Client) error {
		return copies[int(row.Worker)%len(copies)].w.Client([]run.Client{*row})
	}); err != nil {
		return err
	}
	end, err := part.End()
	if err != nil {
		return err
	}
	for i, c := range copies {
		e := *end
		if len(copies) > 1 {
			e = run.End{Status: end.Status, Planned: c.n, Detail: end.Detail}
			if c.n == 0 {
				return fmt.Errorf("output %d has no request", i)
			}
		}
		if err := c.w.Close(e); err != nil {
			return err
		}
	}
	return nil
}

// each calls do with every row of a table.
func each[T any](next func() (*T, error), do func(*T) error) error {
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(row)
		}
		if err != nil {
			return err
		}
	}
}

// output is a run in the making.
type output struct {
	w   *run.Writer
	enc *run.Encoder
	n   int64 // requests
}

func newOutput(w io.Writer, h run.Header) (output, error) {
	rw, err := run.NewWriter(w, h, nil)
	return output{w: rw, enc: run.NewEncoder()}, err
}

func (o *output) add(row *run.Request, times int) error {
	for range times {
		o.n++
		if o.enc.Append(row); o.enc.Full() {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *output) flush() error {
	if o.enc.Len() == 0 {
		return nil
	}
	b, _, err := o.enc.Batch()
	if err != nil {
		return err
	}
	return o.w.Requests(b)
}
