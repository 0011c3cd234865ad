package fold

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// finishGPUs fills the devices and their totals. A total over some of the devices
// would look like one over all, so there is none.
func (f *fold) finishGPUs() {
	ids := []string{"energy", "power", "energy_check", "idle_power", "j_per_out_token", "j_per_token", "j_per_good_request", "tokens_per_j", "throttled_share_power",
		"throttled_share_thermal", "ok_rps_per_gpu", "out_tps_per_gpu"}
	g := &f.gpu
	if len(g.at) == 0 {
		g.note = "no gpu stream"
		if g.streams > 0 {
			slices.Sort(g.reasons)
			g.note = g.reasons[0]
		}
		f.sheet.none("gpu_devices", g.note)
		f.sheet.noneOf(g.note, ids...)
		return
	}
	devices := make([]*device, 0, len(g.at))
	for _, d := range g.at {
		devices = append(devices, d)
	}
	slices.SortFunc(devices, func(a, b *device) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID))
	})
	f.deviceTimelines(devices)
	n := int64(len(devices))
	energy, check, idle, throttledPower, throttledThermal := 0.0, math.NaN(), 0.0, math.NaN(), math.NaN()
	reason, method := "", ""
	for _, d := range devices {
		e, m := f.finish(d)
		g.devices = append(g.devices, d.GPU)
		if d.Reason != "" && reason == "" {
			reason = fmt.Sprintf("device %d of %s: %s", d.Index, d.Host, d.Reason)
		}
		if method == "" || m == method {
			method = m
		} else {
			method = "counter or trapezoid of power, by device"
		}
		if math.IsNaN(e) && reason == "" {
			reason = fmt.Sprintf("device %d of %s has no energy over a window of at least 20 s", d.Index, d.Host)
		}
		energy += e
		idle += value(d.Values["idle_power_w"])
		check = larger(check, d.Values["energy_check"])
		throttledPower = larger(throttledPower, d.Values["throttled_share_power"])
		throttledThermal = larger(throttledThermal, d.Values["throttled_share_thermal"])
	}
	if g.wall {
		f.note("gpu samples are joined by wall clock, whose offset is not bounded: means only")
	}
	s := f.sheet
	s.count("gpu_devices", n, n)
	seconds := float64(f.length()) / second
	s.set("energy", energy, n, reason).Evidence = method
	s.set("power", energy/seconds, n, reason)
	s.set("energy_check", check, n, "no device has both a counter and power")
	s.set("idle_power", idle, n, "no samples of power before the load")
	s.set("j_per_out_token", energy/float64(f.outTokens), n, cmp.Or(reason, "no tokens in the window"))
	total := math.NaN()
	if f.inKnown {
		total = float64(f.inTokens + f.outTokens)
	}
	s.set("j_per_token", energy/total, n, cmp.Or(reason, "input tokens were not counted"))
	perGood(s, energy, f.good, reason)
	s.set("tokens_per_j", float64(f.outTokens)/energy, n, cmp.Or(reason, "no energy was used"))
	s.set("throttled_share_power", throttledPower, n, cmp.Or(reason, "no device reports it"))
	s.set("throttled_share_thermal", throttledThermal, n, cmp.Or(reason, "no device reports it"))
	ok, out := math.NaN(), math.NaN()
	if f.rated {
		ok, out = f.okRPS, f.outTPS
	}
	s.set("ok_rps_per_gpu", ok/float64(n), n, "the window has no rates")
	s.set("out_tps_per_gpu", out/float64(n), n, "the window has no rates")
}

// perGood sets the energy of one good request, of which good, when not null, were counted.
func perGood(s *sheet, energy float64, good int64, reason string) {
	const id = "j_per_good_request"
	switch {
	case reason != "":
		s.none(id, reason)
	case good == null:
		s.none(id, "no objective given")
	default:
		s.set(id, energy/float64(good), good, "no good request in the window")
	}
}

func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// larger returns the larger of two values of which either may be missing.
func larger(a float64, b *float64) float64 {
	if b == nil || a >= *b {
		return a
	}
	return *b
}
