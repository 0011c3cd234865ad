package run

import (
	"encoding/json"

	"hydrant/formats"
)

// Format and Version name what the writer writes. They are wire constants.
const (
	Format  = "hydrant-run"
	Version = 1
)

// Header travels as JSON in the schema metadata of table requests, key "hydrant.run".
type Header struct {
	Format       string            `json:"format"`
	Version      int               `json:"version"`
	Build        string            `json:"build"`
	Schedule     json.RawMessage   `json:"schedule"`      // the schedule's header line content
	Target       []string          `json:"target"`        // urls, in the order given
	Endpoint     string            `json:"endpoint"`      // chat, completions, …
	Model        string            `json:"model"`         // sent model name
	Server       json.RawMessage   `json:"server"`        // /v1/models and /version as the server says; null
	Streaming    bool              `json:"streaming"`     //
	Engine       string            `json:"engine"`        // effective engine
	Prompt       string            `json:"prompt"`        // tokens or text
	Timing       string            `json:"timing"`        // schedule, strict, think, asap
	Flags        map[string]string `json:"flags"`         // effective flags, secrets left out
	Seed         int64             `json:"seed"`          //
	Workers      int               `json:"workers"`       //
	WorkerProcs  int               `json:"worker_procs"`  // GOMAXPROCS of each; 0: not known
	ChunkLists   string            `json:"chunks"`        // full or off
	WarmupNS     int64             `json:"warmup_ns"`     // --warmup, 0 when none
	RampNS       int64             `json:"ramp_ns"`       // --ramp, 0 when none
	Calibration  string            `json:"calibration"`   // "off", a duration, or "reused"
	Host         Host              `json:"host"`          //
	Epoch        Epoch             `json:"epoch"`         //
	Labels       map[string]string `json:"labels"`        // --label
	ServerConfig *ServerConfig     `json:"server_config"` // --server-config
	Injected     map[string]string `json:"injected"`      // --client-work, --client-stall; null when none
}

// Epoch is one instant on two clocks: all _ns columns count from it.
type Epoch struct {
	MonotonicNS int64 `json:"monotonic_ns"` // CLOCK_MONOTONIC
	WallNS      int64 `json:"wall_ns"`      // Unix time
}

// Host holds the facts about the generator's host that results depend on.
type Host struct {
	Hostname    string   `json:"hostname"`
	Kernel      string   `json:"kernel"`
	BootID      string   `json:"boot_id"`
	Arch        string   `json:"arch"`
	Go          string   `json:"go"`
	CPUs        int      `json:"cpus"`         // online
	CPUsAllowed int      `json:"cpus_allowed"` // affinity
	CPUQuota    *float64 `json:"cpu_quota"`    // cgroup quota in CPUs, null when none
	ClockSync   string   `json:"clock_sync"`   // synchronised, unsynchronised, unknown
	ClockMaxErr int64    `json:"clock_max_error_us"`
}

// ServerConfig is the file that says how the server was started.
type ServerConfig struct {
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// End is the one row of table end, and the proof that the run is whole.
type End struct {
	Status       string // Complete, Interrupted or Failed
	Planned      int64  // requests in the plan after --duration, --requests and --loop
	RequestsRows int64
	ClientRows   int64
	SHA256       string  // of every byte of the part before the end stream
	Offsets      []int64 // of every message before it, from the start of the part
	Lengths      []int64
	CRC32C       []int64
	Detail       Detail // column json
}

// Detail is what End carries as JSON in column json.
type Detail struct {
	Reason         string          `json:"reason"` // why the status is not complete, one line
	Workers        []WorkerExit    `json:"workers"`
	Clocks         []Clock         `json:"clocks"`
	ScheduleSHA256 []string        `json:"schedule_sha256"` // trailer hash of each schedule read
	ScheduleEnd    json.RawMessage `json:"schedule_end"`    // trailer of the last schedule read
	Outcomes       []Outcome       `json:"outcomes"`        // in the order of Outcomes, zeros included
	Calibration    *Calibration    `json:"calibration"`     // null in runs of builds that had none
	PlannedTokens  PlannedTokens   `json:"planned_tokens"`
	Totals         Totals          `json:"totals"`
}

// WorkerExit says how one worker process ended.
type WorkerExit struct {
	Worker int    `json:"worker"`
	PID    int    `json:"pid"`
	Exit   int    `json:"exit"`   // status; 128 + signal when killed
	Rows   int64  `json:"rows"`   // rows it delivered
	Reason string `json:"reason"` // empty when it ended well
}

// Clock is the wall − monotonic difference of one worker at both ends of the run,
// and the boot it belongs to.
type Clock struct {
	Worker  int    `json:"worker"`
	BootID  string `json:"boot_id"`
	StartNS int64  `json:"start_ns"` // wall − monotonic at the start
	EndNS   int64  `json:"end_ns"`   // wall − monotonic at the end
}

// Outcome counts rows of one outcome.
type Outcome struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// PlannedTokens describes the planned lengths: sums and nearest-rank percentiles.
type PlannedTokens struct {
	Input  Lengths `json:"input"`
	Output Lengths `json:"output"`
}

// Lengths summarises one planned length; all null when no line states it.
type Lengths struct {
	N   int64       `json:"n"`
	Sum formats.Int `json:"sum"`
	Min formats.Int `json:"min"`
	P50 formats.Int `json:"p50"`
	P90 formats.Int `json:"p90"`
	P99 formats.Int `json:"p99"`
	Max formats.Int `json:"max"`
}

// Totals are resource sums over the run.
type Totals struct {
	DurationNS    int64 `json:"duration_ns"`
	CPUUserNS     int64 `json:"cpu_user_ns"` // all workers
	CPUSystemNS   int64 `json:"cpu_system_ns"`
	BytesSent     int64 `json:"bytes_sent"`
	BytesReceived int64 `json:"bytes_received"`
	TokenEvents   int64 `json:"token_events"`
}
