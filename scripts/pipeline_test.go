// Package scripts tests whole pipelines: real binaries, real shell lines, the archived
// trace, against the simulated server on loopback.
package scripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hydrant/internal/fixture"
)

// The archived ten minutes, as counted over the source by an independent program.
const (
	archive      = "traces/archive/mooncake_conversation_first_10min.jsonl.zst"
	planRequests = 1750
	planInput    = 24486514
	planOutput   = 619615
)

// readmeLine is the pipeline as the README shows it.
const readmeLine = `tracegen mooncake ` + archive + ` --speed 10 | replay --sim default --workers 2 | tee run.arrows | reduce | judge --slo 'ttft:p90<10s' --slo 'error_rate<5%' --short`

// line is the same; it keeps its files in $OUT, the summary and the verdict too.
var line = "set -o pipefail\n" + strings.NewReplacer(
	"tee run.arrows", `tee "$OUT/run.arrows"`,
	"| reduce |", `| reduce | tee "$OUT/run.summary.json" |`,
).Replace(readmeLine) + ` > "$OUT/verdict.json"`

var pipeline struct {
	once   sync.Once
	dir    string
	err    error
	stderr string
}

// replayed runs the pipeline once for all tests and returns the folder of its files.
func replayed(t *testing.T) string {
	t.Helper()
	bin := fixture.Build(t)
	pipeline.once.Do(func() {
		pipeline.dir, pipeline.err = os.MkdirTemp("", "hydrant-pipeline-")
		if pipeline.err != nil {
			return
		}
		// A run that the judge calls INVALID all the same is void and repeated once; its
		// reason is kept.
		for range 2 {
			var stderr bytes.Buffer
			cmd := shell(bin, pipeline.dir, line)
			cmd.Stderr = &stderr
			pipeline.err = cmd.Run()
			pipeline.stderr += stderr.String()
			if pipeline.err == nil || cmd.ProcessState.ExitCode() != 4 {
				break
			}
			why, _ := shell(bin, pipeline.dir, `judge "$OUT/run.arrows" --slo 'ttft:p90<10s' --slo 'error_rate<5%' --short --format text | head -12`).CombinedOutput()
			pipeline.stderr += string(why)
		}
	})
	if pipeline.err != nil {
		t.Fatalf("pipeline: %v\n%s", pipeline.err, pipeline.stderr)
	}
	return pipeline.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if pipeline.dir != "" {
		os.RemoveAll(pipeline.dir)
	}
	os.Exit(code)
}

// quietOnly are the limits that a client keeps on a quiet machine only. Here other tests
// run beside it, and the subject is how the tools work together: they are lifted.
// make demo and make matrix judge by the defaults.
const quietOnly = "B2.p99=10s B2.max=10s B3.windows=100% B3.rate=0.5 B4.low=0.01 B4.high=100 C1.headroom=0.01 C2.cpu=100% C2.host=100% C3.slice=10s " +
	"C3.ratio=1000 C3.psi=100% C4.steal=100% C5.thread=100% C5.goroutine=100% C5.max=10s C6.kappa=1000 C7.delay=10s D2.cut=100% D3.growth=100%"

// shell runs one bash line at the module root with the tools on the PATH and OUT set. The
// judge in it knows no limits of quietOnly, but where it is given a limit of its own.
func shell(bin, out, script string) *exec.Cmd {
	judge := "judge() { case \" $* \" in *' --limit '*) command judge \"$@\" ;; *) command judge \"$@\" --limit " +
		strings.ReplaceAll(quietOnly, " ", " --limit ") + " ;; esac; }\nexport -f judge\n"
	cmd := exec.Command("bash", "-c", judge+script)
	cmd.Dir = fixture.Root()
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "OUT="+out)
	return cmd
}

// status runs a bash line and returns its exit status, stdout and stderr.
func status(t *testing.T, out, script string) (int, string, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := shell(fixture.Build(t), out, "set -o pipefail\n"+script)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ok := err.(*exec.ExitError); !ok {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestPipelineCarriesTheWholePlan(t *testing.T) {
	dir := replayed(t)
	raw, err := os.ReadFile(filepath.Join(dir, "run.summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Plan struct {
			Requests     int64 `json:"requests"`
			InputTokens  int64 `json:"input_tokens"`
			OutputTokens int64 `json:"output_tokens"`
			Rows         int64 `json:"rows"`
			Distinct     int64 `json:"distinct"`
		} `json:"plan"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	got := [5]int64{s.Plan.Requests, s.Plan.InputTokens, s.Plan.OutputTokens, s.Plan.Rows, s.Plan.Distinct}
	if want := [5]int64{planRequests, planInput, planOutput, planRequests, planRequests}; got != want {
		t.Errorf("plan = %v; want requests, input, output, rows, distinct %v", got, want)
	}
	_, table, _ := status(t, dir, `reduce "$OUT/run.arrows" --format table`)
	for _, sum := range []string{"1,750", "24,486,514", "619,615"} {
		if !strings.Contains(table, sum) {
			t.Errorf("reduce's table lacks %s:\n%s", sum, table)
		}
	}
}

func TestVerdictIsTheSameFromRunAndSummary(t *testing.T) {
	dir := replayed(t)
	const slo = ` --slo 'ttft:p90<10s' --slo 'error_rate<5%' --short `
	code, _, stderr := status(t, dir, `judge "$OUT/run.arrows"`+slo+`> "$OUT/a.json"`)
	if code != 0 {
		t.Fatalf("judge run.arrows: status %d; want 0\n%s", code, stderr)
	}
	code, _, stderr = status(t, dir, `reduce "$OUT/run.arrows" | judge`+slo+`> "$OUT/b.json"`)
	if code != 0 {
		t.Fatalf("reduce | judge: status %d; want 0\n%s", code, stderr)
	}
	a, b := verdict(t, dir, "a.json"), verdict(t, dir, "b.json")
	if a != b {
		t.Errorf("verdicts differ beyond the names of their inputs:\n%s\n%s", a, b)
	}
}

// verdict returns a verdict without what names its inputs.
func verdict(t *testing.T, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "inputs")
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// exits matches a README command that states its exit status.
var exits = regexp.MustCompile(`(?m)^(\S.*?)\s+# exits (\d+)`)

func TestReadmeCommandsExitAsTheySay(t *testing.T) {
	dir := replayed(t)
	readme, err := os.ReadFile(filepath.Join(fixture.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(unwrap(string(readme)), unwrap(readmeLine)) {
		t.Errorf("the README lacks the pipeline that is tested here: %s", readmeLine)
	}
	commands := exits.FindAllStringSubmatch(string(readme), -1)
	if len(commands) < 7 {
		t.Fatalf("README has %d commands with an exit status; want at least 7", len(commands))
	}
	for _, c := range commands {
		t.Run(c[1], func(t *testing.T) {
			code, stdout, stderr := status(t, dir, `cd "$OUT"; `+c[1])
			if strconv.Itoa(code) != c[2] {
				t.Errorf("status %d, want %s\nstdout: %.600s\nstderr: %s", code, c[2], stdout, stderr)
			}
		})
	}
}

// unwrap joins the lines of a wrapped command and squeezes its blanks.
func unwrap(s string) string { return strings.Join(strings.Fields(s), " ") }

// bare is a short run that was not calibrated, judged.
const bare = `tracegen mooncake ` + archive + ` --speed 100 | replay --null --requests 50 --workers 1 --calibrate off --quiet | judge --short --format text`

func TestWhyIsSaid(t *testing.T) {
	dir := replayed(t)
	for _, c := range []struct{ name, script, says string }{
		{"missed SLO", `judge "$OUT/run.arrows" --slo 'ttft:p90<1us' --short --format text`, "VALID"},
		{"unproven", bare + ` --accept-unproven`, "VALID (unproven"},
		{"unproven not accepted", bare, "unproven"},
		{"cut pipe", `head -c 100000 "$OUT/run.arrows" | reduce | judge --short`, "truncated"},
		{"bad SLO", `judge "$OUT/run.arrows" --slo 'ttft:p9x<1s'`, "p9x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, stdout, stderr := status(t, dir, c.script); !strings.Contains(stdout+stderr, c.says) {
				t.Errorf("output lacks %q\nstdout: %.600s\nstderr: %s", c.says, stdout, stderr)
			}
		})
	}
}

func TestRowDeletedByPyarrowIsRefused(t *testing.T) {
	dir := replayed(t)
	python := pyenv(t)
	script := filepath.Join(dir, "delete.py")
	if err := os.WriteFile(script, []byte(deleteRow), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := status(t, dir, fmt.Sprintf(`%s "$OUT/delete.py" "$OUT/run.arrows" "$OUT/less.arrows" && judge "$OUT/less.arrows" --short`, python))
	if code != 3 || !strings.Contains(stderr, "less.arrows") {
		t.Errorf("status %d, want 3 naming the file\n%s", code, stderr)
	}
}

// deleteRow writes the requests table without its first row, and the rest as it was.
const deleteRow = `
import sys, pyarrow as pa
src = open(sys.argv[1], "rb")
with open(sys.argv[2], "wb") as out:
    first = True
    while True:
        try:
            reader = pa.ipc.open_stream(src)
        except pa.lib.ArrowInvalid:
            break
        with pa.ipc.new_stream(out, reader.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as w:
            for batch in reader:
                w.write_batch(batch.slice(1) if first else batch)
                first = False
`

// pyenv returns a python with pyarrow, Polars and DuckDB.
func pyenv(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(fixture.Root(), "scripts", "pyenv")).CombinedOutput()
	fixture.Need(t, err == nil, fmt.Sprintf("scripts/pyenv: %v: %s", err, out))
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
