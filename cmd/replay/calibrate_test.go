package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// calibratedRun replays a small plan with a short calibration and returns its run.
func calibratedRun(t *testing.T, args ...string) (name string, res *result, said string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "run.arrows")
	plan := planFile(t, requests(20, 25*time.Millisecond))
	p := replay(t, 0, append([]string{plan, "--workers", "2", "-o", name}, args...)...)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, read(t, b), p.said()
}

func requests(n int, gap time.Duration) []schedule.Request {
	all := make([]schedule.Request, n)
	for i := range all {
		all[i] = request(i, time.Duration(i)*gap)
	}
	return all
}

func TestCalibration(t *testing.T) {
	name, res, said := calibratedRun(t, "--sim", "default", "--calibrate", "1s")
	c := res.end.Detail.Calibration
	if res.header.Calibration != "1s" || c == nil || c.Status != format.Measured || c.Ceiling == nil || c.Offered == nil || len(c.Points) == 0 || c.AtOffered == nil {
		t.Fatalf("header %q, calibration %+v\n%s", res.header.Calibration, c, said)
	}
	if c.Build != res.header.Build || c.Engine != res.header.Engine || c.Workers != 2 || c.Host.Kernel != res.header.Host.Kernel || c.Profile.Lines != 20 || c.DurationNS <= 0 {
		t.Errorf("calibrated as %+v", c)
	}
	if got := c.Offered.RequestsPS; got < 39.9 || got > 40.1 {
		t.Errorf("offered %g requests/s; want 40", got)
	}
	for i, p := range c.Points {
		if p.Kappa == nil || p.CPUShare == nil || !p.LagP99NS.Valid || !p.HiccupThreadNS.Valid || p.Held != (p.Broke == "") || p.Sent.BytesPS <= 0 ||
			i > 0 && p.Offered.RequestsPS <= c.Points[i-1].Offered.RequestsPS {
			t.Errorf("point %d: %+v", i, p)
		}
	}
	if !strings.Contains(said, " · ceiling ") || !strings.Contains(said, " x offered") {
		t.Errorf("the last words have no ceiling:\n%s", said)
	}
	if len(res.rows) != 20 {
		t.Errorf("%d rows; want the 20 of the plan and none of the calibration", len(res.rows))
	}

	_, res, _ = calibratedRun(t, "--sim", "default", "--calibration", name)
	if r := res.end.Detail.Calibration; res.header.Calibration != format.Reused || r == nil || r.Status != format.Reused || r.WallNS != c.WallNS || *r.Ceiling != *c.Ceiling {
		t.Errorf("reused as %q, %+v; want the ceiling %+v", res.header.Calibration, r, c.Ceiling)
	}
	plan := planFile(t, requests(20, 25*time.Millisecond))
	p := replay(t, 3, plan, "--workers", "1", "--sim", "default", "--calibration", name, "-o", name+".new")
	if !strings.Contains(p.said(), `calibration: workers: got "2", want "1"`) {
		t.Errorf("another number of workers: %s", p.said())
	}
	if _, err := os.Stat(name + ".new"); err == nil {
		t.Error("a calibration that does not fit left an output")
	}
}

// A run whose load is not known before is held against what it sent.
func TestCalibrationOfAClosedLoop(t *testing.T) {
	_, res, said := calibratedRun(t, "--null", "--closed", "2", "--calibrate", "500ms")
	c := res.end.Detail.Calibration
	if c == nil || c.Ceiling == nil || c.Offered != nil || c.AtOffered == nil || !c.Profile.Caps || c.Profile.EventGapNS != 0 {
		t.Errorf("calibration %+v\n%s", c, said)
	}
	if !strings.Contains(said, " x sent") {
		t.Errorf("the last words have no ceiling:\n%s", said)
	}
}

func TestCalibrationOffAndFailed(t *testing.T) {
	_, res, said := calibratedRun(t, "--null", "--calibrate", "off")
	if c := res.end.Detail.Calibration; res.header.Calibration != "off" || c == nil || c.Status != format.CalibrationOff || c.Reason == "" || c.Ceiling != nil ||
		!strings.Contains(said, "INVALID") {
		t.Errorf("off: %q, %+v\n%s", res.header.Calibration, c, said)
	}
	// A single request per 10^-9 s is beyond what is tried.
	name := filepath.Join(t.TempDir(), "run.arrows")
	p := replay(t, 0, planFile(t, requests(1000, time.Nanosecond)), "--workers", "1", "--null", "--calibrate", "1s", "-o", name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if c := read(t, b).end.Detail.Calibration; c.Status != format.CalibrationFailed || c.Ceiling != nil || !strings.Contains(c.Reason, "more than a calibration tries") ||
		!strings.Contains(p.said(), c.Reason) {
		t.Errorf("failed: %+v\n%s", c, p.said())
	}
}

func TestCalibrationInterrupted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.arrows")
	p := start(t, nil, planFile(t, requests(20, 25*time.Millisecond)), "--workers", "1", "--sim", "default", "--calibrate", "60s", "-o", name)
	until(t, "a worker of a calibration", func() bool { return len(children(t, p.Process.Pid, "worker-of-replay")) > 0 })
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if status := p.end(); status != 130 {
		t.Errorf("status %d; want 130\n%s", status, p.said())
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("an interrupted calibration left an output")
	}
}
