package fold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/gpu"
	"hydrant/formats/summary"
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
			if err := checkSample(s, in.Name); err != nil {
				return err
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

// checkSample refuses values that no device has.
func checkSample(s *gpu.Sample, place string) error {
	const ppm = 1_000_000
	for _, c := range [...]struct {
		name        string
		v           formats.Int
		least, most int64
	}{
		{"index", formats.Some(s.Index), 0, 1 << 30}, {"interval_ns", s.IntervalNS, 0, maxTime},
		{"utilization_ppm", s.UtilizationPPM, 0, ppm}, {"memory_activity_ppm", s.MemoryActivityPPM, 0, ppm}, {"sm_active_ppm", s.SMActivePPM, 0, ppm},
		{"tensor_active_ppm", s.TensorActivePPM, 0, ppm}, {"dram_active_ppm", s.DRAMActivePPM, 0, ppm},
		{"memory_used_bytes", s.MemoryUsedBytes, 0, maxCount}, {"memory_total_bytes", s.MemoryTotalBytes, 0, maxCount},
		{"power_mw", s.PowerMW, 0, maxCount}, {"power_limit_mw", s.PowerLimitMW, 0, maxCount}, {"energy_mj", s.EnergyMJ, 0, maxTime},
		{"temperature_c", s.TemperatureC, -273, maxCount}, {"sm_clock_mhz", s.SMClockMHz, 0, maxCount}, {"memory_clock_mhz", s.MemoryClockMHz, 0, maxCount},
		{"throttle_power_ns", s.ThrottlePowerNS, 0, maxTime}, {"throttle_thermal_ns", s.ThrottleThermalNS, 0, maxTime},
		{"pcie_tx_bytes", s.PCIeTxBytes, 0, maxTime}, {"pcie_rx_bytes", s.PCIeRxBytes, 0, maxTime},
		{"nvlink_tx_bytes", s.NVLinkTxBytes, 0, maxTime}, {"nvlink_rx_bytes", s.NVLinkRxBytes, 0, maxTime},
		{"sampler_missed", s.SamplerMissed, 0, maxCount},
	} {
		if c.v.Valid && (c.v.V < c.least || c.v.V > c.most) {
			return &formats.SyntaxError{Place: fmt.Sprintf("%s: sample of device %d at %d ns", place, s.Index, s.MonotonicNS),
				What: c.name, Got: c.v.String(), Want: fmt.Sprintf("%d to %d", c.least, c.most)}
		}
	}
	return nil
}
