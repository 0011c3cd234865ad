package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

func checkCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "check",
		Usage:     "make a schedule again from its source, and compare",
		UsageText: `tracegen check [flags] SCHEDULE [SOURCE…]`,
		Description: `A schedule's header holds the arguments it was made with, its trailer the hash of
its source. This makes the schedule again with this build and compares the request
lines, what the header says of them, the trailer's counts and the source's hash.
The source is looked for beside the schedule under its recorded name, where it is
not given; those of a merge are given in their order. Prints the hashes from source to schedule; the last of them is what
replay writes into a run (schedule_sha256). A schedule that its source does not
give is an error with the first difference, status 3.

  tracegen check day.sched.zst
  tracegen check part.sched.zst archive/day.sched.zst

` + cli.ExitText,
		Flags:  cli.Flags("quiet"),
		Action: check,
	}
}

// check is `tracegen check`.
func check(c *ucli.Context) error {
	if c.NArg() < 1 {
		return cli.Usagef("got no input, want a schedule and, where it does not lie beside it, its source")
	}
	given, err := readSealed(c, c.Args().First())
	if err != nil {
		return err
	}
	sources, err := given.sources(c.Args().Tail())
	if err != nil {
		return err
	}
	args := append(slices.Clone(given.header.Args), "--quiet", "--force")
	if len(sources) > 0 {
		args = append(append(args, "--"), sources...)
	}
	r, w := io.Pipe()
	status, stderr := make(chan int, 1), &bytes.Buffer{}
	go func() {
		code := cli.Run(app(), args, strings.NewReader(""), w, stderr)
		w.Close()
		status <- code
	}()
	ctx := cli.Context(c)
	defer context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })()
	d, err := given.compare(c, r)
	if err == nil || errors.Is(err, errDifferent) {
		_, e := io.Copy(io.Discard, r) // to its end
		err = errors.Join(err, e)
	}
	r.CloseWithError(errStopped)
	code := cli.StatusInterrupted
	select {
	case code = <-status:
	case <-ctx.Done(): // the source may be a pipe that says nothing
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if code != cli.StatusDone && !errors.Is(err, errDifferent) {
		return fmt.Errorf("making it again with %q: %w", strings.Join(given.header.Args, " "), said(stderr.String()))
	}
	if err != nil && !errors.Is(err, errDifferent) {
		return err
	}
	if err := d.fault(given, strings.Join(sources, ", ")); err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	return given.report(cli.Stdout(c), d)
}

// errStopped ends the making of a schedule that nobody compares any more.
var errStopped = errors.New("no more of it is wanted")

// said is the error that another run of the tool printed.
func said(stderr string) error {
	text, hint := stderr, ""
	for line := range strings.Lines(stderr) {
		if rest, ok := strings.CutPrefix(line, "tracegen: error: "); ok {
			text = rest
		} else if rest, ok := strings.CutPrefix(line, "hint: "); ok {
			hint = strings.TrimSpace(rest)
		}
	}
	return cli.WithHint(errors.New(strings.TrimSpace(text)), hint)
}

// sealed is a whole schedule in a file.
type sealed struct {
	path, place string
	header      schedule.Header
	end         schedule.Trailer
}

// readSealed reads a schedule to its end.
func readSealed(c *ucli.Context, path string) (*sealed, error) {
	s := &sealed{path: path, place: pipe.Place(path)}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		if err != nil && path != "-" && !strings.HasPrefix(path, "zmq+") {
			return nil, err
		}
		return nil, cli.Usagef("got %q, want a file: the schedule is read twice", path)
	}
	in, err := unpack(c, common{}, path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, err := schedule.NewReader(in, s.place)
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		return nil, err
	}
	s.header, s.end = r.Header(), r.Trailers()[0]
	switch {
	case r.Part() > 1:
		return nil, fmt.Errorf("%s: got %d schedules in a row, want one; check each by itself", s.place, r.Part())
	case s.header.Edited:
		return nil, fmt.Errorf("%s: the header says that it was edited by hand: no source gives it", s.place)
	case len(s.header.Args) == 0:
		return nil, fmt.Errorf("%s: the header does not say which arguments it was made with", s.place)
	case s.header.Args[0] == "check" || s.header.Args[0] == "analyze":
		return nil, fmt.Errorf("%s: args: got %q, want those of a command that makes schedules", s.place, s.header.Args)
	}
	return s, nil
}

// sources returns the paths of what the schedule was made from: those given, or the
// recorded names beside the schedule; none when it was made from its arguments alone.
func (s *sealed) sources(given []string) ([]string, error) {
	all := s.header.Sources
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the header names no source", s.place)
	}
	last := all[len(all)-1]
	if last.Format == "synth" && last.Name == "synth" {
		if len(given) > 0 {
			return nil, cli.Usagef("got the source %q, but %s was made from its arguments alone", given[0], s.place)
		}
		return nil, nil
	}
	if s.header.Args[0] == "schedule" {
		// Before an input stand the sources that it has itself, so the names of all inputs
		// of a merge cannot be told from the list.
		switch {
		case last.Format != "schedule" && len(given) == 0:
			return nil, cli.WithHint(fmt.Errorf("%s: it was copied from a schedule that it does not name", s.place), "tracegen check SCHEDULE SOURCE names it")
		case last.Format != "schedule":
			return given, nil
		case len(given) < 2:
			all = all[len(all)-1:]
		default:
			return given, sameName(given[len(given)-1], last.Name)
		}
	}
	if len(given) == 0 {
		for _, from := range all {
			path := filepath.Join(filepath.Dir(s.path), from.Name)
			if _, err := os.Stat(path); err != nil {
				return nil, cli.WithHint(fmt.Errorf("%s: source %q is not beside it", s.place, from.Name), "tracegen check SCHEDULE SOURCE names it")
			}
			given = append(given, path)
		}
		return given, nil
	}
	if len(given) != len(all) {
		return nil, cli.Usagef("got %s, want %d as the header says", counted(int64(len(given)), "source"), len(all))
	}
	for i, path := range given {
		if err := sameName(path, all[i].Name); err != nil {
			return nil, err
		}
	}
	return given, nil
}

func sameName(path, name string) error {
	if filepath.Base(path) == name {
		return nil
	}
	return cli.WithHint(cli.Usagef("source: got %q, want a file of the name %q, as the header says", path, name),
		"names become scopes of block ids: give the file that name again, or a link to it")
}
