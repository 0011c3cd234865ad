package scripts

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"testing"

	"hydrant/formats/run"
)

// TestShardsMergeToTheBytesOfTheirUnion splits a real run by session, as workers do, into
// seven runs of the same schedule, and compares summaries with cmp: merged in three orders
// and as a tree, and among runs, each is the summary of all seven runs at once, byte for byte.
// Without columns the orders and the tree agree with each other, and judge reads the result.
func TestShardsMergeToTheBytesOfTheirUnion(t *testing.T) {
	dir := t.TempDir()
	// Some seconds of the archive against the simulated server, fast enough that a busy
	// machine is late: what the run is like does not matter here.
	code, _, stderr := status(t, dir, `tracegen mooncake `+archive+` --speed 60 --max-input 500 --max-output 10 |
		replay --sim `+simulated+` --requests 700 --workers 2 --calibrate off --quiet > "$OUT/run.arrows"`)
	if code != 0 {
		t.Fatalf("status %d\n%s", code, stderr)
	}
	splitRun(t, filepath.Join(dir, "run.arrows"), dir, 7)
	code, stdout, stderr := status(t, dir, `set -ex
cd "$OUT"
for i in 0 1 2 3 4 5 6; do
  reduce s$i.arrows --columns on -o c$i.json
  reduce s$i.arrows --columns off -o b$i.json
done
reduce s?.arrows --columns on -o union.json
reduce c0.json c1.json c2.json c3.json c4.json c5.json c6.json --columns on -o up.json
reduce c6.json c5.json c4.json c3.json c2.json c1.json c0.json --columns on -o down.json
reduce c3.json c0.json c6.json c1.json c5.json c2.json c4.json --columns on -o mixed.json
reduce c4.json c2.json --columns on -o t0.json
reduce c6.json c0.json c1.json --columns on -o t1.json
reduce t1.json t0.json --columns on | reduce c5.json - c3.json --columns on -o tree.json
reduce s6.arrows c1.json s0.arrows c5.json s3.arrows c2.json s4.arrows --columns on -o runs.json
for f in up down mixed tree runs; do cmp $f.json union.json; done

reduce b?.json -o bare.json
reduce b6.json b5.json b4.json b3.json b2.json b1.json b0.json -o down.json
reduce b3.json b0.json b6.json b1.json b5.json b2.json b4.json -o mixed.json
reduce b4.json b2.json | reduce b6.json b0.json - b1.json | reduce b5.json - b3.json -o tree.json
for f in down mixed tree; do cmp $f.json bare.json; done
# Four runs and three summaries with columns among them: the weaker kind, in any order.
reduce s0.arrows c1.json b2.json s3.arrows c4.json b5.json s6.arrows -o some.json
reduce b5.json s6.arrows s3.arrows | reduce c4.json - s0.arrows b2.json c1.json -o tree.json
cmp some.json tree.json
judge bare.json --slo 'ttft:p90<10s' --short --accept-unproven --format json > verdict.json || test $? -ne 3
grep -A 12 '"text": "ttft:p90<' verdict.json
ls -l union.json bare.json b0.json | awk '{print $9, $5}'
`)
	if code != 0 {
		t.Fatalf("status %d\n%s\n%s", code, stdout, stderr)
	}
	t.Log(stdout)
}

// splitRun deals the sessions of a run of one part out to k runs in a folder; the client
// rows of a worker go with the shard of its number.
func splitRun(t *testing.T, from, dir string, k int) {
	t.Helper()
	var to []string
	for i := range k {
		to = append(to, filepath.Join(dir, fmt.Sprintf("s%d.arrows", i)))
	}
	dealRun(t, from, to, func(row *run.Request) (to, times int) {
		h := fnv.New32a()
		h.Write([]byte(row.Session))
		return int(h.Sum32()>>8) % k, 1
	})
}
