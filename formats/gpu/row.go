package gpu

import "hydrant/formats"

// Format and Version name what the writer writes. They are wire constants.
const (
	Format  = "hydrant-gpu"
	Version = 1
)

// Sample is one row of table gpu: one device at one instant. Null means that the
// device or its driver does not report the value; it is never read as 0.
type Sample struct {
	WallNS            int64       // Unix time of the sample
	MonotonicNS       int64       // CLOCK_MONOTONIC of the sampling host
	IntervalNS        formats.Int // the interval that gauges and deltas cover; null for the first sample
	Host              string
	Source            string // nvml, dcgm, prometheus
	Index             int64
	UUID              string
	Name              string
	UtilizationPPM    formats.Int // share of time some kernel ran, parts per million
	MemoryActivityPPM formats.Int // share of time device memory was read or written
	SMActivePPM       formats.Int
	TensorActivePPM   formats.Int
	DRAMActivePPM     formats.Int
	MemoryUsedBytes   formats.Int
	MemoryTotalBytes  formats.Int
	PowerMW           formats.Int
	PowerLimitMW      formats.Int
	EnergyMJ          formats.Int // counter, millijoule
	TemperatureC      formats.Int
	SMClockMHz        formats.Int
	MemoryClockMHz    formats.Int
	ThrottleReasons   formats.Int // bits as NVML gives them
	ThrottlePowerNS   formats.Int // counter
	ThrottleThermalNS formats.Int // counter
	PCIeTxBytes       formats.Int // counter
	PCIeRxBytes       formats.Int // counter
	NVLinkTxBytes     formats.Int // counter
	NVLinkRxBytes     formats.Int // counter
	XID               formats.Int
	SamplerLateNS     formats.Int // the sampler's own lateness for this sample
	SamplerMissed     formats.Int // samples missed since the one before
}

// Server is one row of table server: one metric scraped from the inference server.
type Server struct {
	WallNS      int64
	MonotonicNS int64
	Instance    string  // scraped url
	Name        string  // metric name
	Labels      string  // canonical {a="b",…}
	Value       float64 //
}

// Host is one row of table host: CPU of a named process or cgroup, or a link.
type Host struct {
	WallNS      int64
	MonotonicNS int64
	Host        string
	Kind        string // process, cgroup, link
	Name        string
	CPUNS       formats.Int // counter
	RxBytes     formats.Int // counter
	TxBytes     formats.Int // counter
	LinkBitsPS  formats.Int // link speed
}

// Header travels as JSON in the schema metadata of table gpu, key "hydrant.gpu".
type Header struct {
	Format   string            `json:"format"`
	Version  int               `json:"version"`
	Build    string            `json:"build"`
	Host     string            `json:"host"`
	BootID   string            `json:"boot_id"`
	PeriodNS int64             `json:"period_ns"`
	Source   string            `json:"source"`
	Driver   string            `json:"driver"`
	Devices  []Device          `json:"devices"`
	Labels   map[string]string `json:"labels"` // --label
	Reason   string            `json:"reason"` // why there are no samples, "" when there can be some
}

// Device names one sampled device.
type Device struct {
	Index            int64       `json:"index"`
	UUID             string      `json:"uuid"`
	Name             string      `json:"name"`
	MemoryTotalBytes formats.Int `json:"memory_total_bytes"`
	PowerLimitMW     formats.Int `json:"power_limit_mw"`
}

// End is the one row of table end.
type End struct {
	Status     string // complete, interrupted, failed
	Reason     string
	GPURows    int64
	ServerRows int64
	HostRows   int64
	SHA256     string
	Offsets    []int64
	Lengths    []int64
	CRC32C     []int64
}
