// Package matrix holds one row per cause that a verdict can have: real processes, the
// simulated server on loopback, the limits as they are by default. It wants the machine
// for itself and takes minutes: make matrix runs it.
package matrix

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hydrant/internal/fixture"
)

// Schedules of 25 requests/s for 33 s, 64 tokens in and 20 out: spread out, and all of a
// second at once.
const (
	plan   = "plan"
	other  = "other"
	bursts = "bursts"
)

// load is one replay.
type load struct {
	plan, args string
	proxied    string                               // the simulated server stands behind a proxy that gathers
	beside     func(*testing.T, *os.Process) func() // starts what runs beside replay, and returns what ends it
}

// loads are the replays. Rows whose fault is made in the file share "healthy".
var loads = map[string]load{
	"healthy":      {plan: plan, args: "--sim default"},
	"slow":         {plan: plan, args: "--sim default,step=60ms"},
	"full":         {plan: plan, args: "--sim default,stagger,slots=8,service=const:400ms"}, // 20 requests/s
	"failing":      {plan: plan, args: "--sim default,fail=503:0.05"},
	"whole":        {plan: plan, args: "--sim default --stream off"},
	"uncalibrated": {plan: other, args: "--sim default --calibrate off"},
	"capped":       {plan: bursts, args: "--sim default --concurrency 8"},
	"starved":      {plan: plan, args: "--sim default --nice 0", beside: starve},
	"stalled":      {plan: plan, args: "--sim default --closed 16 --loop --duration 32s --client-stall 2ms"},
	"beyond":       {plan: plan, args: "--sim default --client-stall 6ms"}, // 333 events/s of two workers, 500 planned
	"gathered":     {plan: plan, proxied: "default,step=10ms"},
}

// row is one cause and the verdict that it has to have.
type row struct {
	name  string
	load  string                              // whose run is judged
	fault func(t *testing.T, b []byte) []byte // made in the file; nil: none
	judge string                              // objectives and inputs behind the run
	exit  int
	first string   // ids of checks and objectives, one of which is the first cause; empty: not looked at
	says  []string // in what judge finds
}

// loads are the replays that a row judges.
func (r row) loads() []string {
	names := []string{r.load}
	for _, arg := range strings.Fields(r.judge) {
		if load, is := strings.CutSuffix(arg, ".arrows"); is {
			names = append(names, load)
		}
	}
	return names
}

// rows is the matrix.
var rows = []row{
	{"healthy", "healthy", nil, "--slo ttft:p90<1s --slo error_rate<2%", 0, "", []string{"VALID · PASS"}},
	{"server too slow", "slow", nil, "--slo tpot:p90<50ms", 1, "E1:tpot:p90<=50ms", []string{"VALID · FAIL", "tpot p90 ≤ 50ms missed"}},
	{"server above its capacity", "full", nil, "--slo ttft:p90<10s", 1, "D3", []string{"VALID · FAIL", "unstable"}},
	{"server fails 5 % fast", "failing", nil, "--slo ttft:p90<1s --slo error_rate<1%", 1, "E1:error_rate<=1%", []string{"VALID · FAIL", "error_rate ≤ 1% missed"}},
	{"a worker starved of its core", "starved", nil, "", 4, "C3", []string{"INVALID"}},
	{"receive side saturated", "stalled", nil, "", 4, "C6 C7", []string{"INVALID"}},
	{"schedule beyond the ceiling", "beyond", nil, "", 4, "B2", []string{"INVALID", "the generator was late"}},
	{"bursts smoothed by --concurrency", "capped", nil, "", 4, "B6", []string{"INVALID", "a cap (--concurrency"}},
	{"proxy that gathers events", "gathered", nil, "--slo ttft:p90<1s", 0, "", []string{"VALID · PASS", "C13 WARN", "C6 OK"}},
	{"lost row", "healthy", lose, "", 4, "A1", []string{"INVALID"}},
	{"duplicate row", "healthy", double, "", 4, "A1", []string{"INVALID"}},
	{"cut run", "healthy", cut, "", 3, "", []string{"truncated"}},
	{"too few samples", "healthy", nil, "--slo ttft:p99.9<1s", 5, "E1:ttft:p99.9<=1s", []string{"VALID · INCONCLUSIVE", "too few independent requests"}},
	{"another schedule", "healthy", nil, "--plan other.sched.zst", 3, "", []string{"judge: error:", "schedule"}},
	{"runs of different schedules", "healthy", nil, "uncalibrated.arrows", 3, "", []string{"judge: error:", "schedule"}},
	{"no calibration", "uncalibrated", nil, "--slo ttft:p90<1s", 4, "C1 C6", []string{"INVALID", "unproven headroom"}},
	{"streaming off", "whole", nil, "--slo ttft:p90<1s", 5, "E1:ttft:p90<=1s", []string{"VALID · INCONCLUSIVE", "not measured", "C6 OK"}},
}

func TestMatrix(t *testing.T) {
	if os.Getenv("HYDRANT_MATRIX") != "1" {
		t.Skip("takes minutes of a quiet machine: make matrix runs it")
	}
	m := &machine{bin: fixture.Build(t), dir: t.TempDir(), done: map[string]bool{}}
	for i, name := range []string{plan, other, bursts} {
		m.schedule(t, name, int64(i)*10)
	}
	tries, err := strconv.Atoi(cmp.Or(os.Getenv("HYDRANT_MATRIX_TRIES"), "1"))
	if err != nil || tries < 1 {
		t.Fatalf("HYDRANT_MATRIX_TRIES: got %q, want a number of at least 1", os.Getenv("HYDRANT_MATRIX_TRIES"))
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for try := 1; ; try++ {
				wrong := m.judge(t, row)
				if len(wrong) == 0 {
					return
				}
				say := t.Errorf
				if try < tries { // a neighbour on the host can make a load invalid
					say = t.Logf
				}
				say("try %d of %d: %s", try, tries, strings.Join(wrong, "\n"))
				if try == tries {
					return
				}
				for _, load := range row.loads() {
					delete(m.done, load)
				}
			}
		})
	}
}

// judge replays what a row needs and returns what is not as expected.
func (m *machine) judge(t *testing.T, row row) (wrong []string) {
	t.Helper()
	start := time.Now()
	args := strings.Fields(row.judge)
	for _, load := range row.loads() {
		m.replay(t, load)
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
	exit, out := m.exec(t, nil, "judge", append([]string{input, "--short"}, args...)...)
	found := read(out)
	t.Logf("expected %d %s, got %d %s, %.0f s", row.exit, row.first, exit, found.first, time.Since(start).Seconds())
	if exit != row.exit || row.first != "" && !slices.Contains(strings.Fields(row.first), found.first) {
		wrong = append(wrong, fmt.Sprintf("exit status %d, first cause %q; want %d, %q\n%.3000s", exit, found.first, row.exit, row.first, found.text))
	}
	for _, want := range row.says {
		if !strings.Contains(found.text, want) {
			wrong = append(wrong, fmt.Sprintf("judge does not say %q\n%.3000s", want, found.text))
		}
	}
	return wrong
}

// found is what judge said: the first cause, and the verdict in words with the status of
// each check; where there is no verdict the error.
type found struct{ first, text string }

func read(out string) found {
	var v struct {
		Headline string
		Cause    *struct{ Check, Text string }
		Checks   []struct{ ID, Status, Evidence, Reason string }
	}
	if json.Unmarshal([]byte(out), &v) != nil {
		return found{text: out}
	}
	f := found{text: v.Headline + "\n"}
	if v.Cause != nil {
		f.first, f.text = v.Cause.Check, f.text+v.Cause.Check+": "+v.Cause.Text+"\n"
	}
	for _, c := range v.Checks {
		f.text += strings.TrimSpace(c.ID+" "+c.Status+" "+c.Reason+" "+c.Evidence) + "\n"
	}
	return f
}

// machine runs the tools in one folder.
type machine struct {
	bin, dir string
	done     map[string]bool // loads that were replayed
}

// schedule writes NAME.sched.zst: a request each 40 ms, up to 36 ms late, shifted by
// ms; bursts: those of a second at its start.
func (m *machine) schedule(t *testing.T, name string, shift int64) {
	t.Helper()
	var trace bytes.Buffer
	for i := range int64(825) {
		at := i*40 + (i*7919+shift)%37
		if name == bursts {
			at -= at % 1000
		}
		row := map[string]any{"timestamp": at, "input_length": 64, "output_length": 20, "hash_ids": []int64{i}}
		if err := json.NewEncoder(&trace).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	m.must(t, trace.Bytes(), "tracegen", "mooncake", "-", "--scope", "matrix", "--quiet", "-o", name+".sched.zst")
}

// replay records a load once.
func (m *machine) replay(t *testing.T, name string) {
	t.Helper()
	if m.done[name] {
		return
	}
	l, ok := loads[name]
	if !ok {
		t.Fatalf("load: got %q, want one of loads", name)
	}
	args := append([]string{l.plan + ".sched.zst", "--workers", "2", "--quiet", "-o", name + ".arrows"}, strings.Fields(l.args)...)
	if l.proxied != "" {
		args = append(args, "--url", gather(t, m.serve(t, l.proxied)))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.bin, "replay"), args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if l.beside != nil {
		defer l.beside(t, cmd.Process)()
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("replay %q: %v\n%s", args, err, out.Bytes())
	}
	m.done[name] = true
}

// serve starts a simulated server for the test and returns its URL.
func (m *machine) serve(t *testing.T, spec string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(m.bin, "replay"), "serve", "--quiet", "--sim", spec, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
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
