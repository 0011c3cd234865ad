package scripts

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// endOf prints the json column of a run's end table.
const endOf = `
import sys, pyarrow as pa
with open(sys.argv[1], "rb") as f:
    while True:
        t = pa.ipc.open_stream(f).read_all()
        if "json" in t.column_names:
            print(t["json"][0].as_py())
            break
`

// Each step from the trace to the verdict holds the hash of the one before, as other
// programs compute it.
func TestChainOfHashes(t *testing.T) {
	bin, dir := fixture.Build(t), t.TempDir()
	sh := func(line string) string {
		t.Helper()
		cmd := shell(bin, dir, "set -euo pipefail\n"+line)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, stderr.String())
		}
		return strings.TrimSpace(stdout.String())
	}
	sh(`tracegen mooncake --quiet ` + archive + ` -o "$OUT/day.sched.zst"`)
	sh(`tracegen schedule --quiet "$OUT/day.sched.zst" --window 0s:30s --speed 20 --max-input 2000 -o "$OUT/part.sched.zst"`)
	sh(`replay "$OUT/part.sched.zst" --sim default --calibrate off --quiet -o "$OUT/run.arrows"`)
	sh(`reduce "$OUT/run.arrows" -o "$OUT/run.summary.json"`)
	sh(`judge "$OUT/run.summary.json" --format json > "$OUT/verdict.json" || test $? -eq 4`)

	trace := sh(`zstd -dc ` + archive + ` | sha256sum | cut -d' ' -f1`)
	day := sh(`zstd -dc "$OUT/day.sched.zst" | sha256sum | cut -d' ' -f1`)
	part := sh(`zstd -dc "$OUT/part.sched.zst" | sed '$d' | sha256sum | cut -d' ' -f1`)

	// tracegen check prints the same hashes, of both schedules.
	said := sh(`tracegen check "$OUT/part.sched.zst"`)
	for _, want := range []string{"source    " + trace, "source    " + day, "schedule  " + part} {
		if !strings.Contains(said, want) {
			t.Errorf("check of the part does not say %q:\n%s", want, said)
		}
	}
	if said := sh(`tracegen check "$OUT/day.sched.zst" ` + archive); !strings.Contains(said, "source    "+trace) {
		t.Errorf("check of the day does not say the trace's hash:\n%s", said)
	}

	var end struct {
		Schedules []string `json:"schedule_sha256"`
		Trailer   struct {
			SHA256  string
			Sources []struct{ Name, SHA256 string }
		} `json:"schedule_end"`
	}
	out := sh(pyenv(t) + ` -c '` + endOf + `' "$OUT/run.arrows"`)
	if err := json.Unmarshal([]byte(out), &end); err != nil {
		t.Fatal(err)
	}
	if len(end.Schedules) != 1 || end.Schedules[0] != part || end.Trailer.SHA256 != part {
		t.Errorf("the run names schedules %q, trailer %s; want %s", end.Schedules, end.Trailer.SHA256, part)
	}
	if s := end.Trailer.Sources; len(s) != 2 || s[0].SHA256 != trace || s[0].Name != filepath.Base(archive) || s[1].SHA256 != day || s[1].Name != "day.sched.zst" {
		t.Errorf("the run's schedule has sources %v; want the trace %s and the schedule %s", s, trace, day)
	}
	var verdict struct {
		Run struct {
			Schedules []string `json:"schedule_sha256"`
		}
	}
	if err := json.Unmarshal([]byte(sh(`cat "$OUT/verdict.json"`)), &verdict); err != nil {
		t.Fatal(err)
	}
	if len(verdict.Run.Schedules) != 1 || verdict.Run.Schedules[0] != part {
		t.Errorf("the verdict names schedules %q; want %s", verdict.Run.Schedules, part)
	}

	// The judge takes the run's schedule and no other.
	sh(`judge --plan "$OUT/part.sched.zst" "$OUT/run.arrows" --short > "$OUT/own.txt" || test $? -eq 4`)
	sh(`if judge --plan "$OUT/day.sched.zst" "$OUT/run.arrows" 2> "$OUT/refused"; then exit 1; else test $? -eq 3; fi`)
	if said := sh(`cat "$OUT/refused"`); !strings.Contains(said, part) {
		t.Errorf("the judge refuses another schedule with %q; want the hash that the run recorded", said)
	}
}
