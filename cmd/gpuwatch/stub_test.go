package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithoutCgo builds the tool as it is on a host without a C compiler: it
// starts, and says what it lacks.
func TestWithoutCgo(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "gpuwatch")
	build := exec.Command("go", "build", "-o", tool, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var stderr strings.Builder
	cmd := exec.Command(tool)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || len(out) != 0 || !strings.HasPrefix(stderr.String(), "gpuwatch: error: nvml: this gpuwatch was built without cgo") {
		t.Errorf("gpuwatch without cgo: %v, %d bytes, %s; want status 3 and its reason", err, len(out), &stderr)
	}
	cmd = exec.Command(tool, "--optional", "--quiet")
	if out, err = cmd.Output(); err != nil || len(out) == 0 {
		t.Errorf("gpuwatch --optional without cgo: %v, %d bytes; want a stream", err, len(out))
	}
}
