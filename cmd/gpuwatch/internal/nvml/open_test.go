//go:build cgo && linux

package nvml

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/internal/fixture"
)

// TestMain lets the test run itself as a child whose loader finds another library.
func TestMain(m *testing.M) {
	if os.Getenv("HYDRANT_NVML_CHILD") != "" {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// seen is what the child prints: the devices, two readings of each, and errors.
type seen struct {
	Driver  string
	Devices []Identity
	Read    []Reading
	Errs    []string
}

func child() {
	var s seen
	fail := func(err error) {
		text := err.Error()
		var u *UnavailableError
		if errors.As(err, &u) {
			text += "; " + u.Hint()
		}
		s.Errs = append(s.Errs, text)
	}
	lib, err := Open()
	if err != nil {
		fail(err)
	} else {
		s.Driver = lib.Driver()
		ds, err := lib.Devices()
		if err != nil {
			fail(err)
		}
		for _, d := range ds {
			s.Devices = append(s.Devices, d.Identity())
			for range 2 {
				r, err := d.Read()
				if err != nil {
					fail(err)
					continue
				}
				for _, f := range r.Failed {
					s.Errs = append(s.Errs, f.Query+": "+f.Err.Error())
				}
				r.Failed = nil
				s.Read = append(s.Read, r)
			}
		}
		if err := lib.Close(); err != nil {
			fail(err)
		}
	}
	b, _ := json.Marshal(s)
	fmt.Println(string(b))
}

// fake compiles the library without a driver and returns its folder.
func fake(t *testing.T, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		cc, err = exec.LookPath("gcc")
	}
	fixture.Need(t, err == nil, "no C compiler to build the fake library with")
	dir := t.TempDir()
	args := append([]string{"-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/fake.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
	return dir
}

// look runs the child with a library folder and what it pretends.
func look(t *testing.T, dir, pretend string) (s seen) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "HYDRANT_NVML_CHILD=1", "LD_LIBRARY_PATH="+dir, "FAKE_NVML="+pretend)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("child printed %s: %v", out, err)
	}
	return s
}

func some(v int64) formats.Int { return formats.Some(v) }

func TestReadings(t *testing.T) {
	full := Reading{UtilizationPPM: some(970_000), MemoryActivityPPM: some(410_000), MemoryUsedBytes: some(70 << 30), MemoryTotalBytes: some(80 << 30),
		PowerMW: some(650_123), PowerLimitMW: some(700_000), EnergyMJ: some(123_456_789_012), TemperatureC: some(61), SMClockMHz: some(1980),
		MemoryClockMHz: some(2619), ThrottleReasons: some(4), ThrottlePowerNS: some(74_000), ThrottleThermalNS: some(269_000 + 270_000)}
	mig := Reading{MemoryUsedBytes: some(70 << 30), MemoryTotalBytes: some(80 << 30), PowerMW: some(650_123)}
	want := seen{Driver: "570.1", Devices: []Identity{
		{Index: 0, UUID: "GPU-fake-0", Name: "Fake Card", MemoryTotalBytes: some(80 << 30), PowerLimitMW: some(700_000)},
		{Index: 1, UUID: "GPU-fake-1", Name: "Fake Card", MemoryTotalBytes: some(80 << 30)},
	}, Read: []Reading{full, full, mig, mig}}
	dir := fake(t)
	if d := cmp.Diff(want, look(t, dir, "")); d != "" {
		t.Errorf("devices (-want +got):\n%s", d)
	}

	// A driver of before 535 lacks functions: the process lives, the values are
	// null or come by their old names.
	got := look(t, fake(t, "-DOLD"), "devices=1")
	old := full
	old.MemoryUsedBytes, old.ThrottleReasons = some(71<<30), some(5)
	old.EnergyMJ, old.ThrottlePowerNS, old.ThrottleThermalNS = formats.Int{}, formats.Int{}, formats.Int{}
	if d := cmp.Diff([]Reading{old, old}, got.Read); d != "" {
		t.Errorf("old driver (-want +got):\n%s", d)
	}

	got = look(t, dir, "devices=1 lost=1")
	if len(got.Read) != 1 || cmp.Diff([]string{ErrLost.Error()}, got.Errs) != "" {
		t.Errorf("lost device = %d readings, %q; want 1 and %q", len(got.Read), got.Errs, ErrLost)
	}
	got = look(t, dir, "devices=1 power=4")
	if len(got.Read) != 2 || got.Read[0].PowerMW.Valid || !got.Read[0].PowerLimitMW.Valid || cmp.Diff([]string{"power: fake error 4", "power: fake error 4"}, got.Errs) != "" {
		t.Errorf("forbidden power = %+v; want null, the rest, and the query's error", got)
	}
}

func TestUnavailable(t *testing.T) {
	dir := fake(t)
	for _, c := range []struct{ dir, pretend, want string }{
		{dir, "devices=0", "nvml: the driver has no devices; --optional"},
		{dir, "init=9", "nvml: NVIDIA's driver is not loaded; modprobe nvidia"},
		{dir, "init=18", "nvml: the library and the loaded driver are of different versions; reboot"},
		{dir, "init=999", "nvml: init: fake error 999; --optional"},
	} {
		got := look(t, c.dir, c.pretend)
		if len(got.Errs) != 1 || !strings.HasPrefix(got.Errs[0], c.want) {
			t.Errorf("%s: %q; want %q", c.pretend, got.Errs, c.want)
		}
	}
	// A library that is not one: not found, as without a driver.
	none := t.TempDir()
	if err := os.WriteFile(filepath.Join(none, "libnvidia-ml.so.1"), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(t, none, ""); len(got.Errs) != 1 || !strings.HasPrefix(got.Errs[0], "nvml: libnvidia-ml.so.1: not found; install") {
		t.Errorf("no library: %q", got.Errs)
	}
}
