package run

import (
	"math"

	"hydrant/formats"
)

// How a Calibration came about.
const (
	Measured          = "measured"
	Reused            = "reused"
	CalibrationOff    = "off"
	CalibrationFailed = "failed"
)

// Calibration is what this generator could do against a null server on its own host,
// measured before the run with the run's payload profile. The null server shares the
// host's CPUs with the generator, so every rate is a lower bound.
type Calibration struct {
	Status     string  `json:"status"`      // Measured, Reused, CalibrationOff or CalibrationFailed
	Reason     string  `json:"reason"`      // why there is no ceiling; empty when there is one
	WallNS     int64   `json:"wall_ns"`     // Unix time of its start
	DurationNS int64   `json:"duration_ns"` // how long it took
	Build      string  `json:"build"`
	Engine     string  `json:"engine"`
	Workers    int     `json:"workers"`
	Host       Host    `json:"host"`
	Profile    Profile `json:"profile"`
	Ceiling    *Rates  `json:"ceiling"`    // sent at the largest load that came through, see Settle; null: not found
	AtLeast    bool    `json:"at_least"`   // no larger load was tried: the true ceiling is higher
	Offered    *Rates  `json:"offered"`    // planned means of the run; null: not known beforehand, judge from what was sent
	AtOffered  *Point  `json:"at_offered"` // of the loads tried, the one nearest to the offered
	Points     []Point `json:"points"`     // every load tried, ascending
}

// Profile is what the cost of a request and of a token event depends on besides build,
// host, engine and workers. Means are over the lines read ahead.
type Profile struct {
	Endpoint       string            `json:"endpoint"`
	Streaming      bool              `json:"streaming"`
	Prompt         string            `json:"prompt"`           // tokens or text
	ChunkLists     string            `json:"chunks"`           // full or off
	WorkerProcs    int               `json:"worker_procs"`     // GOMAXPROCS of each worker
	Nice           int               `json:"nice"`             // niceness of the workers
	SpinNS         int64             `json:"spin_ns"`          // --spin
	Caps           bool              `json:"caps"`             // the workers share slots
	Injected       map[string]string `json:"injected"`         // --client-work, --client-stall; null when none
	Lines          int64             `json:"lines"`            // of the schedule, read ahead
	InputTokens    float64           `json:"input_tokens"`     // mean per line, of prompts that are made
	LiteralBytes   float64           `json:"literal_bytes"`    // mean per line, of text that stands in the schedule
	OutputTokens   float64           `json:"output_tokens"`    // mean per answer
	TokensPerEvent int               `json:"tokens_per_event"` // of the null server
	EventGapNS     int64             `json:"event_gap_ns"`     // between two token events of an answer; 0: the answer comes at once
	Stagger        bool              `json:"stagger"`          // its answers are not in step with each other
	BodyBytes      formats.Int       `json:"body_bytes"`       // mean request as sent, header and body
}

// Rates are per second.
type Rates struct {
	RequestsPS float64 `json:"requests_ps"`
	EventsPS   float64 `json:"events_ps"` // token events
	BytesPS    float64 `json:"bytes_ps"`  // sent and received
}

// Point is one load tried against the null server. Values of the client are those of the
// worst worker, each the median over the intervals of its client rows.
type Point struct {
	Offered           Rates       `json:"offered"`
	Sent              Rates       `json:"sent"` // sent requests, received events, both bytes
	SentShare         float64     `json:"sent_share"`
	LagP99NS          formats.Int `json:"lag_p99_ns"`
	HiccupThreadNS    formats.Int `json:"hiccup_thread_ns"`
	HiccupGoroutineNS formats.Int `json:"hiccup_goroutine_ns"`
	ReadDelayP99NS    formats.Int `json:"read_delay_p99_ns"` // null: no kernel stamps
	CPUShare          *float64    `json:"cpu_share"`         // CPU time over wall time of the busiest worker, in CPUs
	CPUPerEventNS     *float64    `json:"cpu_per_event_ns"`  // of all workers; null: no event
	Kappa             *float64    `json:"kappa"`             // segments per read; null: not counted
	SameReadGaps      *float64    `json:"same_read_gaps"`    // share of gaps inside one read; null: no lists
	Through           bool        `json:"through"`           // at least 98 % of requests were sent and of events received, and the client was not behind
	Held              bool        `json:"held"`              // through, and within all limits
	Broke             string      `json:"broke"`             // which limit broke first; empty when held
}

// margin is how many times the offered load all limits have to hold. Below it and beyond,
// what counts is that the load comes through.
const margin = 2

// nearly allows for the rounding of rates.
const nearly = 0.99

// Settle says what a ceiling amounts to for an offered load of so many requests per second:
// the largest load tried that came through. Where twice the offered came through and nothing
// as large held, it is the largest that held. Settle sets Ceiling, AtLeast and AtOffered.
func (c *Calibration) Settle(requestsPS float64) {
	c.Ceiling, c.AtLeast, c.AtOffered = nil, false, nil
	var held, through *Point
	least := math.Inf(1)
	for i := range c.Points {
		p := &c.Points[i]
		if d := math.Abs(math.Log(p.Offered.RequestsPS / requestsPS)); d < least {
			c.AtOffered, least = p, d
		}
		if p.Held {
			held = p
		}
		if p.Through {
			through = p
		}
	}
	enough := func(p *Point) bool { return p != nil && p.Offered.RequestsPS >= margin*nearly*requestsPS }
	if enough(through) && !enough(held) {
		through = held
	}
	if through != nil {
		c.Ceiling, c.AtLeast = c.steady(through), through == &c.Points[len(c.Points)-1]
	}
}

// steady returns the rates of a load that lasts. A window of a second or less is not
// filled evenly by answers of a second: what it had due is scaled to the events that so
// many requests a second have, with the share that was received.
func (c *Calibration) steady(p *Point) *Rates {
	rates := p.Sent
	if c.Profile.TokensPerEvent <= 0 || p.Offered.EventsPS <= 0 {
		return &rates
	}
	scale := p.Offered.RequestsPS * float64(c.Profile.OutputTokens) / float64(c.Profile.TokensPerEvent) / p.Offered.EventsPS
	rates.EventsPS *= scale
	rates.BytesPS *= scale
	return &rates
}
