package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/fit"
	"hydrant/cmd/tracegen/internal/synth"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// fit reads what the workload is to be like, a trace of any format or a schedule, and
// fits a description to it.
func (w *synthetic) fit(c *ucli.Context, o common, path string) error {
	var starts *fit.Starts
	if c.IsSet("rate") {
		rate, process, err := readStarts(c)
		if err != nil {
			return err
		}
		starts = &fit.Starts{Rate: rate, Process: process}
		w.args = append(w.args, "--rate", c.String("rate"))
	}
	if c.IsSet("arrivals") {
		if starts == nil {
			return cli.Usagef("--arrivals: has no effect beside --like without --rate")
		}
		w.args = append(w.args, "--arrivals", c.String("arrivals"))
	}
	in, err := open(c, o, path, true)
	if err != nil {
		return err
	}
	defer in.Close()
	sum, bytes := sha256.New(), counter(0)
	if in.R != nil {
		in.R = io.TeeReader(in.R, io.MultiWriter(sum, &bytes))
	}
	from, err := openWorkload(c, in, path)
	if err != nil {
		return err
	}
	defer from.close()
	w.trace = &fit.Profile{Block: from.block}
	if err := each(from.stopping(c), w.trace); err != nil {
		return fmt.Errorf("%s: %w", w.place, err)
	}
	if w.digests = from.sources; w.digests == nil {
		w.digests = []schedule.SourceDigest{{Name: w.name, SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: int64(bytes)}}
	}
	if w.spec, err = w.trace.Describe(starts); err != nil {
		err = fmt.Errorf("%s: %w", w.place, err)
		if errors.Is(err, fit.ErrNoRate) {
			err = cli.WithHint(err, "--rate R says how many sessions start per second")
		}
		return err
	}
	return nil
}

// each puts all requests into a profile and ends it.
func each(next func() (*schedule.Request, error), p *fit.Profile) error {
	for {
		r, err := next()
		if err == io.EOF {
			p.Done()
			return nil
		}
		if err == nil {
			err = p.Add(r)
		}
		if err != nil {
			return err
		}
	}
}

// tell draws the workload and says how alike it is.
func (w *synthetic) tell(c *ucli.Context) error {
	g, err := synth.New(w.spec, w.spec.Seed.Or(c.Int64("seed")))
	if err != nil {
		return fmt.Errorf("%s: %w", w.place, err)
	}
	made := fit.Profile{Block: w.spec.Block}
	if err := each(g.Next, &made); err != nil {
		return fmt.Errorf("%s: %w", w.place, err)
	}
	return w.compare(c, &made)
}

// compare prints the trace and what was drawn side by side, transforms left out.
func (w *synthetic) compare(c *ucli.Context, made *fit.Profile) error {
	made.Done()
	out := cli.Stderr(c)
	if _, err := fmt.Fprintf(out, "tracegen: %s and a workload like it\n", w.name); err != nil {
		return err
	}
	side := fit.Compare(w.trace, made)
	return side.Write(out)
}

// counter counts bytes.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}
