package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hydrant/internal/fixture"
)

// A run that a real replay writes is followed from before its first byte; the figures
// at its end are those of a reduce of the finished file, byte for byte.
func TestFollowReplay(t *testing.T) {
	bin, dir := fixture.Build(t), t.TempDir()
	plan, name := filepath.Join(dir, "plan.sched.zst"), filepath.Join(dir, "run.arrows")
	trace := filepath.Join(fixture.Root(), "traces", "archive", "mooncake_conversation_first_10min.jsonl.zst")
	if out, err := exec.Command(filepath.Join(bin, "tracegen"), "mooncake", trace, "--speed", "60", "-o", plan).CombinedOutput(); err != nil {
		t.Fatalf("tracegen: %v\n%s", err, out)
	}
	var summary, lines bytes.Buffer
	follow := exec.Command(filepath.Join(bin, "reduce"), "--follow", name, "--interval", "500ms", "--timeout", "30s")
	follow.Stdout, follow.Stderr = &summary, &lines
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "replay"), plan, "--null", "--workers", "1", "--calibrate", "off", "--quiet", "-o", name).CombinedOutput()
	if err != nil {
		follow.Process.Kill()
		follow.Wait()
		t.Fatalf("replay: %v\n%s", err, out)
	}
	if err := follow.Wait(); err != nil {
		t.Fatalf("reduce --follow: %v\n%s", err, lines.String())
	}
	plain, err := exec.Command(filepath.Join(bin, "reduce"), name).Output()
	if err != nil || !bytes.Equal(plain, summary.Bytes()) {
		t.Errorf("the figures of --follow differ from those of a plain reduce, %v", err)
	}
	if n := strings.Count(lines.String(), " ended  "); n < 4 {
		t.Errorf("%d lines while the run of 10 s went on:\n%s; want one each 500 ms", n, lines.String())
	}
}

// A writer that died leaves status 3, a signal 130, and neither leaves an output.
func TestFollowStops(t *testing.T) {
	bin, dir := fixture.Build(t), t.TempDir()
	name, output := filepath.Join(dir, "run.arrows"), filepath.Join(dir, "out.json")
	if err := mkrun([]string{name}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	status := func(signal bool, args ...string) (int, string) {
		cmd := exec.Command(filepath.Join(bin, "reduce"), append(args, "-o", output)...)
		said, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if signal { // once it has said something it listens
			text.ReadFrom(&firstLine{r: said})
			cmd.Process.Signal(syscall.SIGINT)
		}
		text.ReadFrom(said)
		err = cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%v left an output", args)
		}
		return cmd.ProcessState.ExitCode(), text.String()
	}
	if code, text := status(false, "--follow", name, "--timeout", "300ms"); code != 3 || !strings.Contains(text, "truncated") || !strings.Contains(text, "has not grown for 300ms") {
		t.Errorf("a dead writer: status %d, %s; want 3, truncated", code, text)
	}
	if code, text := status(false, "--follow", filepath.Join(dir, "never"), "--timeout", "200ms"); code != 3 || !strings.Contains(text, "does not exist") {
		t.Errorf("no file: status %d, %s; want 3", code, text)
	}
	if code, text := status(true, "--follow", name, "--interval", "50ms"); code != 130 || strings.Contains(text, "error") || !strings.HasSuffix(text, "interrupted\n") {
		t.Errorf("a signal: status %d, %s; want 130", code, text)
	}
}

// firstLine ends after a line.
type firstLine struct {
	r    io.Reader
	done bool
}

func (f *firstLine) Read(p []byte) (int, error) {
	if f.done {
		return 0, io.EOF
	}
	n, err := f.r.Read(p[:1])
	f.done = n == 1 && p[0] == '\n'
	return n, err
}
