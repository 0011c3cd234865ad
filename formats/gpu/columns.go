package gpu

import (
	"hydrant/formats"
	"hydrant/formats/ipc"
)

// never marks a column that is never null.
const never = ""

// v1 is a column that came with version 1.
func v1[T any](name, typ, unit, meaning, null string, field func(*T) any) ipc.Column[T] {
	return ipc.Column[T]{Name: name, Type: typ, Unit: unit, Meaning: meaning, Null: null, Since: 1, Field: field}
}

// unsupported is what null means for what a device or its driver may not report.
const unsupported = "not reported by the device, or its query failed"

// Columns is table gpu, in the order of the file. Schema, reader, writer and the
// format page are made from it.
var Columns = [...]ipc.Column[Sample]{
	v1("wall_ns", ipc.Int64, "ns", "Unix time of the sample", never, func(s *Sample) any { return &s.WallNS }),
	v1("monotonic_ns", ipc.Int64, "ns", "CLOCK_MONOTONIC of the sampling host", never, func(s *Sample) any { return &s.MonotonicNS }),
	v1("interval_ns", ipc.Int64, "ns", "time since the device's sample before, which gauges stand for", "first sample of the device", func(s *Sample) any { return &s.IntervalNS }),
	v1("host", ipc.UTF8, "", "name of the sampling host", "not known", func(s *Sample) any { return &s.Host }),
	v1("source", ipc.UTF8, "", "nvml, dcgm or prometheus", never, func(s *Sample) any { return &s.Source }),
	v1("index", ipc.Int64, "", "index of the device at its source; join by uuid", never, func(s *Sample) any { return &s.Index }),
	v1("uuid", ipc.UTF8, "", "identity of the device", "the source gives none", func(s *Sample) any { return &s.UUID }),
	v1("name", ipc.UTF8, "", "product name", "the source gives none", func(s *Sample) any { return &s.Name }),
	v1("utilization_ppm", ipc.Int64, "ppm", "share of time in which some kernel ran", unsupported, func(s *Sample) any { return &s.UtilizationPPM }),
	v1("memory_activity_ppm", ipc.Int64, "ppm", "share of time in which device memory was read or written", unsupported, func(s *Sample) any { return &s.MemoryActivityPPM }),
	v1("sm_active_ppm", ipc.Int64, "ppm", "share of time with a warp resident, mean over multiprocessors", unsupported, func(s *Sample) any { return &s.SMActivePPM }),
	v1("tensor_active_ppm", ipc.Int64, "ppm", "share of time the tensor pipes were busy", unsupported, func(s *Sample) any { return &s.TensorActivePPM }),
	v1("dram_active_ppm", ipc.Int64, "ppm", "share of time the memory interface moved data", unsupported, func(s *Sample) any { return &s.DRAMActivePPM }),
	v1("memory_used_bytes", ipc.Int64, "bytes", "device memory in use", unsupported, func(s *Sample) any { return &s.MemoryUsedBytes }),
	v1("memory_total_bytes", ipc.Int64, "bytes", "device memory there is", unsupported, func(s *Sample) any { return &s.MemoryTotalBytes }),
	v1("power_mw", ipc.Int64, "mW", "power drawn by the board", unsupported, func(s *Sample) any { return &s.PowerMW }),
	v1("power_limit_mw", ipc.Int64, "mW", "power limit in force", unsupported, func(s *Sample) any { return &s.PowerLimitMW }),
	v1("energy_mj", ipc.Int64, "mJ", "energy since the driver was loaded, counter", unsupported, func(s *Sample) any { return &s.EnergyMJ }),
	v1("temperature_c", ipc.Int64, "°C", "core temperature", unsupported, func(s *Sample) any { return &s.TemperatureC }),
	v1("sm_clock_mhz", ipc.Int64, "MHz", "multiprocessor clock", unsupported, func(s *Sample) any { return &s.SMClockMHz }),
	v1("memory_clock_mhz", ipc.Int64, "MHz", "memory clock", unsupported, func(s *Sample) any { return &s.MemoryClockMHz }),
	v1("throttle_reasons", ipc.Int64, "bits", "why clocks are below their maximum, bits as NVML defines them", unsupported, func(s *Sample) any { return &s.ThrottleReasons }),
	v1("throttle_power_ns", ipc.Int64, "ns", "time clocks were held down by power, counter", unsupported, func(s *Sample) any { return &s.ThrottlePowerNS }),
	v1("throttle_thermal_ns", ipc.Int64, "ns", "time clocks were held down by heat, counter", unsupported, func(s *Sample) any { return &s.ThrottleThermalNS }),
	v1("pcie_tx_bytes", ipc.Int64, "bytes", "sent over PCIe, counter", unsupported, func(s *Sample) any { return &s.PCIeTxBytes }),
	v1("pcie_rx_bytes", ipc.Int64, "bytes", "received over PCIe, counter", unsupported, func(s *Sample) any { return &s.PCIeRxBytes }),
	v1("nvlink_tx_bytes", ipc.Int64, "bytes", "sent over NVLink, counter", unsupported, func(s *Sample) any { return &s.NVLinkTxBytes }),
	v1("nvlink_rx_bytes", ipc.Int64, "bytes", "received over NVLink, counter", unsupported, func(s *Sample) any { return &s.NVLinkRxBytes }),
	v1("xid", ipc.Int64, "", "last XID error of the device", "none seen, or not reported", func(s *Sample) any { return &s.XID }),
	v1("sampler_late_ns", ipc.Int64, "ns", "how late the sampler was for this sample", "not known", func(s *Sample) any { return &s.SamplerLateNS }),
	v1("sampler_missed", ipc.Int64, "samples", "planned samples that were missed since the device's sample before", "not known", func(s *Sample) any { return &s.SamplerMissed }),
}

// ServerColumns is table server, in the order of the file.
var ServerColumns = [...]ipc.Column[Server]{
	v1("wall_ns", ipc.Int64, "ns", "Unix time of the scrape", never, func(s *Server) any { return &s.WallNS }),
	v1("monotonic_ns", ipc.Int64, "ns", "CLOCK_MONOTONIC of the scraping host", never, func(s *Server) any { return &s.MonotonicNS }),
	v1("instance", ipc.UTF8, "", "scraped URL", never, func(s *Server) any { return &s.Instance }),
	v1("name", ipc.UTF8, "", "name of the metric", never, func(s *Server) any { return &s.Name }),
	v1("labels", ipc.UTF8, "", `its labels as {a="b",…}, sorted by name`, "it has none", func(s *Server) any { return &s.Labels }),
	v1("value", ipc.Float64, "", "its value, in the metric's own unit", never, func(s *Server) any { return &s.Value }),
}

// HostColumns is table host, in the order of the file.
var HostColumns = [...]ipc.Column[Host]{
	v1("wall_ns", ipc.Int64, "ns", "Unix time of the sample", never, func(h *Host) any { return &h.WallNS }),
	v1("monotonic_ns", ipc.Int64, "ns", "CLOCK_MONOTONIC of the sampling host", never, func(h *Host) any { return &h.MonotonicNS }),
	v1("host", ipc.UTF8, "", "name of the sampling host", "not known", func(h *Host) any { return &h.Host }),
	v1("kind", ipc.UTF8, "", "process, cgroup or link", never, func(h *Host) any { return &h.Kind }),
	v1("name", ipc.UTF8, "", "name of the process, cgroup or link", never, func(h *Host) any { return &h.Name }),
	v1("cpu_ns", ipc.Int64, "ns", "CPU time used, counter", "a link", func(h *Host) any { return &h.CPUNS }),
	v1("rx_bytes", ipc.Int64, "bytes", "received, counter", "not a link", func(h *Host) any { return &h.RxBytes }),
	v1("tx_bytes", ipc.Int64, "bytes", "sent, counter", "not a link", func(h *Host) any { return &h.TxBytes }),
	v1("link_bits_ps", ipc.Int64, "bit/s", "speed of the link", "not a link, or not known", func(h *Host) any { return &h.LinkBitsPS }),
}

// endRow is the one row of table end.
type endRow struct {
	End
	own formats.Int
}

// endColumns is table end, in the order of the file.
var endColumns = [...]ipc.Column[endRow]{
	v1("status", ipc.UTF8, "", "complete, interrupted or failed", never, func(e *endRow) any { return &e.Status }),
	v1("reason", ipc.UTF8, "", "why the status is not complete, or why there are no samples, one line", "nothing to say", func(e *endRow) any { return &e.Reason }),
	v1("gpu_rows", ipc.Int64, "rows", "rows of table gpu", never, func(e *endRow) any { return &e.GPURows }),
	v1("server_rows", ipc.Int64, "rows", "rows of table server", never, func(e *endRow) any { return &e.ServerRows }),
	v1("host_rows", ipc.Int64, "rows", "rows of table host", never, func(e *endRow) any { return &e.HostRows }),
	v1("sha256", ipc.UTF8, "hex", "of every byte of the part before the end stream", never, func(e *endRow) any { return &e.SHA256 }),
	v1("offset", ipc.ListInt64, "bytes", "start of every message before the end stream, from the start of the part", never, func(e *endRow) any { return &e.Offsets }),
	v1("length", ipc.ListInt64, "bytes", "length of each of them: prefix, metadata, padding and body", never, func(e *endRow) any { return &e.Lengths }),
	v1("crc32c", ipc.ListInt64, "", "CRC32C of each of them, 0 to 2^32 − 1", never, func(e *endRow) any { return &e.CRC32C }),
	v1("own_crc32c", ipc.Int64, "", "CRC32C of the text of status and reason, a line feed after each", "sealed by another tool", func(e *endRow) any { return &e.own }),
}
