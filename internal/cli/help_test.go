package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"
)

const wantHelp = `reduce: run in, summary out

usage:
  reduce [flags] [RUN ...]

Reads runs, writes a summary.

Options:
      --workers N             N processes (default: 2)
      --speed FACTOR          FACTOR (default: 0)

Output and messages:
  -o, --output FILE           write to FILE: a path, - for standard output,
                              zmq+tcp://HOST:PORT or zmq+ipc:///PATH (default:
                              standard output)
      --quiet                 say nothing on standard error but errors and
                              warnings

Target:
      --url URL               target URL

General:
      --seed N                N from which every random choice follows (default:
                              1)
      --timeout DURATION      count a ZMQ end as cut after DURATION of silence
                              (as 500ms, 30s, 2m) (default: 1m)
  -h, --help                  print this page
      --version               print the version
`

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"a", "--help"}, {"-o", "x", "-h", "--bogus"}} {
		if d := cmp.Diff(result{0, wantHelp, ""}, run(filter(nil), args...)); d != "" {
			t.Errorf("Run(%q) (-want +got):\n%s", args, d)
		}
	}
}

func TestHelpOfCommands(t *testing.T) {
	r := run(multi(nil), "--help")
	if r.Code != 0 || r.Err != "" || !strings.Contains(r.Out, "subcommands:\n  mooncake  Mooncake traces\n  schedule  schedules\n") {
		t.Errorf("tracegen --help = %+v", r)
	}
	r = run(multi(nil), "mooncake", "x", "--help")
	if r.Code != 0 || r.Err != "" || !strings.HasPrefix(r.Out, "tracegen mooncake: Mooncake traces\n") || strings.Contains(r.Out, "--version") {
		t.Errorf("tracegen mooncake --help = %+v", r)
	}
	for line := range strings.Lines(r.Out) {
		if len(line) > helpWidth+1 {
			t.Errorf("%d columns, want at most %d: %q", len(line)-1, helpWidth, line)
		}
	}
}

func TestValueOfHelpFlagIsAValue(t *testing.T) {
	var got seen
	if r := run(filter(record(&got)), "-o", "--help"); r != (result{}) || got.Output != "--help" {
		t.Errorf("Run(-o --help) = %+v with output %q", r, got.Output)
	}
}

func TestAudit(t *testing.T) {
	for _, app := range []*ucli.App{filter(nil), multi(nil), both(nil, nil)} {
		if got := Audit(app); got != nil {
			t.Errorf("Audit(%s) = %q; want none", app.Name, got)
		}
	}
	bad := filter(nil)
	bad.UsageText = ""
	bad.Flags = append(bad.Flags,
		&ucli.StringFlag{Name: "quiet", Usage: "`X`"},
		&ucli.BoolFlag{Name: "mute"},
		&ucli.StringFlag{Name: "must", Usage: "without a placeholder", Required: true})
	want := []string{
		"reduce: Usage, UsageText and Description must say something",
		"reduce: --quiet is there twice",
		"reduce: --mute has no usage text",
		"reduce: --must is Required; check it in the action",
		"reduce: --must names its value nowhere; put one word in backquotes",
	}
	if d := cmp.Diff(want, Audit(bad)); d != "" {
		t.Errorf("Audit (-want +got):\n%s", d)
	}
}

func TestSame(t *testing.T) {
	if got := Same(filter(nil), multi(nil)); got != nil {
		t.Errorf("Same = %q; want none", got)
	}
	other := multi(nil)
	other.Commands[0].Flags = []ucli.Flag{&ucli.IntFlag{Name: "seed", Usage: "`N`"}}
	if got := Same(filter(nil), other); len(got) != 1 || !strings.HasPrefix(got[0], "--seed: reduce has ") {
		t.Errorf("Same = %q; want one line on --seed", got)
	}
}

func TestShortDuration(t *testing.T) {
	for in, want := range map[string]string{"1m": "1m", "2h": "2h", "90s": "1m30s", "500ms": "500ms", "0": "0s", "1h5m": "1h5m", "10s": "10s"} {
		f := &ucli.DurationFlag{}
		if in != "0" {
			f.Value = mustDuration(t, in)
		}
		if got := defaultText(f); got != want {
			t.Errorf("defaultText(%s) = %q; want %q", in, got, want)
		}
	}
}
