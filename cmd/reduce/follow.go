package main

import (
	"context"
	"io"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/reduce/internal/follow"
	runs "hydrant/formats/run"
	"hydrant/internal/cli"
)

// defaultInterval is how often --follow shows the figures.
const defaultInterval = time.Second

// checkFollow reads what belongs to --follow.
func checkFollow(c *ucli.Context, o *options) error {
	if o.follow = c.Bool("follow"); !o.follow {
		if c.IsSet("interval") {
			return cli.WithHint(cli.Usagef("--interval: got it without --follow"), "it says how often --follow shows the figures")
		}
		return nil
	}
	if name := o.inputs[0]; len(o.inputs) > 1 || name == "" || name == "-" || strings.HasPrefix(name, "zmq+") {
		return cli.WithHint(cli.Usagef("--follow: got %q, want one file that replay -o writes", strings.Join(o.inputs, " ")), "a stream needs no --follow: pipe it in")
	}
	if o.interval = c.Duration("interval"); o.interval <= 0 {
		return cli.Usagef("--interval: got %q, want more than 0", o.interval)
	}
	return nil
}

// tail returns the input of --follow, which shows on stderr what it reads; done
// clears the screen.
func tail(ctx context.Context, o *options, stderr io.Writer) (in *follow.Tail, done func()) {
	s := &follow.Screen{W: stderr, Terminal: cli.IsTerminal(stderr), Every: o.interval}
	in = &follow.Tail{Context: ctx, Name: o.inputs[0], Silence: o.timeout, Idle: s.Tick}
	before := o.fold.Row
	o.fold.Row = func(h *runs.Header, q *runs.Request) error {
		in.Began()
		if err := s.Row(q, o.inputs[0]); err != nil || before == nil {
			return err
		}
		return before(h, q)
	}
	o.fold.Ended = in.Ended
	return in, s.Done
}
