package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// One second on a host with control groups of version 2, of version 1, and with none: what
// the system tells is there, what it does not tell is null.
func TestReadFollowsTheControlGroups(t *testing.T) {
	proc := map[string]string{
		"proc/stat":                  "cpu  100 0 0 900 0 0 0 10 0 0\n",
		"proc/self/statm":            "900 300 20 1 0 100 0\n",
		"proc/self/task/7/none":      "",
		"proc/self/task/7/schedstat": "50 100 10\n",
	}
	later := map[string]string{
		"proc/stat":                  "cpu  150 0 0 940 0 0 0 20 0 0\n", // 10 of 100 jiffies stolen
		"proc/self/task/7/schedstat": "90 400 14\n",
	}
	const hostPSI, groupPSI = "proc/pressure/cpu", "cg/pod/cpu.pressure"
	for name, c := range map[string]struct {
		files, later   map[string]string
		quota          float64
		throttled, psi formats.Int
	}{
		"version 2": {
			files: map[string]string{"proc/self/cgroup": "0::/pod\n", "cg/cpu.stat": "usage_usec 1\n", "cg/pod/cpu.stat": "throttled_usec 70\n",
				"cg/pod/cpu.max": "50000 100000\n", groupPSI: "some avg10=0.00 total=1000\n", hostPSI: "some avg10=0.00 total=5\n"},
			later: map[string]string{"cg/pod/cpu.stat": "nr_throttled 3\nthrottled_usec 90\n", groupPSI: "some avg10=1.00 total=21000\n", hostPSI: "some avg10=9.00 total=900005\n"},
			quota: 0.5, throttled: formats.Some(20_000), psi: formats.Some(20_000),
		},
		"version 1": { // keeps no pressure of its own: that of the host
			files: map[string]string{"proc/self/cgroup": "3:cpu,cpuacct:/pod\n0::/\n", "cg/cpu,cpuacct/pod/cpu.stat": "throttled_time 500\n",
				"cg/cpu,cpuacct/pod/cpu.cfs_quota_us": "150000\n", "cg/cpu,cpuacct/pod/cpu.cfs_period_us": "100000\n", hostPSI: "some avg10=0.00 total=100\n"},
			later: map[string]string{"cg/cpu,cpuacct/pod/cpu.stat": "throttled_time 1700\n", hostPSI: "some avg10=0.00 total=50100\n"},
			quota: 1.5, throttled: formats.Some(1200), psi: formats.Some(50_000),
		},
		"none": {},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for _, m := range []map[string]string{proc, c.files} {
				for k, v := range m {
					files[k] = v
				}
			}
			dir := tree(t, files)
			self, root := filepath.Join(dir, "proc/self/cgroup"), filepath.Join(dir, "cg")
			if q, ok := quota(self, root); q != c.quota || ok != (c.quota > 0) {
				t.Errorf("quota() = %v, %v; want %v", q, ok, c.quota)
			}
			m := newMeter(filepath.Join(dir, "proc"), groups(self, root))
			defer m.Close()
			for _, files := range []map[string]string{later, c.later} {
				for k, v := range files {
					if err := os.WriteFile(filepath.Join(dir, k), []byte(v), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			var got run.Client
			m.Read(&got, time.Second)
			want := run.Client{ThrottledNS: c.throttled, PSICPUPPM: c.psi, StealPPM: formats.Some(100_000), RunqueueWaitNS: formats.Some(300),
				Timeslices: formats.Some(4), RSSBytes: formats.Some(300 * int64(os.Getpagesize()))}
			some := run.Client{ThrottledNS: got.ThrottledNS, PSICPUPPM: got.PSICPUPPM, StealPPM: got.StealPPM, RunqueueWaitNS: got.RunqueueWaitNS,
				Timeslices: got.Timeslices, RSSBytes: got.RSSBytes}
			if some != want {
				t.Errorf("Read() = %+v\nwant %+v", some, want)
			}
			if !got.CPUUserNS.Valid || !got.CPUSystemNS.Valid || !got.GCPauses.Valid {
				t.Errorf("Read() = %+v; want CPU time and collections", got)
			}
		})
	}
}
