package host

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// tree writes files below a temporary folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestQuotaIsTheTightestOnTheWayUp(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		ok    bool
	}{
		"v2": {map[string]string{
			"self": "0::/pod/box\n", "cg/cpu.stat": "", "cg/pod/cpu.stat": "", "cg/pod/box/cpu.stat": "",
			"cg/pod/cpu.max": "150000 100000\n", "cg/pod/box/cpu.max": "max 100000\n",
		}, 1.5, true},
		"v2 none": {map[string]string{"self": "0::/\n", "cg/cpu.stat": ""}, 0, false},
		"v1": {map[string]string{
			"self":                        "4:memory:/x\n2:cpu,cpuacct:/job\n0::/\n",
			"cg/cpu,cpuacct/job/cpu.stat": "", "cg/cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n", "cg/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
			"cg/cpu,cpuacct/cpu.stat": "", "cg/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cg/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 2, true},
		"outside the mount": {map[string]string{"self": "0::/../../init\n", "cg/cpu.stat": "", "cg/cpu.max": "50000 100000"}, 0.5, true},
		"no cgroups":        {nil, 0, false},
	} {
		dir := tree(t, c.files)
		got, ok := quota(filepath.Join(dir, "self"), filepath.Join(dir, "cg"))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: quota() = %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
}

func TestCountersOfTheKernel(t *testing.T) {
	dir := tree(t, map[string]string{
		"v2/cpu.stat":     "usage_usec 5\nnr_throttled 2\nthrottled_usec 7\n",
		"v2/cpu.pressure": "some avg10=0.00 avg60=0.09 avg300=0.37 total=6349380\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
		"v1/cpu.stat":     "nr_periods 1\nthrottled_time 900\n",
		"online":          "0-2,5\n",
	})
	v2, v1 := group{filepath.Join(dir, "v2"), false}, group{filepath.Join(dir, "v1"), true}
	if got := throttled([]group{v2, v1}); got != formats.Some(7900) {
		t.Errorf("throttled() = %v; want 7900 ns", got)
	}
	if got := throttled(nil); got.Valid {
		t.Errorf("throttled() without groups = %v; want null", got)
	}
	if got := pressure([]group{v2}, dir); got != formats.Some(6349380) {
		t.Errorf("pressure() = %v; want 6349380 µs", got)
	}
	if got := pressure([]group{v1}, dir); got.Valid {
		t.Errorf("pressure() with PSI off = %v; want null", got)
	}
	steal, all := stolen("cpu  10 1 20 100 4 0 5 7 3 0\ncpu0 1 1 1 1\n")
	if steal != formats.Some(7) || all != formats.Some(147) {
		t.Errorf("stolen() = %v, %v; want 7, 147", steal, all)
	}
	if n := online(filepath.Join(dir, "online")); n != 4 {
		t.Errorf("online() = %d; want 4", n)
	}
}

func TestThreadsAreDifferencedById(t *testing.T) {
	k := tasks{dir: filepath.Join(t.TempDir(), "task")}
	defer k.close()
	read := func(all map[string]string) (formats.Int, formats.Int) {
		t.Helper()
		old, _ := os.ReadDir(k.dir)
		for _, e := range old {
			if _, ok := all[e.Name()]; !ok {
				os.RemoveAll(filepath.Join(k.dir, e.Name()))
			}
		}
		for id, v := range all {
			name := filepath.Join(k.dir, id, "schedstat")
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(v), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return k.read()
	}
	if w, s := read(map[string]string{"1": "9 100 10\n", "2": "9 50 5\n"}); w != formats.Some(150) || s != formats.Some(15) {
		t.Errorf("first = %v, %v; want 150, 15", w, s)
	}
	// 1 went on, 2 died, 3 is new.
	if w, s := read(map[string]string{"1": "9 130 12\n", "3": "9 7 1\n"}); w != formats.Some(37) || s != formats.Some(3) {
		t.Errorf("second = %v, %v; want 37, 3", w, s)
	}
	if len(k.open) != 2 {
		t.Errorf("%d files open; want those of the 2 threads that live", len(k.open))
	}
	// 3 ended and its id came back on a new thread: the open file tells nothing any more.
	k.open["3"].file.Close()
	if w, s := read(map[string]string{"1": "9 130 12\n", "3": "9 2 1\n"}); w != formats.Some(2) || s != formats.Some(1) {
		t.Errorf("third = %v, %v; want 2, 1", w, s)
	}
	if w, s := read(map[string]string{"1": "no statistics\n"}); w.Valid || s.Valid {
		t.Errorf("without statistics = %v, %v; want null", w, s)
	}
}

func TestMeterCountsThisProcess(t *testing.T) {
	m := NewMeter()
	defer m.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		var c run.Client
		m.Read(&c, time.Second)
		if c.CPUUserNS.V+c.CPUSystemNS.V > 0 {
			if !c.RSSBytes.Valid || c.RSSBytes.V < 1<<20 || c.OpenFDs.V < 3 || !c.GCPauses.Valid {
				t.Errorf("Read = %+v; want RSS, descriptors and GC counts", c)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no CPU time counted")
		}
		x := 0.0
		for i := range 1_000_000 {
			x += 1 / (1 + strconv.IntSize*float64(i))
		}
		if x < 0 {
			t.Fatal(x)
		}
	}
}

func TestFacts(t *testing.T) {
	f := Facts()
	if f.CPUs < 1 || f.CPUsAllowed < 1 || f.Kernel == "" || f.ClockSync == "" || Usable() < 1 || Usable() > f.CPUsAllowed {
		t.Errorf("Facts() = %+v, Usable() = %d", f, Usable())
	}
}
