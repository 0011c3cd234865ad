// Package verdict reads and writes what judge says about a run: two separate
// statements, about the load generator (Harness) and about the server (SLO), with the
// checks and decisions they rest on.
//
// Write gives the same bytes for the same Verdict. Read accepts what Write wrote, also
// when another program laid it out anew, and nothing with keys it does not know.
package verdict

import "hydrant/formats"

// Format and Version name what the writer writes. They are wire constants.
const (
	Format  = "hydrant-verdict"
	Version = 1
)

// Values of Verdict.Harness.
const (
	Valid   = "VALID"
	Invalid = "INVALID"
)

// Values of Verdict.SLO and Objective.Result; None only of the former.
const (
	Pass         = "PASS"
	Fail         = "FAIL"
	Inconclusive = "INCONCLUSIVE"
	None         = "NONE"
)

// Values of Check.Status and Term.Status. NotApplicable is a term's only.
const (
	OK            = "OK"
	Warn          = "WARN"
	Bad           = "BAD"
	Unknown       = "UNKNOWN"
	NotApplicable = "N/A"
)

// Verdict is one judgement. Durations are ns, shares 0..1, rates per second.
type Verdict struct {
	Format   string  `json:"format"`
	Version  int     `json:"version"`
	Build    string  `json:"build"`
	Inputs   []Input `json:"inputs"`
	Headline string  `json:"headline"` // the first line of the report
	Harness  string  `json:"harness"`
	Tier     string  `json:"tier"`      // evidence tier T0 to T3
	TierNote string  `json:"tier_note"` // why it is not a higher one
	SLO      string  `json:"slo"`       //
	Claim    string  `json:"claim"`     // slo, capacity, none
	Exit     int     `json:"exit"`      // judge's exit status
	Options  Options `json:"options"`
	// Unproven lists required checks without evidence that --accept-unproven let pass.
	Unproven []string `json:"unproven"`
	Cause    *Cause   `json:"cause"` // why not VALID, or why INCONCLUSIVE
	// AFortiori is what stands although the run is INVALID; null when nothing does.
	AFortiori   *AFortiori   `json:"a_fortiori"`
	Checks      []Check      `json:"checks"`
	KClient     Index        `json:"k_client"` // 1: the client is at a limit of its own
	KServer     Index        `json:"k_server"` // 1: the server is
	Calibration *Calibration `json:"calibration"`
	Objectives  []Objective  `json:"objectives"`
	Goodput     *Goodput     `json:"goodput"` // null when no objective was given
	Latencies   []Latency    `json:"latencies"`
	Numbers     []Number     `json:"numbers"` // rates and client evidence, sorted by id
	GPUs        []GPU        `json:"gpus"`
	GPUNote     string       `json:"gpu_note"` // why there are none
	Outcomes    []Outcome    `json:"outcomes"`
	Window      Window       `json:"window"`
	Worst       []Worst      `json:"worst"` // windows of the run that stand out, worst first
	Run         Run          `json:"run"`
	NotMeasured []string     `json:"not_measured"`
	Notes       []string     `json:"notes"`
}

// Input names one input and what it was.
type Input struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // run, summary, gpu, schedule
	SHA256 string `json:"sha256"`
}

// Options is what was asked of the judge, beyond the objectives.
type Options struct {
	Limits         string   `json:"limits"` // version of the table of limits
	Short          bool     `json:"short"`  // D1 with 30 s: not publishable
	AcceptUnproven bool     `json:"accept_unproven"`
	Evidence       string   `json:"evidence"`    // lowest evidence tier that is accepted: T1, T2, T3
	Directional    bool     `json:"directional"` // what stands a fortiori decides the exit status
	Changed        []Change `json:"changed"`     // limits changed with --limit
}

// Change is one limit that was changed by hand.
type Change struct {
	Limit   string   `json:"limit"` // "B2.p99"
	Unit    string   `json:"unit"`
	Default *float64 `json:"default"` // null: the table has none
	Value   float64  `json:"value"`
}

// Cause names the first cause in causal order and the next step.
type Cause struct {
	Check string `json:"check"` // id of the check or objective
	Text  string `json:"text"`
	Hint  string `json:"hint"`
}

// AFortiori is the SLO statement of an INVALID run that its faults cannot have made:
// each of them moves the picture of the server the other way.
type AFortiori struct {
	SLO        string   `json:"slo"`        // PASS (all faults inflate) or FAIL (all faults hide)
	Objectives []string `json:"objectives"` // ids of those that stand
	Text       string   `json:"text"`
}

// Index says how near one side is to its own limit, 1 being there: the largest of its
// parts.
type Index struct {
	Value  *float64 `json:"value"`
	Parts  []Part   `json:"parts"`
	Reason string   `json:"reason"` // why there is no value
}

// Part is one term of an index.
type Part struct {
	ID     string   `json:"id"` // of the metric it is made from
	Value  *float64 `json:"value"`
	Reason string   `json:"reason"`
}

// Calibration says what the generator could do against a null server, as far as the
// report shows it. Rates are per second.
type Calibration struct {
	Status     string      `json:"status"` // measured, reused, off, failed
	Reason     string      `json:"reason"` // why there is no ceiling
	AgeNS      formats.Int `json:"age_ns"` // at the start of the run
	DurationNS int64       `json:"duration_ns"`
	Host       string      `json:"host"`
	Kernel     string      `json:"kernel"`
	Build      string      `json:"build"`
	Engine     string      `json:"engine"`
	Workers    int64       `json:"workers"`
	Headrooms  []Headroom  `json:"headrooms"`
}

// Headroom is the ceiling of one rate against what the run asked for.
type Headroom struct {
	Rate    string   `json:"rate"` // requests, events, bytes
	Ceiling *float64 `json:"ceiling"`
	Offered *float64 `json:"offered"`
	Ratio   *float64 `json:"ratio"`
	Reason  string   `json:"reason"`
}

// Check is one check of the rules with its terms.
type Check struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Required bool   `json:"required"`
	Status   string `json:"status"`
	Bias     string `json:"bias"` // hides, inflates, both: what a BAD does to the server's picture
	Formula  string `json:"formula"`
	Source   string `json:"source"` // of the limit
	Terms    []Term `json:"terms"`
	Evidence string `json:"evidence"` // where to look, or "n/a: …"
	Reason   string `json:"reason"`   // why UNKNOWN
}

// Term is one number of a check against its limit.
type Term struct {
	Limit    string   `json:"limit"` // id of the limit for --limit: "B2.p99"
	Name     string   `json:"name"`
	Unit     string   `json:"unit"` // ns, share, ratio, count
	Value    *float64 `json:"value"`
	Op       string   `json:"op"`    // <= or >=
	Bound    *float64 `json:"bound"` // null: no limit applies
	Warn     *float64 `json:"warn"`  // null: no WARN limit
	N        int64    `json:"n"`     // values it rests on
	Status   string   `json:"status"`
	Evidence string   `json:"evidence"`
	Reason   string   `json:"reason"` // why UNKNOWN or N/A
}

// Objective is one decided service level objective.
type Objective struct {
	ID          string       `json:"id"`     // E1:… or E2:… (joint)
	Text        string       `json:"text"`   // canonical form
	Kind        string       `json:"kind"`   // quantile, share, joint, rate
	Metric      string       `json:"metric"` //
	Side        string       `json:"side"`   // user, wire, sent; "" when it has none
	P           *float64     `json:"p"`      // share of requests that must be good; null for a rate
	Result      string       `json:"result"` //
	Reason      string       `json:"reason"` // why INCONCLUSIVE
	N           int64        `json:"n"`      // rows judged
	Misses      int64        `json:"misses"`
	LeftOut     int64        `json:"left_out"`   // rows to which it cannot apply
	Unmeasured  int64        `json:"unmeasured"` // ok rows whose value is missing though it should exist
	Value       formats.Int  `json:"value"`      // nearest-rank quantile with misses as +infinity, ns
	Infinite    bool         `json:"infinite"`   // the rank falls on a miss
	Low         formats.Int  `json:"low"`        // 95 % interval of value, ns
	High        formats.Int  `json:"high"`
	Tau         *float64     `json:"tau"` // rows per independent row
	Settled     bool         `json:"settled"`
	Neff        *float64     `json:"n_eff"`
	D5          *float64     `json:"d5"`         // n_eff·(1−p)
	PPass       *float64     `json:"p_pass"`     // chance of so few misses at a true share of 1−p
	PFail       *float64     `json:"p_fail"`     // chance of so many
	FailBelow   *float64     `json:"fail_below"` // p_fail must not exceed this (Holm)
	ProjectedN  formats.Int  `json:"projected_n"`
	Independent *Independent `json:"independent"` // the same, assuming independence
	Rate        *Rate        `json:"rate"`
	OtherSides  []OtherSide  `json:"other_sides"`
	Invariance  *Invariance  `json:"invariance"`
}

// Invariance compares the decision from user times with that from the server's side,
// both under the larger tau of the two (check C8).
type Invariance struct {
	Side   string   `json:"side"`   // wire; sent where there are no kernel stamps
	User   string   `json:"user"`   // result from user times
	Other  string   `json:"other"`  // result from the times of Side
	Status string   `json:"status"` // OK, WARN, BAD
	Tau    *float64 `json:"tau"`
	Part   string   `json:"part"` // what turns one into the other: receive, send_lag, conn_wait, upload
	Text   string   `json:"text"`
}

// Independent is the decision with tau = 1, shown beside, never used.
type Independent struct {
	Result     string      `json:"result"`
	PPass      float64     `json:"p_pass"`
	PFail      float64     `json:"p_fail"`
	ProjectedN formats.Int `json:"projected_n"`
}

// Rate is a rate objective by batch means.
type Rate struct {
	Unit    string   `json:"unit"`
	Op      string   `json:"op"`
	Bound   float64  `json:"bound"`
	Mean    *float64 `json:"mean"`
	StdErr  *float64 `json:"std_err"`
	Batches int64    `json:"batches"`
	LagOne  *float64 `json:"lag_one"` // autocorrelation of neighbouring batches
	Low     *float64 `json:"low"`     // one-sided 99 % bound
	High    *float64 `json:"high"`    // one-sided 95 % bound
}

// OtherSide is the same objective decided from another pair of stamps.
type OtherSide struct {
	Side     string      `json:"side"`
	Result   string      `json:"result"`
	Misses   int64       `json:"misses"`
	Value    formats.Int `json:"value"`
	Infinite bool        `json:"infinite"`
}

// Goodput counts the rows that are ok and meet every per-request limit of the set.
type Goodput struct {
	Limits     []string `json:"limits"`
	Good       int64    `json:"good"`
	N          int64    `json:"n"`
	Attainment *float64 `json:"attainment"` // good/n
	Rate       *float64 `json:"rate"`       // good per second of the window
}

// Latency is one distribution of the summary, as far as the report shows it.
type Latency struct {
	ID          string       `json:"id"`
	Side        string       `json:"side"`
	Unit        string       `json:"unit"`
	Population  string       `json:"population"`
	Weighting   string       `json:"weighting"`
	N           int64        `json:"n"`
	Nulls       int64        `json:"nulls"`
	Mean        *float64     `json:"mean"`
	Percentiles []Percentile `json:"percentiles"`
}

// Percentile is one level with its 95 % interval; Level counts thousandths.
type Percentile struct {
	Level    int64       `json:"level"`
	Value    formats.Int `json:"value"`
	Low      formats.Int `json:"low"`
	High     formats.Int `json:"high"`
	Tau      *float64    `json:"tau"`
	Neff     *float64    `json:"n_eff"`
	Infinite bool        `json:"infinite"`
	Reason   string      `json:"reason"` // why there is no value
}

// Number is one scalar of the summary that the report shows.
type Number struct {
	ID       string   `json:"id"`
	Unit     string   `json:"unit"`
	Value    *float64 `json:"value"`
	Reason   string   `json:"reason"`
	Evidence string   `json:"evidence"`
}

// GPU is one device over the window.
type GPU struct {
	Host    string  `json:"host"`
	Index   int64   `json:"index"`
	UUID    string  `json:"uuid"`
	Name    string  `json:"name"`
	Samples int64   `json:"samples"`
	Values  []Value `json:"values"` // sorted by id
	Reason  string  `json:"reason"`
}

// Value is one number of a device; null when the device did not report it.
type Value struct {
	ID    string   `json:"id"`
	Value *float64 `json:"value"`
}

// Outcome counts rows of one outcome, over the whole run and in the window.
type Outcome struct {
	Name     string `json:"name"`
	N        int64  `json:"n"`
	InWindow int64  `json:"in_window"`
}

// Window is the steady window, offsets from the first part's epoch in ns.
type Window struct {
	FromNS   int64 `json:"from_ns"`
	ToNS     int64 `json:"to_ns"`
	LoadFrom int64 `json:"load_from_ns"`
	LoadTo   int64 `json:"load_to_ns"`
	Rows     int64 `json:"rows"` // planned in the window
}

// Worst is a stretch of the run that stands out, with what else happened in it.
type Worst struct {
	ID     string   `json:"id"` // of the value that stands out
	FromNS int64    `json:"from_ns"`
	ToNS   int64    `json:"to_ns"`
	Unit   string   `json:"unit"`
	Value  *float64 `json:"value"`
	Beside []Beside `json:"beside"`
}

// Beside is another value of the same stretch.
type Beside struct {
	ID    string   `json:"id"`
	Unit  string   `json:"unit"`
	Value *float64 `json:"value"`
}

// Run says what was run and what is needed to run it again.
type Run struct {
	Planned        int64    `json:"planned"`
	InputTokens    int64    `json:"input_tokens"`  // planned
	OutputTokens   int64    `json:"output_tokens"` // planned
	Parts          int64    `json:"parts"`
	Build          string   `json:"build"` // of replay
	ScheduleSHA256 []string `json:"schedule_sha256"`
	Schedule       []string `json:"schedule"` // how the schedule was made: sources, then transforms
	Seed           int64    `json:"seed"`
	Timing         string   `json:"timing"`
	Flags          []string `json:"flags"` // of replay, in effect
	Target         []string `json:"target"`
	Endpoint       string   `json:"endpoint"`
	Streaming      bool     `json:"streaming"`
	Model          string   `json:"model"`
	Server         string   `json:"server"` // version that it states of itself
	Engine         string   `json:"engine"`
	Prompt         string   `json:"prompt"`
	Workers        int64    `json:"workers"`
	Host           string   `json:"host"`
	Kernel         string   `json:"kernel"`
	CPUs           int64    `json:"cpus"` // allowed
	Labels         []string `json:"labels"`
	Injected       []string `json:"injected"` // faults made on purpose
}
