// Package serve is the command `replay serve`, the simulated server of
// internal/sim as a process of its own, and Start, which forks that process.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
	"hydrant/internal/sim"
)

// DefaultListen is the address of `replay serve`.
const DefaultListen = "127.0.0.1:8000"

// Command returns the command `serve`.
func Command() *ucli.Command {
	return &ucli.Command{
		Name:      "serve",
		Usage:     "run the simulated inference server",
		UsageText: "replay serve [--sim SPEC | --null] [--listen ADDR]",
		Description: `Answers /v1/chat/completions and /v1/completions (text or token ids; streaming
and not), /v1/models, /version, /health and /metrics like an inference server
would, after a documented model of continuous batching: docs/sim.md. The model
is called sim. The first line on standard output is the server's URL; it is
printed when the server accepts connections.

SPEC is "default" or "null", then keys: default,slots=32,step=8ms,fail=503:0.05.
A SPEC with an unknown key is refused and every known key is named.

Exit status: 0 standard input ended under --until-eof · 2 the command line is wrong ·
3 the address cannot be listened on · 130 interrupted.

Examples:
  replay serve --sim default,slots=32,stagger
  replay serve --null --listen 127.0.0.1:9000 --hash-log bodies.txt`,
		Flags: append([]ucli.Flag{
			&ucli.StringFlag{Name: "sim", Category: "Server", Usage: "simulate the server that `SPEC` describes", Value: "default"},
			&ucli.BoolFlag{Name: "null", Category: "Server", Usage: "answer every request at once; short for --sim null"},
			&ucli.StringFlag{Name: "listen", Category: "Server", Usage: "accept connections on `HOST:PORT`; port 0 takes a free one", Value: DefaultListen},
			&ucli.BoolFlag{Name: "allow-remote", Category: "Server", Usage: "let --listen take an address that other hosts can reach"},
			&ucli.StringFlag{Name: "hash-log", Category: "Server", Usage: "write request id and SHA-256 of each request body, as received, to `FILE`"},
			&ucli.BoolFlag{Name: "until-eof", Category: "Server", Usage: "end when standard input ends, so that the server dies with the process that started it"},
		}, cli.Flags("quiet")...),
		Action: action,
	}
}

// options is the command line, checked.
type options struct {
	spec     sim.Spec
	listen   string
	hashLog  string
	untilEOF bool
	quiet    bool
}

func parse(c *ucli.Context) (o options, err error) {
	if c.NArg() > 0 {
		return o, cli.Usagef("serve: got input %q, want none", c.Args().First())
	}
	text := c.String("sim")
	if c.Bool("null") {
		if c.IsSet("sim") {
			return o, cli.Usagef("--null: cannot stand beside --sim; --sim null,KEY=VALUE takes keys")
		}
		text = "null"
	}
	if o.spec, err = sim.ParseSpec(text); err != nil {
		return o, fmt.Errorf("--sim: %w", err)
	}
	o.listen, o.hashLog = c.String("listen"), c.String("hash-log")
	o.untilEOF, o.quiet = c.Bool("until-eof"), c.Bool("quiet")
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return o, cli.Usagef("--listen: got %q, want HOST:PORT", o.listen)
	}
	if !loopback(host) && !c.Bool("allow-remote") {
		return o, cli.WithHint(cli.Usagef("--listen: got %q, want a loopback address such as %s", o.listen, DefaultListen),
			"--allow-remote lets other hosts in; the server has no authentication")
	}
	return o, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func action(c *ucli.Context) error {
	o, err := parse(c)
	if err != nil {
		return err
	}
	return run(cli.Context(c), o, cli.Stdin(c), cli.Stdout(c), cli.Stderr(c))
}

// run serves until ctx is cancelled, which gives cli.ErrInterrupted, or standard
// input ends under --until-eof, which gives nil.
func run(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	// The pacing thread keeps a processor busy or asleep in the kernel; connections
	// need another to be read on.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	s := sim.New(o.spec)
	defer s.Close()
	if o.hashLog != "" {
		f, err := os.Create(o.hashLog)
		if err != nil {
			return fmt.Errorf("--hash-log: %w", err)
		}
		defer f.Close()
		s.LogHashes(f)
	}
	l, err := (&net.ListenConfig{KeepAlive: -1}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return cli.WithHint(fmt.Errorf("--listen: %w", err), "--listen 127.0.0.1:0 takes a free port")
	}
	served := make(chan error, 1) // one server
	go func() { served <- cli.Guard(func() error { return s.Serve(l) }) }()
	if _, err := fmt.Fprintf(stdout, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(stderr, "replay: serving %s on http://%s\n", &o.spec, l.Addr())
	}
	var eof chan error // nil never comes
	if o.untilEOF {
		eof = make(chan error, 1) // one reader; it outlives run when a signal comes first
		go func() {
			_, err := io.Copy(io.Discard, stdin)
			eof <- err
		}()
	}
	select {
	case err = <-served:
		if err == nil {
			err = errors.New("serve: the listener was closed")
		}
		return err
	case err = <-eof:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.Close()
	if e := <-served; err == nil {
		err = e
	}
	if e := s.HashError(); e != nil {
		return fmt.Errorf("--hash-log: %w", e)
	}
	return err
}
