// Package summary reads and writes what reduce makes of a run: every metric in its
// envelope, mergeable sketches, and the exact per-request columns that the judge
// needs, as one JSON document.
//
// Write gives the same bytes for the same Summary; Read takes what Write wrote and
// nothing with keys it does not know. The columns stay encoded until DecodeColumns
// is called.
package summary

import (
	"encoding/json"

	"hydrant/formats"
)

// Format and Version name what the writer writes. They are wire constants.
const (
	Format  = "hydrant-summary"
	Version = 1
)

// Summary is everything reduce computed. Durations are integer ns, rates per
// second, shares 0..1, each value with its unit. The judge reads nothing else.
type Summary struct {
	Format     string           `json:"format"`
	Version    int              `json:"version"`
	Build      string           `json:"build"`
	Partial    bool             `json:"partial,omitempty"` // a run was not read to its end; every figure says so
	Inputs     []Input          `json:"inputs"`
	Parts      []Part           `json:"parts"` // one per uninterrupted part of a run
	Window     Window           `json:"window"`
	Plan       Plan             `json:"plan"`
	Outcomes   []Outcome        `json:"outcomes"`             // every outcome, zeros included
	Objectives []string         `json:"objectives,omitempty"` // what a good request meets; absent when none was given
	Metrics    []Metric         `json:"metrics"`              // distributions, sorted by (id, side)
	Scalars    []Scalar         `json:"scalars"`              // sorted by id
	Series     []Series         `json:"series"`               // per second of the load, for steadiness and batch means; per slice, for people
	Groups     []Group          `json:"groups,omitempty"`     // the rows of the window by the keys that were asked for
	Clients    []Client         `json:"clients"`              // per worker
	GPUs       []GPU            `json:"gpus"`                 // per device
	GPUNote    string           `json:"gpu_note"`             // why there are none
	Sketches   []Sketch         `json:"sketches"`
	Columns    *EncodedColumns  `json:"columns"`        // null when off or too many
	Rows       *EncodedRows     `json:"rows,omitempty"` // what was folded, so that summaries merge; absent when off or too much
	Sums       *Sums            `json:"sums,omitempty"` // what merges without rows; absent where there are rows
	Notes      []string         `json:"notes"`          // warnings as values, one line each
	Extra      *json.RawMessage `json:"extra,omitempty"`
}

// Input names one input and what it was.
type Input struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // run, gpu, summary
	SHA256 string `json:"sha256"` // of the part or file as its end table states
	Bytes  int64  `json:"bytes"`
}

// Part is one part of a run: its header as written, its end, its integrity counts.
type Part struct {
	Header json.RawMessage `json:"header"` // run.Header
	End    PartEnd         `json:"end"`
}

// PartEnd is the end table without the message index.
type PartEnd struct {
	Status       string          `json:"status"`
	Planned      int64           `json:"planned"`
	RequestsRows int64           `json:"requests_rows"`
	ClientRows   int64           `json:"client_rows"`
	SHA256       string          `json:"sha256"`
	Detail       json.RawMessage `json:"detail"` // run.Detail
}

// Window is the steady window W = [FromNS, ToNS) on u, offsets from the first part's epoch.
type Window struct {
	FromNS    int64       `json:"from_ns"`
	ToNS      int64       `json:"to_ns"`
	LoadFrom  int64       `json:"load_from_ns"` // first u
	LoadTo    int64       `json:"load_to_ns"`   // last u
	WarmupNS  int64       `json:"warmup_ns"`
	RampNS    int64       `json:"ramp_ns"`
	MSERCutNS formats.Int `json:"mser_cut_ns"` // null: too few batches or no steady tail
	MSERNote  string      `json:"mser_note"`
}

// Plan holds the planned totals over all rows, inside the window or not.
type Plan struct {
	Requests             int64       `json:"requests"`
	InputTokens          int64       `json:"input_tokens"`
	OutputTokens         int64       `json:"output_tokens"`
	ExpectedCachedTokens formats.Int `json:"expected_cached_tokens"`
	InWindow             int64       `json:"in_window"`
	Rows                 int64       `json:"rows"`
	Distinct             int64       `json:"distinct"`
	Duplicates           int64       `json:"duplicates"`
}

// Outcome counts rows of one outcome, over all rows and in the window.
type Outcome struct {
	Name     string `json:"name"`
	N        int64  `json:"n"`
	InWindow int64  `json:"in_window"`
}

// Metric is one distribution in its envelope (metrics.md section 1).
type Metric struct {
	ID          string       `json:"id"`
	Side        string       `json:"side"`       // user, wire, sent, or ""
	Unit        string       `json:"unit"`       // ns, tokens/s, …
	Population  string       `json:"population"` // ok, planned, dispatched, …
	Weighting   string       `json:"weighting"`  // request, gap, time
	Method      string       `json:"method"`     // exact nearest rank, hdr 3 digits, …
	Definition  string       `json:"definition"` // formula over named columns
	N           int64        `json:"n"`
	Nulls       int64        `json:"nulls"`
	Sum         *json.Number `json:"sum"` // integer, may exceed 64 bits
	Mean        *float64     `json:"mean"`
	Std         *float64     `json:"std"`
	Min         formats.Int  `json:"min"`
	Max         formats.Int  `json:"max"`
	Percentiles []Percentile `json:"percentiles"`
	Note        string       `json:"note,omitempty"`
}

// Percentile is one nearest-rank percentile with its 95 % interval. Level counts
// thousandths: 999 is p99.9. Below the floor Value is null and Reason says why.
type Percentile struct {
	Level    int64       `json:"level"`
	Value    formats.Int `json:"value"`
	Low      formats.Int `json:"low"`
	High     formats.Int `json:"high"`
	Tau      *float64    `json:"tau"`
	Neff     *float64    `json:"n_eff"`
	Infinite bool        `json:"infinite,omitempty"` // the rank falls on a miss
	Reason   string      `json:"reason,omitempty"`
}

// Scalar is one number in its envelope; Value is null with a Reason when it could
// not be computed.
type Scalar struct {
	ID         string   `json:"id"`
	Unit       string   `json:"unit"`
	Value      *float64 `json:"value"`
	N          int64    `json:"n"`
	Definition string   `json:"definition"`
	Reason     string   `json:"reason,omitempty"`
	Evidence   string   `json:"evidence,omitempty"` // where to look: worker, second
}

// Group is the rows that agree on the values of all keys, such as a class.
type Group struct {
	Keys     []Key     `json:"keys"` // in the order asked for
	Rows     int64     `json:"rows"` // inside the window or not
	InWindow int64     `json:"in_window"`
	Outcomes []Outcome `json:"outcomes"` // every outcome, zeros included
	Metrics  []Metric  `json:"metrics"`  // distributions over requests, gaps and tokens, sorted by (id, side)
	Scalars  []Scalar  `json:"scalars"`  // rates and shares, sorted by id
	Sketches []Sketch  `json:"sketches"`
}

// Key is a column and the value that the rows of a group have there; text that is
// empty or not known is "".
type Key struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Series is one value per step from FromNS on; null where nothing was measured.
type Series struct {
	ID     string     `json:"id"`
	Unit   string     `json:"unit"`
	FromNS int64      `json:"from_ns"`
	StepNS int64      `json:"step_ns"`
	Values []*float64 `json:"values"`
}

// Client sums one worker's client rows.
type Client struct {
	Part        int64              `json:"part"`
	Worker      int64              `json:"worker"`
	PID         int64              `json:"pid"`
	Rows        int64              `json:"rows"`
	Dispatched  int64              `json:"dispatched"`   // Σ client.dispatched
	Completed   int64              `json:"completed"`    // Σ client.completed
	RowsSent    int64              `json:"rows_sent"`    // rows of the worker with dispatched_ns
	RowsEnded   int64              `json:"rows_ended"`   // rows of the worker with dispatched_ns and end_ns
	CPUNS       formats.Int        `json:"cpu_ns"`       // user + system
	RunqueueNS  formats.Int        `json:"runqueue_ns"`  //
	Timeslices  formats.Int        `json:"timeslices"`   //
	TokenEvents int64              `json:"token_events"` //
	Values      map[string]float64 `json:"values"`       // cpu_share_p95, wait_per_slice_ns, …; absent when unknown
}

// GPU is one device over the window.
type GPU struct {
	Host    string              `json:"host"`
	Index   int64               `json:"index"`
	UUID    string              `json:"uuid"`
	Name    string              `json:"name"`
	Samples int64               `json:"samples"`
	Values  map[string]*float64 `json:"values"` // utilization_mean, power_mean_w, energy_j, …
	Reason  string              `json:"reason,omitempty"`
}

// Sketch is an HdrHistogram of a gap-weighted metric, exactly mergeable.
type Sketch struct {
	ID     string `json:"id"`
	Side   string `json:"side"`
	Digits int    `json:"digits"`
	Data   string `json:"data"` // HdrHistogram V2 compressed encoding, base64
}

// EncodedColumns carries the per-request columns as base64 of a zstd Arrow stream.
type EncodedColumns struct {
	Rows   int64       `json:"rows"`
	Stream string      `json:"stream"`
	CRC32C formats.Int `json:"crc32c"` // of the text of stream; null: not known
}

// EncodedRows carries the rows from which the summary was made: a run in the format of
// package run, in base64, without the fields that no metric reads. Its parts are those
// of the summary, in the same order, and stand for them: hashes, sizes and headers are
// those that the summary states.
type EncodedRows struct {
	Order Order  `json:"order"`
	Run   string `json:"run"`
}

// Order counts rows whose stamps contradict the order of events, over all rows. It is
// taken of stamps that the embedded rows lack.
type Order struct {
	Rows    int64 `json:"rows"`     // out of order
	Over    int64 `json:"over"`     // by more than 50 µs
	MostNS  int64 `json:"most_ns"`  // the largest step back
	WorstID int64 `json:"worst_id"` // the request that has it
	Early   int64 `json:"early"`    // sent before they were due
}
