package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
	"hydrant/internal/slo"
)

func ctx() context.Context { return context.Background() }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"judge":     main,
		"mkrun":     func() { os.Exit(mkrun(os.Args[1:], os.Stderr)) },
		"mkgpu":     func() { exit(mkgpu(os.Args[1])) },
		"mksummary": func() { exit(summarise(os.Args[1], true, os.Args[2:]...)) },
	})
}

// exit ends a command of the scripts.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("HYDRANT_GOLDEN") == "write",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"cut":    cut,
		},
	})
}

// status runs a tool and compares its exit status: status 4 judge run.arrows. Its
// output is that of the command for stdout, stderr and cmp.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: status %s; want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// cut copies all but the last bytes of a file, or the first: cut N from to.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut N from to")
	}
	n := 0
	for _, c := range args[0] {
		n = 10*n + int(c-'0')
	}
	b := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b)[:len(b)-n], 0o644))
}

func TestCommandLineIsDeclaredWell(t *testing.T) {
	for _, fault := range cli.Audit(app()) {
		t.Error(fault)
	}
	shared := &ucli.App{Name: "the other tools", Flags: cli.Flags("slo", "slo-file", "output", "timeout")}
	for _, fault := range cli.Same(app(), shared) {
		t.Error(fault)
	}
}

func TestHelpNamesEveryExitStatus(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, strings.NewReader(""), &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("--help: status %d, stderr %q", code, stderr.String())
	}
	for _, want := range []string{"0 VALID", "1 VALID", "2 the", "3 could", "4 INVALID", "5 INCONCLUSIVE", "130 interrupted", "--accept-unproven", "--slo-file"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
	for line := range strings.Lines(stdout.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 82 {
			t.Errorf("help line of %d columns: %s", n, line)
		}
	}
}

func TestHelpShowsObjectivesThatParse(t *testing.T) {
	_, forms, _ := strings.Cut(description, "An objective is one of\n")
	forms, _, _ = strings.Cut(forms, "< and <=")
	n := 0
	for line := range strings.Lines(forms) {
		if form := strings.Fields(line); strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			n++
			if _, err := slo.Parse("help", form[0]); err != nil {
				t.Error(err)
			}
		}
	}
	if n < 8 {
		t.Errorf("help shows %d forms of objectives; want all", n)
	}
}
