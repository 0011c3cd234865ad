package fold

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"

	"hydrant/formats/gpu"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// watch writes a gpu stream of the given samples.
func watch(t *testing.T, h gpu.Header, samples []gpu.Sample) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gpu.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Samples(samples); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(gpu.End{Status: run.Complete}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sampled makes samples of one device every period from one offset to another,
// relative to the epoch of testHeader, on both clocks.
func sampled(uuid string, index int64, from, to, period int64, set func(t int64, s *gpu.Sample)) []gpu.Sample {
	h := testHeader()
	var out []gpu.Sample
	for t := from; t <= to; t += period {
		s := gpu.Sample{WallNS: h.Epoch.WallNS + t, MonotonicNS: h.Epoch.MonotonicNS + t, IntervalNS: some(period), Host: "gpuhost", Source: "nvml", Index: index, UUID: uuid, Name: "card"}
		if t == from {
			s.IntervalNS = formats.Int{}
		}
		set(t, &s)
		out = append(out, s)
	}
	return out
}

const watt = 1000 // mW

// ramp is a device whose power rises by 1 W each second from 100 W at the epoch.
func ramp(t int64, s *gpu.Sample) {
	s.PowerMW = some(100*watt + t/1_000_000)
	// The integral of power, J in mJ: 100 t + t²/2 with t in s.
	x := float64(t) / 1e9
	s.EnergyMJ = some(int64(math.Round(1000 * (1_000_000 + 100*x + x*x/2))))
	s.UtilizationPPM = some(0)
	if t > 20*second {
		s.UtilizationPPM = some(900_000)
	}
	s.TemperatureC = some(40 + t/(10*second))
	s.ThrottlePowerNS = some((t + 60*second) / 4)
}

// timedRun is a run whose window is exactly 10 s to 40 s.
func timedRun(t *testing.T) ([]byte, Options) {
	rows := steadyRows(60, 5, func(int) int64 { return 50_000_000 })
	for i := range rows {
		rows[i].InputTokens = some(90)
	}
	from := rows[0].DueNS.V
	return encode(t, testHeader(), rows, nil, run.End{}, 100), Options{Window: &Span{FromNS: 10*second - from, ToNS: some(40*second - from)}}
}

func TestGPU(t *testing.T) {
	b, o := timedRun(t)
	h := gpu.Header{Build: "test", Host: "gpuhost", BootID: "boot", PeriodNS: second / 10}
	two := append(sampled("u0", 0, -5*second, 70*second, second/10, ramp), sampled("u1", 1, -5*second, 70*second, second/4, ramp)...)
	slices.SortStableFunc(two, func(a, b gpu.Sample) int { return int(min(1, max(-1, a.MonotonicNS-b.MonotonicNS))) })
	for i := range two {
		two[i].WallNS = 5 // on the same host the wall clock is not asked
	}
	s := reduce(t, o, watch(t, h, two), b)
	if len(s.GPUs) != 2 || s.GPUs[0].UUID != "u0" || s.GPUs[1].UUID != "u1" || s.GPUs[0].Reason != "" || s.GPUNote != "" {
		t.Fatalf("devices %+v, note %q", s.GPUs, s.GPUNote)
	}
	// From 10 s to 40 s: 100·30 + (40² − 10²)/2 = 3750 J, 125 W.
	for _, d := range s.GPUs {
		for name, want := range map[string]float64{"energy_j": 3750, "energy_trapezoid_j": 3750, "energy_check": 0, "utilization_mean": 0.6, "utilization_max": 0.9,
			"utilization_min": 0, "utilization_p50": 0.9, "utilization_p95": 0.9, "temperature_c_min": 41, "temperature_c_max": 44, "throttled_share_power": 0.25} {
			tolerance := 1e-3 * max(1, want)
			if v := d.Values[name]; v == nil || math.Abs(*v-want) > tolerance {
				t.Errorf("%s of %s = %v; want %v", name, d.UUID, value(v), want)
			}
		}
		if v := d.Values["power_w_mean"]; v == nil || math.Abs(*v-125) > 0.2 {
			t.Errorf("mean power of %s = %v; want 125", d.UUID, value(v))
		}
		if v := d.Values["sm_active_mean"]; v != nil {
			t.Errorf("sm_active = %v though no sample has it", *v)
		}
	}
	for id, want := range map[string]float64{"gpu_devices": 2, "energy": 7500, "power": 250, "throttled_share_power": 0.25, "ok_rps_per_gpu": 2.5, "out_tps_per_gpu": 25,
		"j_per_out_token": 5, "j_per_token": 0.5, "tokens_per_j": 0.2} {
		v := scalarOf(t, s, id)
		if v.Value == nil || math.Abs(*v.Value-want) > 0.01*want {
			t.Errorf("%s = %v (%s); want %v", id, value(v.Value), v.Reason, want)
		}
	}
	// All 150 requests of the window are good by a limit that all keep, none by one that
	// none keeps; without a limit there is no number. A summary is asked again.
	for slo, want := range map[string]float64{"": 0, "e2e:p50<3600s": 50, "e2e:p50<1ns": 0} {
		if o.SLO = nil; slo != "" {
			o.SLO = objectives(t, slo)
		}
		fresh, again := s, reduce(t, Options{SLO: o.SLO}, written(t, s))
		if slo != "" {
			fresh = reduce(t, o, watch(t, h, two), b)
		}
		x, y := scalarOf(t, fresh, "j_per_good_request"), scalarOf(t, again, "j_per_good_request")
		if d := cmp.Diff(x, y); d != "" {
			t.Errorf("%q: from the run and from its summary: %s", slo, d)
		}
		if (x.Value != nil) != (want > 0) || math.Abs(value(x.Value)-want) > 0.01*want {
			t.Errorf("%q: %v J per good request (%s); want %v", slo, value(x.Value), x.Reason, want)
		}
	}
	if e := scalarOf(t, s, "energy").Evidence; e != "counter" {
		t.Errorf("energy by %q; want the counter", e)
	}
}

// What keeps a device's values, and all totals, from being computed.
func TestGPURefused(t *testing.T) {
	b, o := timedRun(t)
	h := gpu.Header{Build: "test", Host: "gpuhost", BootID: "boot", PeriodNS: second}
	other := h
	other.BootID = "elsewhere"
	good := sampled("u0", 0, 0, 60*second, second, ramp)
	short := Options{Window: &Span{FromNS: 20 * second, ToNS: some(35 * second)}}
	cases := []struct {
		name   string
		h      gpu.Header
		o      Options
		s      []gpu.Sample
		reason string
		energy string // reason of the total, "" when there is one
	}{
		{"whole", h, o, good, "", ""},
		{"other host, long window", other, o, good, "", ""},
		{"other host, short window", other, short, good, "clock_unbounded", "device 0 of gpuhost: clock_unbounded"},
		{"short window", h, short, good, "", "device 0 of gpuhost has no energy over a window of at least 20 s"},
		{"late start", h, o, good[15:], "not_bracketed", "device 0 of gpuhost: not_bracketed"},
		{"early end", h, o, good[:30], "not_bracketed", "device 0 of gpuhost: not_bracketed"},
		{"hole", h, o, append(slices.Clone(good[:20]), good[24:]...), "gap", "device 0 of gpuhost: gap"},
		{"hole outside", h, o, append(slices.Clone(good[:50]), good[58:]...), "", ""},
		{"backwards", h, o, append(slices.Clone(good), good[3]), "unordered", "device 0 of gpuhost: unordered"},
		{"lost", h, o, append(slices.Clone(good[:30]), sampled("u1", 1, 0, 60*second, second, ramp)...), "device_lost", "device 0 of gpuhost: device_lost"},
	}
	for _, c := range cases {
		s := reduce(t, c.o, b, watch(t, c.h, c.s))
		d := s.GPUs[0]
		if d.Reason != c.reason {
			t.Errorf("%s: reason %q; want %q", c.name, d.Reason, c.reason)
		}
		if v := d.Values["power_w_mean"]; (v == nil) != (c.reason != "") {
			t.Errorf("%s: mean power %v", c.name, value(v))
		}
		e := scalarOf(t, s, "energy")
		if e.Reason != c.energy || (e.Value == nil) != (c.energy != "") {
			t.Errorf("%s: energy %v, %q; want %q", c.name, value(e.Value), e.Reason, c.energy)
		}
	}

	reset := slices.Clone(good)
	for i := 25; i < len(reset); i++ {
		reset[i].EnergyMJ.V -= 1_000_000_000
	}
	s := reduce(t, o, b, watch(t, h, reset))
	if v := s.GPUs[0].Values["energy_j"]; v != nil {
		t.Errorf("energy over a reset counter = %v; want null", *v)
	}
	if e := scalarOf(t, s, "energy"); e.Evidence != "trapezoid of power" || math.Abs(value(e.Value)-3750) > 10 {
		t.Errorf("energy %v by %q; want 3750 by the trapezoid", value(e.Value), e.Evidence)
	}
}

// Values that no device has are damage, and no mean is taken of them.
func TestSamplesRefused(t *testing.T) {
	b, o := timedRun(t)
	for want, set := range map[string]func(s *gpu.Sample){
		`utilization_ppm: got "1000001", want 0 to 1000000`: func(s *gpu.Sample) { s.UtilizationPPM = some(1_000_001) },
		`memory_activity_ppm: got "-1"`:                     func(s *gpu.Sample) { s.MemoryActivityPPM = some(-1) },
		`power_mw: got "-5", want 0 to 9007199254740992`:    func(s *gpu.Sample) { s.PowerMW = some(-5) },
		`power_mw: got "4611686018427387904"`:               func(s *gpu.Sample) { s.PowerMW = some(1 << 62) },
		`energy_mj: got "9223372036854775807"`:              func(s *gpu.Sample) { s.EnergyMJ = some(1<<63 - 1) },
		`memory_used_bytes: got "9223372036854775807"`:      func(s *gpu.Sample) { s.MemoryUsedBytes = some(1<<63 - 1) },
		`interval_ns: got "-1"`:                             func(s *gpu.Sample) { s.IntervalNS = some(-1) },
		`index: got "-1"`:                                   func(s *gpu.Sample) { s.Index = -1 },
		`temperature_c: got "-274", want -273 to`:           func(s *gpu.Sample) { s.TemperatureC = some(-274) },
		`nvlink_rx_bytes: got "-1"`:                         func(s *gpu.Sample) { s.NVLinkRxBytes = some(-1) },
		`sampler_missed: got "-1"`:                          func(s *gpu.Sample) { s.SamplerMissed = some(-1) },
	} {
		samples := sampled("u0", 0, 0, 50*second, second, func(at int64, s *gpu.Sample) {
			if at == 30*second {
				set(s)
			}
		})
		err := fails(t, o, b, watch(t, gpu.Header{BootID: "boot"}, samples))
		if !strings.HasPrefix(err.Error(), "b: sample of device ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestGPUAbsent(t *testing.T) {
	b, o := timedRun(t)
	check := func(s *summary.Summary, note string) {
		t.Helper()
		if s.GPUNote != note || len(s.GPUs) != 0 {
			t.Errorf("note %q, %d devices; want %q", s.GPUNote, len(s.GPUs), note)
		}
		if e := scalarOf(t, s, "energy"); e.Value != nil || e.Reason != note {
			t.Errorf("energy %v, %q; want null: %q", value(e.Value), e.Reason, note)
		}
	}
	check(reduce(t, o, b), "no gpu stream")
	check(reduce(t, o, b, watch(t, gpu.Header{Build: "test", Reason: "no driver"}, nil)), "no driver")
	if err := fails(t, Options{}, watch(t, gpu.Header{}, nil)); err.Error() != `a: inputs: got "gpu streams only", want a run among them` {
		t.Error(err)
	}
}
