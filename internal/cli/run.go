// Package cli is the one place where the tools meet the command line: it tames
// github.com/urfave/cli/v2, owns the exit statuses, the error lines, the signals
// and the flags that every tool has.
//
// A tool's main is one call of Run; its actions return errors made by Usagef,
// WithHint, Status or the libraries below, and never print or exit themselves.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	ucli "github.com/urfave/cli/v2"
)

// Run runs app on args (without the program's name) and returns the exit status.
// It owns app, which must be new, and changes nothing that outlives the call.
// Nothing but the format or asked-for help goes to stdout; errors go to stderr
// as "<tool>: error: …", followed by "hint: …" where there is a next step.
//
// Signals are taken only when stderr is the process's own, so that a test that
// passes buffers leaves the process alone.
func Run(app *ucli.App, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx := context.Background()
	if stderr == io.Writer(os.Stderr) {
		var stop func()
		ctx, stop = Signals(ctx)
		defer stop()
	}
	if stdout == io.Writer(os.Stdout) {
		defer catchPipe()()
	}
	app.Reader, app.Writer, app.ErrWriter = stdin, stdout, stderr
	err := Guard(func() error { return start(ctx, app, args) })
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), ErrInterrupted) && !isStatus(err) {
		err = ErrInterrupted // whoever met the cancelled context said so in other words
	}
	return report(app.Name, err, stderr)
}

// start understands the command line and runs the action.
func start(ctx context.Context, app *ucli.App, args []string) error {
	p, err := arrange(app, args)
	switch {
	case err != nil:
		return err
	case p.help:
		_, err := io.WriteString(app.Writer, Help(app, p.command))
		return err
	case p.version:
		_, err := fmt.Fprintf(app.Writer, "%s (hydrant) %s\n", app.Name, Version)
		return err
	}
	tame(app)
	if p.command == nil {
		app.Commands = nil // or the first input could be taken for one
	}
	return app.RunContext(ctx, p.args)
}

// tame switches off what the library would do by itself: print help on stdout
// for a mistake, add a command "help", split values at commas, exit the process.
func tame(app *ucli.App) {
	app.HideHelp, app.HideHelpCommand, app.HideVersion = true, true, true
	app.DisableSliceFlagSeparator = true
	app.ExitErrHandler = func(*ucli.Context, error) {}
	app.OnUsageError = func(_ *ucli.Context, err error, _ bool) error { return valueError(app.Flags, app.Name, err) }
	for _, c := range app.Commands {
		c.HideHelp, c.HideHelpCommand = true, true
		c.OnUsageError = func(_ *ucli.Context, err error, _ bool) error {
			return valueError(c.Flags, app.Name+" "+c.Name, err)
		}
	}
}

// report prints err for the user and returns the exit status it stands for.
func report(tool string, err error, stderr io.Writer) int {
	var s status
	var p *PanicError
	switch {
	case err == nil:
		return StatusDone
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &p):
		say(tool, err, stderr)
		stderr.Write(p.Stack)
		return StatusError
	case errors.Is(err, ErrInterrupted):
		fmt.Fprintf(stderr, "%s: %s\n", tool, oneLine(err.Error()))
		return StatusInterrupted
	case isClosed(err):
		// Whoever read the output has left and knows it. The output is not whole
		// all the same, and for judge 0 would be a verdict.
		return StatusError
	case isUsage(err):
		say(tool, err, stderr)
		return StatusUsage
	}
	say(tool, err, stderr)
	return StatusError
}

func say(tool string, err error, stderr io.Writer) {
	fmt.Fprintf(stderr, "%s: error: %s\n", tool, oneLine(err.Error()))
	if h := hint(err); h != "" {
		fmt.Fprintf(stderr, "hint: %s\n", oneLine(h))
	}
}

// isClosed reports whether err is a write to an output that nobody reads any
// more. A broken pipe elsewhere, to a server or a worker, is an error like others.
func isClosed(err error) bool {
	var q interface{ Quiet() bool }
	if errors.As(err, &q) && q.Quiet() {
		return true
	}
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p.Err, syscall.EPIPE)
}

func isStatus(err error) bool {
	var s status
	return errors.As(err, &s)
}
