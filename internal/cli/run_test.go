package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"
)

// seen is what an action was given.
type seen struct {
	Command string
	Inputs  []string
	Output  string
	URLs    []string
	Workers int
	Quiet   bool
	Timeout time.Duration
}

func record(dst *seen) ucli.ActionFunc {
	return func(c *ucli.Context) error {
		*dst = seen{c.Command.Name, c.Args().Slice(), c.String("output"), c.StringSlice("url"), c.Int("workers"), c.Bool("quiet"), c.Duration("timeout")}
		return nil
	}
}

func flags() []ucli.Flag {
	return append(Flags("output", "quiet", "seed", "timeout"),
		&ucli.StringSliceFlag{Name: "url", Usage: "target `URL`", Category: "Target"},
		&ucli.IntFlag{Name: "workers", Usage: "`N` processes", Value: 2},
		&ucli.Float64Flag{Name: "speed", Usage: "`FACTOR`"},
		&ucli.StringFlag{Name: "secret", Usage: "`X`", Hidden: true},
	)
}

// filter is a tool with a root action only, like reduce.
func filter(a ucli.ActionFunc) *ucli.App {
	return &ucli.App{Name: "reduce", Usage: "run in, summary out", UsageText: "reduce [flags] [RUN ...]",
		Description: "Reads runs, writes a summary.", Flags: flags(), Action: a}
}

// multi is a tool with subcommands only, like tracegen.
func multi(a ucli.ActionFunc) *ucli.App {
	return &ucli.App{Name: "tracegen", Usage: "trace in, schedule out", UsageText: "tracegen COMMAND [flags] [TRACE]",
		Description: "Converts.", Commands: []*ucli.Command{
			{Name: "mooncake", Usage: "Mooncake traces", UsageText: "tracegen mooncake [TRACE]", Description: "Text.", Flags: flags(), Action: a},
			{Name: "schedule", Usage: "schedules", UsageText: "tracegen schedule [FILE]", Description: "Text.", Flags: flags(), Action: a},
		}}
}

// both has a root action and a subcommand, like replay.
func both(root, sub ucli.ActionFunc) *ucli.App {
	app := filter(root)
	app.Name = "replay"
	app.Commands = []*ucli.Command{{Name: "serve", Usage: "server", UsageText: "replay serve", Description: "Text.", Flags: flags(), Action: sub}}
	return app
}

type result struct {
	Code     int
	Out, Err string
}

func run(app *ucli.App, args ...string) result {
	var out, errw bytes.Buffer
	code := Run(app, args, strings.NewReader(""), &out, &errw)
	return result{code, out.String(), errw.String()}
}

func failing(err error) ucli.ActionFunc { return func(*ucli.Context) error { return err } }

func TestArguments(t *testing.T) {
	def := seen{Command: "reduce", Inputs: []string{}, Workers: 2, Timeout: time.Minute}
	with := func(f func(*seen)) seen { s := def; f(&s); return s }
	tests := []struct {
		name string
		args []string
		want seen
	}{
		{"nothing", nil, def},
		{"flags first", []string{"-o", "x", "a", "b"}, with(func(s *seen) { s.Output, s.Inputs = "x", []string{"a", "b"} })},
		{"flags last", []string{"a", "b", "-o", "x"}, with(func(s *seen) { s.Output, s.Inputs = "x", []string{"a", "b"} })},
		{"flags between", []string{"a", "--output=x", "b", "--quiet"}, with(func(s *seen) { s.Output, s.Inputs, s.Quiet = "x", []string{"a", "b"}, true })},
		{"a value that looks like a flag", []string{"a", "-o", "-b"}, with(func(s *seen) { s.Output, s.Inputs = "-b", []string{"a"} })},
		{"a negative value", []string{"--workers", "-3"}, with(func(s *seen) { s.Workers = -3 })},
		{"one dash and a long name", []string{"-workers", "7"}, with(func(s *seen) { s.Workers = 7 })},
		{"-- ends flags", []string{"--quiet", "--", "-o", "--", "x"}, with(func(s *seen) { s.Quiet, s.Inputs = true, []string{"-o", "--", "x"} })},
		{"a file named help", []string{"help"}, with(func(s *seen) { s.Inputs = []string{"help"} })},
		{"a file named h", []string{"h", "--quiet"}, with(func(s *seen) { s.Quiet, s.Inputs = true, []string{"h"} })},
		{"standard input", []string{"-", "--quiet"}, with(func(s *seen) { s.Quiet, s.Inputs = true, []string{"-"} })},
		{"commas stay", []string{"--url", "http://a/?x=1,2", "--url", "b,c"}, with(func(s *seen) { s.URLs = []string{"http://a/?x=1,2", "b,c"} })},
		{"an input named like a flag", []string{"-o", "x", "output", "workers"}, with(func(s *seen) { s.Output, s.Inputs = "x", []string{"output", "workers"} })},
		{"false", []string{"--quiet=false", "a"}, with(func(s *seen) { s.Inputs = []string{"a"} })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got seen
			if r := run(filter(record(&got)), tt.args...); r != (result{}) {
				t.Fatalf("Run(%q) = %+v; want silence and 0", tt.args, r)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Run(%q) action saw (-want +got):\n%s", tt.args, d)
			}
		})
		t.Run("subcommand/"+tt.name, func(t *testing.T) {
			var got seen
			args := append([]string{"mooncake"}, tt.args...)
			if r := run(multi(record(&got)), args...); r != (result{}) {
				t.Fatalf("Run(%q) = %+v; want silence and 0", args, r)
			}
			want := tt.want
			want.Command = "mooncake"
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("Run(%q) action saw (-want +got):\n%s", args, d)
			}
		})
	}
}

func TestRootActionBesideSubcommand(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		root   bool
		inputs []string
	}{
		{[]string{"a.sched.zst", "--quiet"}, true, []string{"a.sched.zst"}},
		{[]string{"serve", "a"}, false, []string{"a"}},
		{[]string{"--", "serve"}, true, []string{"serve"}},
		{[]string{"--quiet", "a", "serve"}, true, []string{"a", "serve"}},
		{nil, true, []string{}},
	} {
		var root, sub seen
		if r := run(both(record(&root), record(&sub)), tt.args...); r != (result{}) {
			t.Fatalf("Run(%q) = %+v; want silence and 0", tt.args, r)
		}
		got := sub
		if tt.root {
			got = root
		}
		if d := cmp.Diff(tt.inputs, got.Inputs); d != "" {
			t.Errorf("Run(%q) inputs (-want +got):\n%s", tt.args, d)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	none := failing(errors.New("the action ran"))
	for _, tt := range []struct {
		name string
		app  *ucli.App
		args []string
		want string
	}{
		{"unknown flag", filter(none), []string{"--bogus", "a"}, "reduce: error: unknown flag \"--bogus\"\nhint: reduce --help lists the flags\n"},
		{"unknown flag after an input", filter(none), []string{"a", "-x"}, "reduce: error: unknown flag \"-x\"\nhint: reduce --help lists the flags\n"},
		{"misspelt flag", filter(none), []string{"--ouput", "a"}, "reduce: error: unknown flag \"--ouput\"\nhint: did you mean --output? reduce --help lists the flags\n"},
		{"hidden flags are not suggested", filter(none), []string{"--secrt=a"}, "reduce: error: unknown flag \"--secrt=a\"\nhint: reduce --help lists the flags\n"},
		{"unknown flag of a command", multi(none), []string{"mooncake", "--bogus"}, "tracegen: error: unknown flag \"--bogus\"\nhint: tracegen mooncake --help lists the flags\n"},
		{"flag before its command", multi(none), []string{"--speed", "2", "mooncake"}, "tracegen: error: unknown flag \"--speed\"\nhint: --speed belongs after the subcommand: tracegen mooncake --speed\n"},
		{"-v is not the version", filter(none), []string{"-v"}, "reduce: error: unknown flag \"-v\"\nhint: reduce --help lists the flags\n"},
		{"no value", filter(none), []string{"a", "-o"}, "reduce: error: -o: got no value, want a value\nhint: reduce --help lists the flags\n"},
		{"bad int", filter(none), []string{"--workers", "x"}, "reduce: error: --workers: got \"x\", want a whole number\nhint: reduce --help lists the flags\n"},
		{"bad int of a command", multi(none), []string{"mooncake", "a", "--workers=1.5"}, "tracegen: error: --workers: got \"1.5\", want a whole number\nhint: tracegen mooncake --help lists the flags\n"},
		{"bad float", filter(none), []string{"--speed", "fast"}, "reduce: error: --speed: got \"fast\", want a number\nhint: reduce --help lists the flags\n"},
		{"bad duration", filter(none), []string{"--timeout", "5"}, "reduce: error: --timeout: got \"5\", want a duration such as 500ms, 30s or 2m\nhint: reduce --help lists the flags\n"},
		{"bad bool", filter(none), []string{"--quiet=maybe"}, "reduce: error: --quiet: got \"maybe\", want true or false\nhint: reduce --help lists the flags\n"},
		{"a flag twice", filter(none), []string{"--workers", "2", "a", "--workers=3"}, "reduce: error: --workers: got it twice, want it once\n"},
		{"a switch twice", filter(none), []string{"--quiet", "--quiet=false"}, "reduce: error: --quiet: got it twice, want it once\n"},
		{"a flag by both names", multi(none), []string{"mooncake", "-o", "a", "--output", "b"}, "tracegen: error: -o and --output: got both, want one: they are the same flag\n"},
		{"an empty name of a file", filter(none), []string{"--output", ""}, "reduce: error: --output: got \"\", want FILE\n"},
		{"an empty name behind =", filter(none), []string{"-o="}, "reduce: error: -o: got \"\", want FILE\n"},
		{"an empty value of several", filter(none), []string{"--url", "a", "--url", ""}, "reduce: error: --url: got \"\", want URL\n"},
		{"an empty input", filter(none), []string{"a", ""}, "reduce: error: input: got \"\", want a name\nhint: an empty name is often a variable that is not set; - is standard input\n"},
		{"an empty input after --", multi(none), []string{"mooncake", "--", ""}, "tracegen: error: input: got \"\", want a name\nhint: an empty name is often a variable that is not set; - is standard input\n"},
		{"misspelt command", multi(none), []string{"moonkake", "a"}, "tracegen: error: subcommand: got \"moonkake\", want one of mooncake, schedule\nhint: did you mean tracegen mooncake?\n"},
		{"not a command", multi(none), []string{"help"}, "tracegen: error: subcommand: got \"help\", want one of mooncake, schedule\nhint: tracegen --help says what each does\n"},
		{"no command", multi(none), nil, "tracegen: error: no subcommand: want one of mooncake, schedule\nhint: tracegen --help says what each does\n"},
		{"from the action", filter(failing(WithHint(Usagef("--workers: got %q, want at least 1", "0"), "leave it out"))), nil,
			"reduce: error: --workers: got \"0\", want at least 1\nhint: leave it out\n"},
		{"wrapped", filter(failing(fmt.Errorf("x: %w", Usagef("y")))), nil, "reduce: error: x: y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(result{2, "", tt.want}, run(tt.app, tt.args...)); d != "" {
				t.Errorf("Run(%q) (-want +got):\n%s", tt.args, d)
			}
		})
	}
}

type hintedError struct{ error }

func (hintedError) Hint() string { return "from the library" }

type emptyHint struct{ error }

func (emptyHint) Hint() string    { return "" }
func (e emptyHint) Unwrap() error { return e.error }

type exiter struct{ error }

func (exiter) ExitCode() int { return 7 }

func TestStatus(t *testing.T) {
	stdoutGone := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
	for _, tt := range []struct {
		name string
		err  error
		want result
	}{
		{"done", nil, result{}},
		{"error", errors.New("run.arrows: gone"), result{3, "", "reduce: error: run.arrows: gone\n"}},
		{"hint of a library", fmt.Errorf("a: %w", hintedError{errors.New("b")}), result{3, "", "reduce: error: a: b\nhint: from the library\n"}},
		{"empty hint, then another", emptyHint{hintedError{errors.New("b")}}, result{3, "", "reduce: error: b\nhint: from the library\n"}},
		{"outer hint wins", WithHint(hintedError{errors.New("b")}, "outer"), result{3, "", "reduce: error: b\nhint: outer\n"}},
		{"several lines and control characters", errors.New("a\nb\x1b[31m\tc"), result{3, "", "reduce: error: a;b?[31m c\n"}},
		{"verdict FAIL", Status(StatusFail), result{1, "", ""}},
		{"verdict INVALID, wrapped", fmt.Errorf("x: %w", Status(StatusInvalid)), result{4, "", ""}},
		{"Status(0)", Status(0), result{}},
		{"interrupted", ErrInterrupted, result{130, "", "reduce: interrupted\n"}},
		{"interrupted while reading", fmt.Errorf("run.arrows: %w", ErrInterrupted), result{130, "", "reduce: run.arrows: interrupted\n"}},
		{"cancelled, but by no signal", context.Canceled, result{3, "", "reduce: error: context canceled\n"}},
		{"closed stdout", fmt.Errorf("x: %w", stdoutGone), result{3, "", ""}},
		{"broken pipe elsewhere", fmt.Errorf("server: %w", syscall.EPIPE), result{3, "", "reduce: error: server: broken pipe\n"}},
		{"the library's exit codes mean nothing", exiter{errors.New("z")}, result{3, "", "reduce: error: z\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, run(filter(failing(tt.err)))); d != "" {
				t.Errorf("action error %v (-want +got):\n%s", tt.err, d)
			}
		})
	}
}

func TestDeferredWorkRunsBeforeTheStatus(t *testing.T) {
	done := false
	r := run(multi(func(*ucli.Context) error {
		defer func() { done = true }()
		return ucli.Exit("x", 9)
	}), "mooncake")
	if r.Code != 3 || !done {
		t.Errorf("code %d, deferred work done %v; want 3, true", r.Code, done)
	}
}

func TestPanic(t *testing.T) {
	for name, v := range map[string]any{"value": "index 7 of 3", "error": errors.New("index 7 of 3")} {
		t.Run(name, func(t *testing.T) {
			r := run(filter(func(*ucli.Context) error { panic(v) }))
			first, rest, _ := strings.Cut(r.Err, "\n")
			if r.Code != 3 || r.Out != "" || first != "reduce: error: internal error: index 7 of 3" {
				t.Errorf("code %d, stdout %q, first line %q", r.Code, r.Out, first)
			}
			if !strings.Contains(rest, "hint: ") || !strings.Contains(rest, "run_test.go") {
				t.Errorf("no hint or no stack in %q", rest)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	for _, app := range []*ucli.App{filter(nil), multi(nil)} {
		if r := run(app, "--version"); r.Code != 0 || r.Err != "" || r.Out != app.Name+" (hydrant) "+Version+"\n" {
			t.Errorf("%s --version = %+v", app.Name, r)
		}
	}
}

func TestClosedStdoutForHelp(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(&fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.EPIPE})
	var errw bytes.Buffer
	if code := Run(filter(nil), []string{"--help"}, nil, w, &errw); code != 3 || errw.Len() != 0 {
		t.Errorf("code %d, stderr %q; want 3 and silence", code, errw.String())
	}
}

func TestStreams(t *testing.T) {
	var out, errw bytes.Buffer
	code := Run(filter(func(c *ucli.Context) error {
		io.Copy(Stdout(c), Stdin(c))
		Warnf(Stderr(c), c.App.Name, "lag %d ms", 18)
		if Context(c).Err() != nil || IsTerminal(Stdout(c)) {
			t.Error("the context has ended, or a buffer is a terminal")
		}
		return nil
	}), nil, strings.NewReader("in"), &out, &errw)
	if code != 0 || out.String() != "in" || errw.String() != "reduce: warning: lag 18 ms\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, out.String(), errw.String())
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		in     string
		except []string
		want   string
	}{
		{"µs · ∞ – ok\n", nil, "µs · ∞ – ok\n"},
		{"a\x1b[2Jb\x07\x00\x7f\u0085\t\r", nil, "a?[2Jb??????"},
		{"\u202e\u2066x\u200f", nil, "??x?"},
		{"\x1b[1mbold\x1b[0m \x1b[2J", []string{"\x1b[1m", "\x1b[0m"}, "\x1b[1mbold\x1b[0m ?[2J"},
		{"\xff", nil, "\ufffd"},
	} {
		if got := Plain(c.in, c.except...); got != c.want {
			t.Errorf("Plain(%q) = %q; want %q", c.in, got, c.want)
		}
	}
}
