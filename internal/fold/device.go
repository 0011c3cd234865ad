package fold

import (
	"math"

	"hydrant/formats/gpu"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

const (
	maxNeighbours  = 3 * second  // samples further apart leave a hole
	minEnergy      = 20 * second // the counter steps about ten times a second
	minUnboundTime = 30 * second // a clock of unknown offset shifts the window
)

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
	trace             [len(timelines)]timeline
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
		f.trace(d, s, begin, t)
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
