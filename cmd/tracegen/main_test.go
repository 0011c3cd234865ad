package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hydrant/internal/cli"
	"hydrant/internal/fixture"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tracegen": main, "forge": forge})
}

// TestScripts runs what the tool does, one behaviour a file. $ARCHIVE is the folder of
// the archived traces. HYDRANT_GOLDEN=write rewrites expected output.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("HYDRANT_GOLDEN") == "write",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ARCHIVE", filepath.Join(fixture.Root(), "traces", "archive"))
			e.Setenv("GOLDEN", filepath.Join(fixture.Root(), "formats", "schedule", "testdata"))
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
	})
}

func TestCommandLine(t *testing.T) {
	if faults := cli.Audit(app()); len(faults) > 0 {
		t.Errorf("faults of the command line:\n%s", strings.Join(faults, "\n"))
	}
	sub := func(i int) []string {
		var names []string
		for _, f := range app().Commands[i].Flags {
			names = append(names, f.Names()...)
		}
		return names
	}
	for _, name := range []string{"window", "speed", "zero", "output", "o", "force", "quiet", "timeout"} {
		if !slices.Contains(sub(0), name) || !slices.Contains(sub(1), name) {
			t.Errorf("--%s is not a flag of both commands", name)
		}
	}
}

// made runs the tool in this process and returns what it wrote to standard output.
func made(t testing.TB, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("tracegen %s = %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.Bytes()
}
