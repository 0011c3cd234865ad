package fold

import (
	"fmt"
	"math"

	"hydrant/formats/gpu"
	"hydrant/formats/summary"
)

// maxTimeline is the number of equal steps, of whole seconds, into which the load is cut
// for what is sampled: the CPU of the client and the gauges of devices.
const maxTimeline = 200

// timeline spreads samples over the steps of the load. A sample holds for the interval
// before it, so that it counts in each step by what lies in there.
type timeline struct{ sum, time []float64 }

// timelineStep is the length of a step in ns, 0 when the load has none.
func (f *fold) timelineStep() int64 {
	return (int64(f.load.seconds) + maxTimeline - 1) / maxTimeline * second
}

// spread adds a value that held from begin to end.
func (f *fold) spread(t *timeline, begin, end int64, v float64) {
	step := f.timelineStep()
	if step == 0 || end <= begin {
		return
	}
	if t.sum == nil {
		n := int64(f.load.seconds) * second / step
		t.sum, t.time = make([]float64, n), make([]float64, n)
	}
	for i := max(0, (begin-f.load.from)/step); i < int64(len(t.sum)); i++ {
		from := f.load.from + i*step
		if from >= end {
			return
		}
		if held := min(end, from+step) - max(begin, from); held > 0 {
			t.sum[i] += v * float64(held)
			t.time[i] += float64(held)
		}
	}
}

// mean is the value of step i, NaN where nothing was sampled.
func (t *timeline) mean(i int) float64 {
	if i >= len(t.sum) || t.time[i] == 0 {
		return math.NaN()
	}
	return t.sum[i] / t.time[i]
}

// drawn adds a series with a value for each step; one without any value is left out.
func (f *fold) drawn(id, unit string, at func(i int) float64) {
	step := f.timelineStep()
	if step == 0 {
		return
	}
	x := summary.Series{ID: id, Unit: unit, FromNS: f.load.from, StepNS: step, Values: make([]*float64, int64(f.load.seconds)*second/step)}
	any := false
	for i := range x.Values {
		x.Values[i] = number(at(i))
		any = any || x.Values[i] != nil
	}
	if any {
		f.series = append(f.series, x)
	}
}

// clientTimeline adds what share of their CPUs the workers used: all of them, and the
// busiest one of each step.
func (f *fold) clientTimeline() {
	var all, busiest timeline
	for i := 0; i < len(f.clients); {
		first := &f.clients[i]
		allowance := f.parts[first.part].allowance()
		var own timeline
		for ; i < len(f.clients) && f.clients[i].part == first.part && f.clients[i].worker == first.worker; i++ {
			c := &f.clients[i]
			if cpu := c.cpu(); cpu != null && c.interval > 0 && allowance > 0 {
				f.spread(&own, c.t-c.interval, c.t, float64(cpu)/(float64(c.interval)*allowance))
			}
		}
		if own.sum == nil {
			continue
		}
		if all.sum == nil {
			n := len(own.sum)
			all = timeline{make([]float64, n), make([]float64, n)}
			busiest = timeline{make([]float64, n), make([]float64, n)}
		}
		for k := range own.sum {
			all.sum[k] += own.sum[k] * allowance
			all.time[k] += own.time[k] * allowance
			if v := own.mean(k); !math.IsNaN(v) {
				busiest.sum[k], busiest.time[k] = max(busiest.sum[k], v), 1
			}
		}
	}
	f.drawn("client_cpu", "share", all.mean)
	f.drawn("client_cpu_max", "share", busiest.mean)
}

// timelines are the gauges of a device that are kept over time.
var timelines = [...]string{"utilization", "sm_active", "tensor_active", "dram_active", "power_w"}

// timelineOf is the place of each gauge in timelines, −1 for one that is not kept.
var timelineOf = func() (at [len(gaugeTable)]int) {
	for i, g := range gaugeTable {
		at[i] = -1
		for k, name := range timelines {
			if g.name == name {
				at[i] = k
			}
		}
	}
	return at
}()

// trace keeps the gauges of one sample over time.
func (f *fold) trace(d *device, s *gpu.Sample, begin, end int64) {
	for i, g := range gaugeTable {
		if k := timelineOf[i]; k >= 0 {
			if v := g.of(s); v.Valid {
				f.spread(&d.trace[k], begin, end, float64(v.V)*g.scale)
			}
		}
	}
}

// deviceTimelines adds the gauges over time: shares as the mean over the devices, null
// where one of them has no value, and the power of each.
func (f *fold) deviceTimelines(devices []*device) {
	for k, name := range timelines {
		if name == "power_w" {
			for n, d := range devices {
				f.drawn(fmt.Sprintf("gpu%d_power_w", n), "W", d.trace[k].mean)
			}
			continue
		}
		f.drawn("gpu_"+name, "share", func(i int) float64 {
			sum := 0.0
			for _, d := range devices {
				sum += d.trace[k].mean(i)
			}
			return sum / float64(len(devices))
		})
	}
}
