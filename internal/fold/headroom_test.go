package fold

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// calibratedRun is a run of rows with a calibration.
func calibratedRun(t *testing.T, seed uint64, change func(*run.Header, *run.Calibration)) (*summary.Summary, []run.Request) {
	t.Helper()
	h := testHeader()
	kappa, same := 1.25, 0.5
	c := run.Calibration{Status: run.Measured, Build: h.Build, Engine: h.Engine, Workers: h.Workers, Host: h.Host,
		Profile: run.Profile{Endpoint: h.Endpoint, Streaming: h.Streaming},
		Ceiling: &run.Rates{RequestsPS: 1000, EventsPS: 8000, BytesPS: 3e6}, Offered: &run.Rates{RequestsPS: 20, EventsPS: 200, BytesPS: 1e5},
		AtOffered: &run.Point{Kappa: &kappa, SameReadGaps: &same}}
	change(&h, &c)
	rows := randomRows(seed, 600)
	end := run.End{Status: run.Complete, Planned: 600, Detail: run.Detail{Calibration: &c, Totals: run.Totals{BytesSent: 4e6, BytesReceived: 6e6}}}
	return reduce(t, whole(), encode(t, h, rows, nil, end, 100)), rows
}

// Headroom is the least of three ratios; kappa and the gaps of one read are taken less
// those of the null run.
func TestHeadroom(t *testing.T) {
	s, rows := calibratedRun(t, 3, func(*run.Header, *run.Calibration) {})
	want := map[string]float64{"headroom_requests": 50, "headroom_events": 40, "headroom_bytes": 30, "headroom": 30, "kappa_null": 1.25, "same_read_null": 0.5}
	want["kappa_excess"] = *scalarOf(t, s, "kappa").Value - 1.25
	want["same_read_excess"] = *scalarOf(t, s, "same_read_gaps").Value - 0.5
	want["headroom_peak"] = 1000 / naivePeak(rows, s.Window, naiveU)
	for id, w := range want {
		if x := scalarOf(t, s, id); x.Value == nil || !near(*x.Value, w) {
			t.Errorf("%s = %v (%s); want %v", id, value(x.Value), x.Reason, w)
		}
	}
	if x := scalarOf(t, s, "headroom"); x.Evidence != "bytes" {
		t.Errorf("headroom by %q; want bytes", x.Evidence)
	}
}

// naivePeak is the count of the p99 second.
func naivePeak(rows []run.Request, w summary.Window, at func(*run.Request) formats.Int) float64 {
	counts := make([]int64, (w.ToNS-w.FromNS)/second)
	for i := range rows {
		if t := at(&rows[i]); t.Valid && t.V >= w.FromNS && (t.V-w.FromNS)/second < int64(len(counts)) {
			counts[(t.V-w.FromNS)/second]++
		}
	}
	return nth(counts, 990)
}

// Where the plan has no rates, what was sent stands in for it.
func TestHeadroomOfWhatWasSent(t *testing.T) {
	s, rows := calibratedRun(t, 4, func(_ *run.Header, c *run.Calibration) {
		near, far := 1.5, 9.0
		c.Offered, c.AtOffered = nil, nil
		c.Points = []run.Point{{Sent: run.Rates{RequestsPS: 1}, Kappa: &far}, {Sent: run.Rates{RequestsPS: 40}, Kappa: &near}, {Sent: run.Rates{RequestsPS: 900}, Kappa: &far}}
	})
	if x := scalarOf(t, s, "kappa_null"); value(x.Value) != 1.5 {
		t.Errorf("kappa_null = %v; want that of the nearest load, 1.5", value(x.Value))
	}
	seconds := float64(s.Window.ToNS-s.Window.FromNS) / 1e9
	var sent, events, asked float64
	for i := range rows {
		q := &rows[i]
		if !q.ConnAskedNS.Valid {
			continue
		}
		asked++
		if q.ConnAskedNS.V >= s.Window.FromNS && q.ConnAskedNS.V < s.Window.ToNS {
			sent++
			events += float64(q.TokenEvents.Or(0))
		}
	}
	for id, w := range map[string]float64{"headroom_requests": 1000 * seconds / sent, "headroom_events": 8000 * seconds / events,
		"headroom_bytes": 3e6 * seconds / (1e7 / asked * sent),
		"headroom_peak":  1000 / naivePeak(rows, s.Window, func(q *run.Request) formats.Int { return q.ConnAskedNS })} {
		if x := scalarOf(t, s, id); x.Value == nil || !near(*x.Value, w) {
			t.Errorf("%s = %v (%s); want %v", id, value(x.Value), x.Reason, w)
		}
	}
}

// A calibration of another generator proves nothing about this one.
func TestHeadroomOfAnotherGeneratorIsNone(t *testing.T) {
	for says, change := range map[string]func(*run.Header, *run.Calibration){
		"another host: elsewhere":      func(_ *run.Header, c *run.Calibration) { c.Host.Hostname = "elsewhere" },
		"another kernel":               func(_ *run.Header, c *run.Calibration) { c.Host.Kernel = "5.4" },
		"another Go version":           func(_ *run.Header, c *run.Calibration) { c.Host.Go = "go1.0" },
		"another number of CPUs":       func(_ *run.Header, c *run.Calibration) { c.Host.CPUsAllowed = 64 },
		"another build":                func(_ *run.Header, c *run.Calibration) { c.Build = "old" },
		"another engine":               func(_ *run.Header, c *run.Calibration) { c.Engine = "other" },
		"another number of workers: 9": func(_ *run.Header, c *run.Calibration) { c.Workers = 9 },
		"another endpoint":             func(_ *run.Header, c *run.Calibration) { c.Profile.Endpoint = "completions" },
		"another streaming":            func(_ *run.Header, c *run.Calibration) { c.Profile.Streaming = false },
		"another setting of --chunks":  func(_ *run.Header, c *run.Calibration) { c.Profile.ChunkLists = "off" },
		"another kind of prompt":       func(_ *run.Header, c *run.Calibration) { c.Profile.Prompt = "text" },
		"another GOMAXPROCS":           func(_ *run.Header, c *run.Calibration) { c.Profile.WorkerProcs = 3 },
		"another injected slowness":    func(h *run.Header, _ *run.Calibration) { h.Injected = map[string]string{"client_work": "20us"} },
		"it was too slow":              func(_ *run.Header, c *run.Calibration) { c.Ceiling, c.Reason = nil, "it was too slow" },
		"the run was not calibrated":   func(_ *run.Header, c *run.Calibration) { c.Ceiling = nil },
	} {
		s, _ := calibratedRun(t, 5, change)
		for _, id := range calibrated {
			if x := scalarOf(t, s, id); x.Value != nil || !strings.Contains(x.Reason, says) {
				t.Errorf("%s = %v (%s); want none, since %s", id, value(x.Value), x.Reason, says)
			}
		}
	}
	if math.IsNaN(lower(math.NaN(), 1)) || lower(2, math.NaN()) != 2 || lower(1, 2) != 1 {
		t.Error("lower does not leave out what is missing")
	}
}

// The rows of a worker without client rows are told apart from miscounted ones.
func TestWorkerWithoutClientRows(t *testing.T) {
	rows := randomRows(6, 500)
	clients := clientRows(6, rows, 20)
	clients = slices.DeleteFunc(clients, func(c run.Client) bool { return c.Worker == 1 })
	s := reduce(t, whole(), encode(t, testHeader(), rows, clients, run.End{}, 100))
	n := 0.0
	p := inWindow(rows, s.Window)
	for _, q := range p {
		if q.Worker.Or(-1) == 1 {
			n++
		}
	}
	if x := scalarOf(t, s, "unseen_share"); x.Value == nil || *x.Value != n/float64(len(p)) || x.Evidence != "worker 1 of part 0 left no client row" {
		t.Errorf("unseen_share = %v (%s); want %v", value(x.Value), x.Evidence, n/float64(len(p)))
	}
	if x := scalarOf(t, s, "dispatched_gap"); value(x.Value) != 0 {
		t.Errorf("dispatched_gap = %v; want 0", value(x.Value))
	}
}
