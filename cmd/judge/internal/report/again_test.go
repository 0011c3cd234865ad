package report

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/verdict"
	"hydrant/internal/fixture"
)

// A shell gets from the printed lines, broken as they are, the words that were meant.
func TestCommandsAreForAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	fixture.Need(t, err == nil, "no bash")
	long := strings.Repeat("it's long ", 30)
	for _, words := range [][]string{
		{"judge", "run.arrows"},
		{"judge", "a b", "it's", "$HOME", "`x`", `back\slash`, "é"},
		{"replay", "http://" + strings.Repeat("x", 300), long, strings.Repeat("'", 100), strings.Repeat(`'\`, 60), "end"},
	} {
		quoted := []string{"printf '%s\\n'"}
		for _, w := range words {
			quoted = append(quoted, quote(w))
		}
		var p page
		p.command(quoted)
		for line := range strings.Lines(p.b.String()) {
			if size(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("line of %d columns: %s", size(line), line)
			}
		}
		out, err := exec.Command(bash, "-c", p.b.String()).Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, words) {
			t.Errorf("%v: the shell read %q from\n%s", err, got, p.b.String())
		}
	}
}

func TestFlagsOfTheRunComeBack(t *testing.T) {
	v := healthy()
	v.Run.Flags = []string{"calibrate=off", "chunks=full", "concurrency=4", "engine=epoll", "gomaxprocs=4", "headers=A", "http2=on", "loop=on", "nice=0", "sim=default,slots=3",
		"stream=off", "timing=asap", "warmup=5s"}
	want := "replay SCHEDULE --calibrate off --concurrency 4 --header-file FILE --http2 --loop --sim default,slots=3 --stream off --timing asap --warmup 5s -o run.arrows"
	if got := strings.Join(commands(v)[0], " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v.Run.Flags = []string{"workers=2"}
	if got, want := strings.Join(commands(v)[0], " "), "replay SCHEDULE --url http://127.0.0.1:8000 --workers 2 -o run.arrows"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v.Run.Flags = nil
	v.Options = verdict.Options{Short: true, AcceptUnproven: true, Directional: true, Evidence: "T2", Changed: []verdict.Change{
		{Limit: "B1.share", Unit: "share", Value: 0.99}, {Limit: "C1.headroom", Unit: "ratio", Value: 1.5}}}
	v.Inputs = append(v.Inputs, verdict.Input{Name: "gpu.arrows", Kind: "gpu"})
	want = "judge run.arrows --plan day.sched.zst --gpu gpu.arrows --slo 'ttft:p99<=5s' --slo 'out_tps>=1000' --limit B1.share=99% --limit C1.headroom=1.5 --short --accept-unproven --directional --evidence t2"
	if got := strings.Join(commands(v)[0], " "); len(commands(v)) != 1 || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
