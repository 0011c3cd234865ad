package calibrate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
)

// calibrated writes a run whose end has c, and returns its name.
func calibrated(t *testing.T, c *run.Calibration) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "run.arrows")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := run.NewWriter(f, run.Header{}, nil)
	if err == nil {
		err = w.Close(run.End{Status: run.Complete, Detail: run.Detail{Calibration: c}})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// reusable returns the options of a run and a calibration that fits it.
func reusable(t *testing.T) (Options, *run.Calibration) {
	t.Helper()
	s, err := sampleOf(t, text(t, 50, 100*time.Millisecond, 300, 200), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	setup := link.Setup{Engine: link.Epoll, Endpoint: "chat", Prompt: "text", Stream: true, Chunks: true, GOMAXPROCS: 4, Nice: -10}
	o := Options{Sample: s, Open: true, Workers: 2, Setup: setup, Host: run.Host{Hostname: "h", Kernel: "6", BootID: "now", Arch: "amd64", Go: "go1.26", CPUs: 2, CPUsAllowed: 2}}
	o.Profile = ProfileOf(s, setup, map[string]string{"client_work": "20us"}, nil)
	c := newResult(o)
	c.WallNS, c.Host.BootID = 77, "before"
	c.Profile.BodyBytes = formats.Some(2000)
	for _, times := range []float64{1, 2, 4} {
		r := run.Rates{RequestsPS: 10 * times, EventsPS: 2000 * times, BytesPS: 10*times*2000 + 2000*times*200}
		c.Points = append(c.Points, run.Point{Offered: r, Sent: r, SentShare: 1, Through: true, Held: true})
	}
	c.Settle(1)
	return o, c
}

func TestReuse(t *testing.T) {
	o, c := reusable(t)
	got, err := Reuse(calibrated(t, c), o)
	if err != nil {
		t.Fatal(err)
	}
	offered := run.Rates{RequestsPS: 10, EventsPS: 2000, BytesPS: 10*2000 + 2000*200}
	if got.Status != run.Reused || got.WallNS != 77 || *got.Offered != offered || got.Ceiling.RequestsPS != 40 || !got.AtLeast || got.AtOffered.Offered.RequestsPS != 10 {
		t.Errorf("reused as %+v; want a ceiling of 40 requests/s for an offered %+v", got, offered)
	}
	o.Open = false
	if got, err = Reuse(calibrated(t, c), o); err != nil || got.Offered != nil || got.Ceiling == nil {
		t.Errorf("for a closed loop: %+v, %v; want no offered load", got, err)
	}
}

// Every field that a ceiling depends on refuses a calibration when it differs, and is
// named.
func TestReuseRefused(t *testing.T) {
	half := 0.5
	for what, change := range map[string]func(*run.Calibration){
		"host":                     func(c *run.Calibration) { c.Host.Hostname = "other" },
		"kernel":                   func(c *run.Calibration) { c.Host.Kernel = "5" },
		"architecture":             func(c *run.Calibration) { c.Host.Arch = "arm64" },
		"Go version":               func(c *run.Calibration) { c.Host.Go = "go1.25" },
		"CPUs":                     func(c *run.Calibration) { c.Host.CPUs = 4 },
		"CPUs allowed":             func(c *run.Calibration) { c.Host.CPUsAllowed = 1 },
		"CPU quota":                func(c *run.Calibration) { c.Host.CPUQuota = &half },
		"build":                    func(c *run.Calibration) { c.Build = "other" },
		"engine":                   func(c *run.Calibration) { c.Engine = link.HTTP },
		"workers":                  func(c *run.Calibration) { c.Workers = 1 },
		"profile endpoint":         func(c *run.Calibration) { c.Profile.Endpoint = "completions" },
		"profile streaming":        func(c *run.Calibration) { c.Profile.Streaming = false },
		"profile prompt":           func(c *run.Calibration) { c.Profile.Prompt = "tokens" },
		"profile chunks":           func(c *run.Calibration) { c.Profile.ChunkLists = "off" },
		"profile worker_procs":     func(c *run.Calibration) { c.Profile.WorkerProcs = 1 },
		"profile nice":             func(c *run.Calibration) { c.Profile.Nice = 0 },
		"profile spin_ns":          func(c *run.Calibration) { c.Profile.SpinNS = 1 },
		"profile caps":             func(c *run.Calibration) { c.Profile.Caps = true },
		"profile injected":         func(c *run.Calibration) { c.Profile.Injected = nil },
		"profile stagger":          func(c *run.Calibration) { c.Profile.Stagger = false },
		"profile tokens_per_event": func(c *run.Calibration) { c.Profile.TokensPerEvent = 2 },
		"profile event_gap_ns":     func(c *run.Calibration) { c.Profile.EventGapNS = 0 },
		"profile input_tokens":     func(c *run.Calibration) { c.Profile.InputTokens *= 1.06 },
		"profile literal_bytes":    func(c *run.Calibration) { c.Profile.LiteralBytes = 1 },
		"profile output_tokens":    func(c *run.Calibration) { c.Profile.OutputTokens /= 1.06 },
	} {
		o, c := reusable(t)
		change(c)
		_, err := Reuse(calibrated(t, c), o)
		var hint interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), "calibration: "+what+": got ") || !errors.As(err, &hint) {
			t.Errorf("another %s: %v; want an error that names it, with a hint", what, err)
		}
	}
	o, c := reusable(t)
	c.Profile.InputTokens *= 1.04
	if _, err := Reuse(calibrated(t, c), o); err != nil {
		t.Errorf("prompts 4 %% longer: %v; want none", err)
	}
	c.Ceiling = nil
	for what, name := range map[string]string{"no ceiling": calibrated(t, c), "no calibration": calibrated(t, nil)} {
		if _, err := Reuse(name, o); err == nil || !strings.Contains(err.Error(), "got none") {
			t.Errorf("%s: %v; want that there is none", what, err)
		}
	}
	if _, err := Reuse("nowhere", o); err == nil {
		t.Error("a file that is not there is no error")
	}
}
