package scripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

const agentTrace = "traces/archive/weka_trace_0277.json.zst"

// simulated is a server that holds each answer long enough to upset the recorded times.
const simulated = "default,stagger,service=const:5ms"

// checkAgents holds a run against the trace that it came from, with a program that
// knows nothing of schedules, and returns what the program counted.
func checkAgents(t *testing.T, trace, run string, speed int, timing string) map[string]int64 {
	t.Helper()
	cmd := exec.Command(pyenv(t), filepath.Join("testdata", "agents.py"), filepath.Join(fixture.Root(), trace), run, strconv.Itoa(speed), timing)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(run), err, out)
	}
	got := map[string]int64{}
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		if got[k], err = strconv.ParseInt(v, 10, 64); err != nil {
			t.Fatalf("%s", out)
		}
	}
	return got
}

// A session with subagents, over and over: each request waits for what the trace says,
// for as long as it says, in every pass.
func TestAgentsKeepEveryDependency(t *testing.T) {
	dir := t.TempDir()
	code, _, stderr := status(t, dir, `tracegen weka `+agentTrace+` --speed 1000 --quiet |
		replay --sim `+simulated+` --timing think --loop --requests 200 --calibrate off --workers 2 --quiet > "$OUT/run.arrows"`)
	if code != 0 {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	got := checkAgents(t, agentTrace, filepath.Join(dir, "run.arrows"), 1000, "think")
	if got["requests"] != 200 || got["passes"] != 4 || got["dependencies"] < 3*54 || got["joins"] < 3 {
		t.Errorf("checked %v; want 200 requests of 4 passes, three of them with 54 dependencies and a join", got)
	}
}

// The open and the closed loop send the same requests with the same prompts in an order
// that the trace allows, however often they are run.
func TestAgentsAreReproducible(t *testing.T) {
	for _, c := range []struct {
		trace string
		speed int
		want  map[string]int64
	}{
		{agentTrace, 300, map[string]int64{"requests": 53, "passes": 1, "dependencies": 54, "joins": 1, "unknown": 0}},
		// Overlapping requests, and many durations that are not known.
		{"../shared/data/weka/trace_0300.json.zst", 10000, map[string]int64{"requests": 140, "passes": 1, "dependencies": 143, "joins": 4, "unknown": 115}},
	} {
		t.Run(filepath.Base(c.trace), func(t *testing.T) {
			if rest, shared := strings.CutPrefix(c.trace, "../shared/"); shared {
				fixture.Shared(t, rest)
			}
			dir := t.TempDir()
			loads := []string{"schedule", "schedule", "think", "asap --sessions 1", "asap --sessions 1"}
			script := fmt.Sprintf("tracegen weka %s --speed %d --quiet -o \"$OUT/plan.sched.zst\"\n", c.trace, c.speed) +
				"exec 3< <(exec replay serve --sim " + simulated + " --hash-log \"$OUT/hashes\"); server=$!; read -r -u 3 url; set -e; trap 'kill $server' EXIT\n"
			for i, load := range loads {
				script += fmt.Sprintf("replay \"$OUT/plan.sched.zst\" --url $url --timing %s --workers %d --calibrate off --quiet -o \"$OUT/%d.arrows\"\n", load, 1+i%2, i)
			}
			if code, _, stderr := status(t, dir, script); code != 0 {
				t.Fatalf("status %d\n%s", code, stderr)
			}
			for i, load := range loads {
				timing, _, _ := strings.Cut(load, " ")
				if got := checkAgents(t, c.trace, filepath.Join(dir, fmt.Sprintf("%d.arrows", i)), c.speed, timing); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("%s: checked %v; want %v", load, got, c.want)
				}
			}
			log, err := os.ReadFile(filepath.Join(dir, "hashes"))
			if err != nil {
				t.Fatal(err)
			}
			bodies := map[string]map[string]int{} // by request
			for line := range strings.Lines(string(log)) {
				id, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
				if strings.HasPrefix(id, "-") { // preflight's own
					continue
				}
				if bodies[id] == nil {
					bodies[id] = map[string]int{}
				}
				bodies[id][sum]++
			}
			distinct := map[string]bool{}
			for id, sums := range bodies {
				for sum, n := range sums {
					if distinct[sum] = true; n != len(loads) {
						t.Errorf("request %s: %d different bodies in %d runs", id, len(sums), len(loads))
					}
				}
			}
			if len(bodies) != int(c.want["requests"]) || len(distinct) < 2 {
				t.Errorf("%d requests, %d different bodies", len(bodies), len(distinct))
			}
		})
	}
}
