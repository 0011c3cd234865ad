package fold

import (
	"math"

	"hydrant/formats"
	"hydrant/formats/gpu"
	"hydrant/internal/stats"
)

// gauge is a value that holds for the interval a sample covers.
type gauge struct {
	area, time stats.Sum
	min, max   int64
	h          *stats.Histogram
	any        bool
}

// counter only grows; its difference over the window is what counts.
type counter struct {
	t, v       int64 // the sample before
	any        bool
	start, end float64
	atStart    bool
	atEnd      bool
	reset      bool
}

var gaugeTable = [...]struct {
	name, unit string
	scale      float64 // to the unit
	finer      int64   // factor that brings small readings into the histogram's range
	of         func(*gpu.Sample) formats.Int
}{
	{"utilization", "share", 1e-6, 1000, func(s *gpu.Sample) formats.Int { return s.UtilizationPPM }},
	{"memory_activity", "share", 1e-6, 1000, func(s *gpu.Sample) formats.Int { return s.MemoryActivityPPM }},
	{"sm_active", "share", 1e-6, 1000, func(s *gpu.Sample) formats.Int { return s.SMActivePPM }},
	{"tensor_active", "share", 1e-6, 1000, func(s *gpu.Sample) formats.Int { return s.TensorActivePPM }},
	{"dram_active", "share", 1e-6, 1000, func(s *gpu.Sample) formats.Int { return s.DRAMActivePPM }},
	{"memory_used_bytes", "bytes", 1, 1, func(s *gpu.Sample) formats.Int { return s.MemoryUsedBytes }},
	{"power_w", "W", 1e-3, 1000, func(s *gpu.Sample) formats.Int { return s.PowerMW }},
	{"temperature_c", "°C", 1, 1_000_000, func(s *gpu.Sample) formats.Int { return s.TemperatureC }},
	{"sm_clock_mhz", "MHz", 1, 1_000_000, func(s *gpu.Sample) formats.Int { return s.SMClockMHz }},
	{"memory_clock_mhz", "MHz", 1, 1_000_000, func(s *gpu.Sample) formats.Int { return s.MemoryClockMHz }},
}

// Positions in counterTable.
const (
	counterEnergy = iota
	counterThrottlePower
	counterThrottleThermal
)

var counterTable = [...]struct {
	name, unit string
	of         func(*gpu.Sample) formats.Int
}{
	{"energy_j", "J", func(s *gpu.Sample) formats.Int { return s.EnergyMJ }},
	{"throttled_share_power", "share", func(s *gpu.Sample) formats.Int { return s.ThrottlePowerNS }},
	{"throttled_share_thermal", "share", func(s *gpu.Sample) formats.Int { return s.ThrottleThermalNS }},
	{"pcie_tx_bytes", "bytes", func(s *gpu.Sample) formats.Int { return s.PCIeTxBytes }},
	{"pcie_rx_bytes", "bytes", func(s *gpu.Sample) formats.Int { return s.PCIeRxBytes }},
	{"nvlink_tx_bytes", "bytes", func(s *gpu.Sample) formats.Int { return s.NVLinkTxBytes }},
	{"nvlink_rx_bytes", "bytes", func(s *gpu.Sample) formats.Int { return s.NVLinkRxBytes }},
}

func (g *gauge) add(v, time, finer int64) {
	if !g.any {
		g.any, g.min, g.max, g.h = true, v, v, stats.NewHistogram(3)
	}
	g.min, g.max = min(g.min, v), max(g.max, v)
	g.area.AddProduct(v, time)
	g.time.Add(time)
	g.h.Record(min(v, stats.HistogramMax/finer)*finer, time)
}

// add takes a reading and interpolates at the borders of the window.
func (c *counter) add(t, v, from, to int64) {
	if c.any && v < c.v && c.t < to && t > from {
		c.reset = true
	}
	at := func(border int64) (float64, bool) {
		switch {
		case t == border:
			return float64(v), true
		case c.any && c.t <= border && border < t:
			return float64(c.v) + float64(v-c.v)*float64(border-c.t)/float64(t-c.t), true
		}
		return 0, false
	}
	if x, ok := at(from); ok && !c.atStart {
		c.start, c.atStart = x, true
	}
	if x, ok := at(to); ok && !c.atEnd {
		c.end, c.atEnd = x, true
	}
	c.t, c.v, c.any = t, v, true
}

// grown is the difference over the window, NaN when it is not known.
func (c *counter) grown() float64 {
	if c.reset || !c.atStart || !c.atEnd {
		return math.NaN()
	}
	return c.end - c.start
}
