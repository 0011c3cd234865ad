package scripts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// snippet returns a python program from a format's page, as a user would copy it.
func snippet(t *testing.T, format, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "formats", format+".md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- run: " + name + " -->\n```python\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("docs/formats/%s.md has no program %q", format, name)
	}
	return string(m[1])
}

// figures runs a program on a file and returns the key=value lines it prints.
func figures(t *testing.T, program, file string) map[string]int64 {
	t.Helper()
	cmd := exec.Command(pyenv(t), "-c", program, file)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	got := map[string]int64{}
	for line := range strings.Lines(string(out)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				got[k] = n
			}
		}
	}
	return got
}

// TestIndependentReadersAgreeWithReduce reads one real run with pyarrow, Polars and
// DuckDB, and compares count and percentiles of E2E with reduce over the whole load.
func TestIndependentReadersAgreeWithReduce(t *testing.T) {
	dir := replayed(t)
	code, _, stderr := status(t, dir, `reduce "$OUT/run.arrows" --window 0s:1h -o "$OUT/whole.json"`)
	if code != 0 {
		t.Fatalf("reduce: status %d\n%s", code, stderr)
	}
	want := e2e(t, filepath.Join(dir, "whole.json"))
	for _, name := range []string{"pyarrow-run", "polars-run", "duckdb-run"} {
		t.Run(name, func(t *testing.T) {
			got := figures(t, snippet(t, "run", name), filepath.Join(dir, "run.arrows"))
			for k, v := range want {
				if got[k] != v {
					t.Errorf("%s = %d; reduce says %d", k, got[k], v)
				}
			}
			if name == "pyarrow-run" && (got["planned"] != planRequests || got["client_rows"] < 100) {
				t.Errorf("planned %d, client_rows %d; want %d and at least 100: two workers for a minute", got["planned"], got["client_rows"], planRequests)
			}
		})
	}
}

// e2e returns what the programs print, from a summary.
func e2e(t *testing.T, name string) map[string]int64 {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Plan    struct{ Rows int64 }
		Metrics []struct {
			ID, Side, Population string
			Percentiles          []struct{ Level, Value int64 }
		}
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"rows": s.Plan.Rows}
	for _, m := range s.Metrics {
		if m.ID == "e2e_user" && m.Population == "ok" {
			for _, p := range m.Percentiles {
				if p.Level == 500 || p.Level == 900 || p.Level == 990 {
					want[fmt.Sprintf("e2e_p%d", p.Level/10)] = p.Value
				}
			}
		}
	}
	if len(want) != 4 {
		t.Fatalf("the summary lacks percentiles of e2e_user: %v", want)
	}
	return want
}

// TestIndependentReadersFindTheTrailersSums sums the tokens of the archived schedule with
// the JSON readers of DuckDB and Polars.
func TestIndependentReadersFindTheTrailersSums(t *testing.T) {
	dir := t.TempDir()
	code, _, stderr := status(t, dir, `tracegen mooncake `+archive+` --quiet -o "$OUT/day.sched.zst"`)
	if code != 0 {
		t.Fatalf("tracegen: status %d\n%s", code, stderr)
	}
	for _, name := range []string{"duckdb-schedule", "polars-schedule"} {
		t.Run(name, func(t *testing.T) {
			got := figures(t, snippet(t, "schedule", name), filepath.Join(dir, "day.sched.zst"))
			if got["input_tokens"] != planInput || got["output_tokens"] != planOutput || got["requests"] != planRequests {
				t.Errorf("got %v; want requests=%d input_tokens=%d output_tokens=%d", got, planRequests, planInput, planOutput)
			}
		})
	}
}

// TestCachedTokensAreThoseExpected compares what the simulated server, whose cache holds
// the whole archive by default, reported with what the schedule let expect.
func TestCachedTokensAreThoseExpected(t *testing.T) {
	dir := replayed(t)
	const program = `
import sys, pyarrow as pa, pyarrow.compute as pc
r = pa.ipc.open_stream(pa.memory_map(sys.argv[1])).read_all()
print(f"cached={pc.sum(r['cached_tokens'])}")
print(f"expected={pc.sum(r['expected_cached_tokens'])}")
`
	got := figures(t, program, filepath.Join(dir, "run.arrows"))
	if got["cached"] == 0 || got["cached"] != got["expected"] {
		t.Errorf("the server reported %d cached tokens; the schedule lets expect %d", got["cached"], got["expected"])
	}
}
