package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/fixture"
)

// The `$` lines of the package comment run as they stand, with the tools on the PATH.
func TestTheManualRuns(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	bin := fixture.Build(t)
	url, _ := server(t, "--null")
	dir := t.TempDir()
	var plan bytes.Buffer
	if err := write(&plan, sharedPlan()[:10]); err != nil {
		t.Fatal(err)
	}
	trace := `{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [0, 1]}` + "\n" +
		`{"timestamp": 300, "input_length": 700, "output_length": 2, "hash_ids": [0, 2]}` + "\n"
	for name, content := range map[string]string{"day.sched.zst": plan.String(), "trace.jsonl.zst": trace} { // formats are told by content
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for line := range strings.Lines(string(source)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "//\t$ ")
		if !ok {
			continue
		}
		n++
		if !strings.Contains(app().Description, command) {
			t.Errorf("--help lacks the manual's example %q", command)
		}
		cmd := exec.Command("bash", "-o", "pipefail", "-c", strings.ReplaceAll(command, "http://localhost:8000", url))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "API_KEY=none", asQuick+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if n != 3 {
		t.Errorf("the manual has %d examples; want 3", n)
	}
}

// Every flag has a text and is read; every flag that the page names exists.
func TestFlagsAndTheirPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "replay.md"))
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, name := range []string{"options.go", "engine.go", "timing.go", "slow.go", "calibrate.go", "replay.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, b...)
	}
	var names []string
	for _, f := range flags() {
		name := f.Names()[0]
		names = append(names, name)
		if d, ok := f.(ucli.DocGenerationFlag); !ok || len(d.GetUsage()) < 10 {
			t.Errorf("--%s has no text", name)
		}
		if !bytes.Contains(source, []byte(`"`+name+`"`)) {
			t.Errorf("--%s is never read", name)
		}
	}
	for _, m := range regexp.MustCompile("`--([a-z0-9-]+)").FindAllSubmatch(page, -1) {
		if !slices.Contains(names, string(m[1])) {
			t.Errorf("docs/replay.md names --%s, which is no flag", m[1])
		}
	}
}
