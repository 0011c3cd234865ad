package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hydrant/formats/gpu"
	"hydrant/internal/cli"
	"hydrant/internal/fixture"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gpuwatch": main,
		"show":     func() { os.Exit(show(os.Args[1])) },
	})
}

// TestScripts runs the tool against a library without a driver, so that it passes
// on hosts without a device: scripts set LD_LIBRARY_PATH to $FAKE, or to an empty
// folder for a host without a driver.
func TestScripts(t *testing.T) {
	fake := t.TempDir()
	cc, err := exec.LookPath("cc")
	fixture.Need(t, err == nil && cgoEnabled, "the fake NVML needs cgo and a C compiler")
	out, err := exec.Command(cc, "-shared", "-fPIC", "-o", filepath.Join(fake, "libnvidia-ml.so.1"), "internal/nvml/testdata/fake.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A file that is no library hides the driver of a host that has one.
	none := t.TempDir()
	if err := os.WriteFile(filepath.Join(none, "libnvidia-ml.so.1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("HYDRANT_GOLDEN") == "write",
		Setup: func(e *testscript.Env) error {
			e.Setenv("FAKE", fake)
			e.Setenv("LD_LIBRARY_PATH", none)
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// status runs a tool and compares its exit status: status 3 gpuwatch.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args…]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: status %s; want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// show prints what is in a gpu stream: the facts of its header and end, and per
// device the rows, the columns with a value, and how often the interval was null.
func show(name string) int {
	f, err := os.Open(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer f.Close()
	r, err := gpu.NewReader(f, name)
	for err == nil {
		var p *gpu.Part
		if p, err = r.NextPart(); err == nil {
			err = showPart(p)
		}
	}
	if err != io.EOF {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func showPart(p *gpu.Part) error {
	h := p.Header()
	fmt.Printf("header driver=%q period=%d devices=%d labels=%v reason=%q\n", h.Driver, h.PeriodNS, len(h.Devices), h.Labels, h.Reason)
	rows, first, has := map[string]int{}, map[string]int{}, map[string]map[string]bool{}
	for {
		s, err := p.NextSample()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		rows[s.UUID]++
		if !s.IntervalNS.Valid {
			first[s.UUID]++
		}
		if has[s.UUID] == nil {
			has[s.UUID] = map[string]bool{}
		}
		for name, v := range map[string]bool{"utilization": s.UtilizationPPM.Valid, "memory": s.MemoryUsedBytes.Valid, "power": s.PowerMW.Valid,
			"limit": s.PowerLimitMW.Valid, "energy": s.EnergyMJ.Valid, "temperature": s.TemperatureC.Valid, "clocks": s.SMClockMHz.Valid && s.MemoryClockMHz.Valid,
			"reasons": s.ThrottleReasons.Valid, "throttled": s.ThrottlePowerNS.Valid && s.ThrottleThermalNS.Valid} {
			has[s.UUID][name] = has[s.UUID][name] || v
		}
	}
	for _, uuid := range slices.Sorted(maps.Keys(rows)) {
		var names []string
		for _, n := range slices.Sorted(maps.Keys(has[uuid])) {
			if has[uuid][n] {
				names = append(names, n)
			}
		}
		fmt.Printf("%s rows=%d first=%d %s\n", uuid, rows[uuid], first[uuid], strings.Join(names, " "))
	}
	e, err := p.End()
	if err != nil {
		return err
	}
	fmt.Printf("end status=%s reason=%q rows=%d\n", e.Status, e.Reason, e.GPURows)
	return nil
}

func TestCommandLineIsDeclaredWell(t *testing.T) {
	for _, fault := range cli.Audit(app()) {
		t.Error(fault)
	}
}
