package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"hydrant/formats"
	"hydrant/formats/gpu"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

const (
	maxNeighbours  = 3 * second  // samples further apart leave a hole
	minEnergy      = 20 * second // the counter steps about ten times a second
	minUnboundTime = 30 * second // a clock of unknown offset shifts the window
)

// gpus gathers the devices of all gpu streams. A sample is folded as it comes: a
// device costs a fixed amount of memory, whatever the length of its stream.
type gpus struct {
	streams int64
	at      map[deviceKey]*device
	reasons []string // of streams without samples
	wall    bool     // some stream was joined by wall clock
	devices []summary.GPU
	note    string
}

type deviceKey struct {
	host, uuid string
	index      int64
}

// device is the state of one device.
type device struct {
	summary.GPU
	first, last       int64
	gap, unordered    bool
	gauges            [len(gaugeTable)]gauge
	counters          [len(counterTable)]counter
	powerT, power     int64
	powered           bool
	trapezoid         float64 // J over the window
	idle, idleTime    stats.Sum
	late, missed, xid int64
}

// readGPU folds every part of a gpu stream.
func (f *fold) readGPU(ctx context.Context, in Input) error {
	r, err := gpu.NewReader(in.R, in.Name)
	if err != nil {
		return err
	}
	if f.gpu.at == nil {
		f.gpu.at = map[deviceKey]*device{}
	}
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h := p.Header()
		same := h.BootID != "" && h.BootID == f.parts[0].header.Host.BootID
		n := 0
		for ; ; n++ {
			if n%4096 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s, err := p.NextSample()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			t := s.WallNS - f.epoch.WallNS
			if same {
				t = s.MonotonicNS - f.epoch.MonotonicNS
			}
			if t < -maxTime || t > maxTime {
				return &formats.SyntaxError{Place: in.Name, What: "time of a sample", Got: fmt.Sprintf("%d ns from the run", t), Want: "within 36 years of the run"}
			}
			f.sample(s, t)
		}
		if n > 0 && !same {
			f.gpu.wall = true
		}
		end, err := p.End()
		if err != nil {
			return err
		}
		f.gpu.streams++
		if n == 0 {
			f.gpu.reasons = append(f.gpu.reasons, cmp.Or(h.Reason, end.Reason, "a gpu stream without samples"))
		}
		if end.Status != "complete" {
			f.note("a gpu stream is " + end.Status)
		}
		var size int64
		for i, off := range end.Offsets {
			size = max(size, off+end.Lengths[i])
		}
		f.inputs = append(f.inputs, summary.Input{Name: base(in.Name), Kind: kindGPU, SHA256: end.SHA256, Bytes: size})
	}
}

// sample folds one sample at instant t of the run.
func (f *fold) sample(s *gpu.Sample, t int64) {
	k := deviceKey{host: s.Host, uuid: s.UUID}
	if s.UUID == "" {
		k.index = s.Index
	}
	d := f.gpu.at[k]
	if d == nil {
		d = &device{first: t, last: t}
		d.GPU = summary.GPU{Host: s.Host, Index: s.Index, UUID: s.UUID, Name: s.Name}
		f.gpu.at[k] = d
	}
	from, to := f.window.FromNS, f.window.ToNS
	d.Samples++
	if t < d.last {
		d.unordered = true
		return
	}
	if t-d.last > maxNeighbours && d.last < to && t > from {
		d.gap = true
	}
	d.last = t
	if s.IntervalNS.Valid && s.IntervalNS.V > 0 && s.IntervalNS.V < maxTime {
		begin := t - s.IntervalNS.V
		covered := min(t, to) - max(begin, from)
		for i := range gaugeTable {
			if v := gaugeTable[i].of(s); v.Valid && covered > 0 {
				d.gauges[i].add(v.V, covered, gaugeTable[i].finer)
			}
		}
		if idle := min(t, f.load.from) - begin; s.PowerMW.Valid && idle > 0 {
			d.idle.AddProduct(s.PowerMW.V, idle)
			d.idleTime.Add(idle)
		}
	}
	for i := range counterTable {
		if v := counterTable[i].of(s); v.Valid {
			d.counters[i].add(t, v.V, from, to)
		}
	}
	if s.PowerMW.Valid {
		d.addPower(t, s.PowerMW.V, from, to)
	}
	d.late = max(d.late, s.SamplerLateNS.Or(0))
	d.missed += max(0, s.SamplerMissed.Or(0))
	if s.XID.Or(0) != 0 && t >= from && t <= to {
		d.xid++
	}
}

// addPower integrates power between samples, straight from one to the next.
func (d *device) addPower(t, mw, from, to int64) {
	if a, b := max(d.powerT, from), min(t, to); d.powered && a < b {
		at := func(x int64) float64 {
			return float64(d.power) + float64(mw-d.power)*float64(x-d.powerT)/float64(t-d.powerT)
		}
		d.trapezoid += (at(a) + at(b)) / 2 * float64(b-a) / 1e12
	}
	d.powerT, d.power, d.powered = t, mw, true
}

// bracketed says why the samples of a device do not cover the window, "" when they do.
func (f *fold) bracketed(d *device) string {
	from, to := f.window.FromNS, f.window.ToNS
	switch {
	case to <= from:
		return "empty_window"
	case f.gpu.wall && to-from < minUnboundTime:
		return "clock_unbounded"
	case d.unordered:
		return "unordered"
	case d.last < to:
		for _, o := range f.gpu.at {
			if o != d && o.Host == d.Host && o.last >= to {
				return "device_lost"
			}
		}
		return "not_bracketed"
	case d.first > from:
		return "not_bracketed"
	case d.gap:
		return "gap"
	}
	return ""
}

// finish fills the values of a device and returns its energy in J and how it was
// measured.
func (f *fold) finish(d *device) (energy float64, method string) {
	d.Values = map[string]*float64{}
	d.Reason = f.bracketed(d)
	put := func(name string, v float64) {
		if d.Reason != "" {
			v = math.NaN()
		}
		d.Values[name] = number(v)
	}
	for i, t := range gaugeTable {
		g := &d.gauges[i]
		mean, low, high, p50, p95 := math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()
		if g.any {
			mean = g.area.Over(g.time) * t.scale
			low, high = float64(g.min)*t.scale, float64(g.max)*t.scale
			q := g.h.Quantiles([]int64{500, 950})
			// A bucket's edge must not lie beyond the largest reading.
			p50 = min(high, float64(q[0])*t.scale/float64(t.finer))
			p95 = min(high, float64(q[1])*t.scale/float64(t.finer))
		}
		put(t.name+"_mean", mean)
		put(t.name+"_min", low)
		put(t.name+"_max", high)
		put(t.name+"_p50", p50)
		put(t.name+"_p95", p95)
	}
	length := float64(f.length())
	for i, t := range counterTable {
		v := d.counters[i].grown()
		switch i {
		case counterEnergy:
			v /= 1000
			if f.length() < minEnergy {
				v = math.NaN()
			}
		case counterThrottlePower, counterThrottleThermal:
			v /= length
		}
		put(t.name, v)
	}
	trapezoid := math.NaN()
	if d.powered && f.length() >= minEnergy {
		trapezoid = d.trapezoid
	}
	put("energy_trapezoid_j", trapezoid)
	put("energy_check", math.NaN())
	energy, method = math.NaN(), ""
	switch e := d.Values["energy_j"]; {
	case d.Reason != "":
	case e != nil:
		energy, method = *e, "counter"
		if trapezoid > 0 {
			put("energy_check", math.Abs(*e-trapezoid)/trapezoid)
		}
	case d.Values["energy_trapezoid_j"] != nil:
		energy, method = trapezoid, "trapezoid of power"
	}
	d.Values["idle_power_w"] = number(d.idle.Over(d.idleTime) / 1000)
	d.Values["sampler_late_max_ns"] = number(float64(d.late))
	d.Values["sampler_missed"] = number(float64(d.missed))
	d.Values["xid_events"] = number(float64(d.xid))
	return energy, method
}

// finishGPUs fills the devices and their totals. A total over some of the devices
// would look like one over all, so there is none.
func (f *fold) finishGPUs() {
	ids := []string{"energy", "power", "energy_check", "idle_power", "j_per_out_token", "j_per_token", "tokens_per_j", "throttled_share_power",
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
