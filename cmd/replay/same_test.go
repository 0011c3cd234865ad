package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// sharedPlan is a second of sessions that share prefixes, turns that wait for each
// other, private prompts and prompts without ids.
func sharedPlan() []schedule.Request {
	r := rand.New(rand.NewPCG(3, 1))
	var all []schedule.Request
	for i := range 60 {
		q := request(i, time.Duration(i)*15*time.Millisecond)
		q.OutputTokens = formats.Some(int64(1 + r.IntN(5)))
		switch i % 4 {
		case 0, 1: // a prompt of blocks, the first of them common to many
			n := int64(1 + r.IntN(4))
			q.InputTokens = formats.Some(64*n + int64(r.IntN(64)) + 1)
			q.Blocks = &schedule.Blocks{Scope: "x", Add: []schedule.Run{{int64(100 * (i % 8)), n}, {int64(1000 + 10*i), 1}}}
		case 2: // the next turn of the request before the last
			q.Session, q.Turn = all[i-2].Session, 1
			all[i-2].Last = false
			q.After, q.DelayNS = []int64{int64(i - 2)}, formats.Some(int64(5*time.Millisecond))
			before := all[i-2]
			q.InputTokens = formats.Some(before.InputTokens.V + 40)
			ids := before.Blocks.Add[0][1]
			q.Blocks = &schedule.Blocks{Scope: "x", Keep: ids, Add: []schedule.Run{{int64(5000 + 10*i), (q.InputTokens.V-1)/64 + 1 - ids}}}
		}
		all = append(all, q)
	}
	return all
}

// The same plan on 1, 2 and 7 workers: each request keeps its planned instant, its
// prompt byte for byte, and what a server could take from its cache; the bytes are
// those of the golden file; and workers are processes.
func TestWorkersDoNotChangeTheLoad(t *testing.T) {
	plan := planFile(t, sharedPlan())
	golden := filepath.Join("testdata", "bodies.golden")
	for _, workers := range []int{1, 2, 7} {
		log := filepath.Join(t.TempDir(), "hashes")
		url, stop := server(t, "--sim", "default,cache=unbounded,step=200us,step_per_seq=0s", "--hash-log", log)
		p := replay(t, 0, plan, "--url", url, "--workers", fmt.Sprint(workers), "--seed", "5")
		stop()
		run := read(t, p.out.Bytes())
		if run.end.Status != "complete" || len(run.rows) != 60 {
			t.Errorf("%d workers: status %s, %d rows", workers, run.end.Status, len(run.rows))
		}
		if n := len(run.pids()); n != workers {
			t.Errorf("%d workers: %d process ids in the client table", workers, n)
		}
		var expected, cached int64
		for _, q := range sharedPlan() {
			row := run.rows[q.ID]
			if row.ScheduledNS != q.AtNS || row.Session != q.Session || row.Turn != q.Turn {
				t.Errorf("%d workers, request %d: scheduled %v for turn %d of %s", workers, q.ID, row.ScheduledNS, row.Turn, row.Session)
			}
			if row.InputTokens != q.InputTokens || row.OutputTokens != q.OutputTokens {
				t.Errorf("request %d: server counts %v in, %v out; plan says %v, %v", q.ID, row.InputTokens, row.OutputTokens, q.InputTokens, q.OutputTokens)
			}
			if len(q.After) > 0 && row.DueNS.V < run.rows[q.After[0]].EndNS.V+q.DelayNS.V {
				t.Errorf("request %d is due before its predecessor ended and the delay passed", q.ID)
			}
			expected += row.ExpectedCachedTokens.V
			cached += row.CachedTokens.V
		}
		if cached != expected || expected == 0 {
			t.Errorf("%d workers: server reports %d cached tokens; the plan expects %d", workers, cached, expected)
		}
		got := bodies(t, log)
		if os.Getenv("HYDRANT_GOLDEN") == "write" && workers == 1 {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%d workers: body hashes differ from the golden file:\n%s", workers, d)
		}
	}
}

// bodies reads a hash log and orders it by request id, without the preflight's own.
func bodies(t *testing.T, log string) string {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]string{}
	for line := range strings.Lines(string(b)) {
		var id int
		var sum string
		if _, err := fmt.Sscan(line, &id, &sum); err != nil {
			t.Fatalf("hash log: %q", line)
		}
		if id >= 0 {
			lines[id] = line
		}
	}
	var s strings.Builder
	for id := range len(lines) {
		s.WriteString(lines[id])
	}
	return s.String()
}
