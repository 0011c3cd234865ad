// Package matrix holds one row per cause that a verdict can have: real processes, the
// simulated server on loopback, the limits as they are by default. It wants the machine
// for itself and takes minutes: make matrix runs it.
package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// Two schedules of 25 requests/s for 33 s, 64 tokens in and 20 out.
const (
	plan  = "plan"
	other = "other"
)

// loads are the replays. Rows whose fault is made in the file share "healthy".
var loads = map[string]struct{ plan, args string }{
	"healthy":      {plan, "--sim default"},
	"slow":         {plan, "--sim default,step=60ms"},
	"failing":      {plan, "--sim default,fail=503:0.05"},
	"uncalibrated": {other, "--sim default --calibrate off"},
}

// rows is the matrix: one cause and one expected verdict each.
var rows = []struct {
	name  string
	load  string                              // whose run is judged
	fault func(t *testing.T, b []byte) []byte // made in the file; nil: none
	judge string                              // objectives and inputs behind the run
	exit  int
	says  []string // in what judge prints
}{
	{"healthy", "healthy", nil, "--slo ttft:p90<1s --slo error_rate<2%", 0, []string{"VALID · PASS"}},
	{"server too slow", "slow", nil, "--slo tpot:p90<50ms", 1, []string{"VALID · FAIL", "tpot p90 ≤ 50ms missed"}},
	{"server fails 5 % fast", "failing", nil, "--slo ttft:p90<1s --slo error_rate<1%", 1, []string{"VALID · FAIL", "error_rate ≤ 1% missed"}},
	{"lost row", "healthy", lose, "", 4, []string{"INVALID             A1"}},
	{"duplicate row", "healthy", double, "", 4, []string{"INVALID             A1"}},
	{"cut run", "healthy", cut, "", 3, []string{"truncated"}},
	{"too few samples", "healthy", nil, "--slo ttft:p99.9<1s", 5, []string{"VALID · INCONCLUSIVE", "too few independent requests"}},
	{"another schedule", "healthy", nil, "--plan other.sched.zst", 3, []string{"judge: error:", "schedule"}},
	{"runs of different schedules", "healthy", nil, "uncalibrated.arrows", 3, []string{"judge: error:", "schedule"}},
	{"no calibration", "uncalibrated", nil, "--slo ttft:p90<1s", 4, []string{"INVALID", "unproven headroom"}},
}

func TestMatrix(t *testing.T) {
	if os.Getenv("HYDRANT_MATRIX") != "1" {
		t.Skip("takes minutes of a quiet machine: make matrix runs it")
	}
	m := &machine{bin: fixture.Build(t), dir: t.TempDir(), done: map[string]bool{}}
	for i, name := range []string{plan, other} {
		m.schedule(t, name, int64(i)*10)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			args := strings.Fields(row.judge)
			for _, name := range append([]string{row.load + ".arrows"}, args...) {
				if load, is := strings.CutSuffix(name, ".arrows"); is {
					m.replay(t, load)
				}
			}
			input := row.load + ".arrows"
			if row.fault != nil {
				b, err := os.ReadFile(filepath.Join(m.dir, input))
				if err != nil {
					t.Fatal(err)
				}
				input = "faulty.arrows"
				if err := os.WriteFile(filepath.Join(m.dir, input), row.fault(t, b), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			exit, out := m.exec(t, nil, "judge", append([]string{input, "--short", "--format", "text"}, args...)...)
			if exit != row.exit {
				t.Errorf("exit status %d, want %d\n%.2000s", exit, row.exit, out)
			}
			for _, want := range row.says {
				if !strings.Contains(out, want) {
					t.Errorf("judge does not say %q\n%.2000s", want, out)
				}
			}
		})
	}
}

// machine runs the tools in one folder.
type machine struct {
	bin, dir string
	done     map[string]bool // loads that were replayed
}

// schedule writes NAME.sched.zst: a request each 40 ms, up to 36 ms late, shifted by ms.
func (m *machine) schedule(t *testing.T, name string, shift int64) {
	t.Helper()
	var trace bytes.Buffer
	for i := range int64(825) {
		row := map[string]any{"timestamp": i*40 + (i*7919+shift)%37, "input_length": 64, "output_length": 20, "hash_ids": []int64{i}}
		if err := json.NewEncoder(&trace).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	m.must(t, trace.Bytes(), "tracegen", "mooncake", "-", "--scope", "matrix", "--quiet", "-o", name+".sched.zst")
}

// replay records a load once.
func (m *machine) replay(t *testing.T, load string) {
	t.Helper()
	if m.done[load] {
		return
	}
	l, ok := loads[load]
	if !ok {
		t.Fatalf("load: got %q, want one of loads", load)
	}
	args := append([]string{l.plan + ".sched.zst"}, strings.Fields(l.args)...)
	m.must(t, nil, "replay", append(args, "--workers", "2", "--quiet", "-o", load+".arrows")...)
	m.done[load] = true
}

// must runs a tool that has to succeed.
func (m *machine) must(t *testing.T, stdin []byte, tool string, args ...string) {
	t.Helper()
	if exit, out := m.exec(t, stdin, tool, args...); exit != 0 {
		t.Fatalf("%s %q: exit status %d\n%s", tool, args, exit, out)
	}
}

// exec runs a tool and returns its exit status and all it printed.
func (m *machine) exec(t *testing.T, stdin []byte, tool string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.bin, tool), args...)
	cmd.Dir, cmd.Stdin = m.dir, bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(fmt.Errorf("%s: %w", tool, err))
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
