package link

import "hydrant/formats/run"

// The engines.
const (
	Epoll = "epoll"
	HTTP  = "http"
)

// Setup is all a worker needs to know before its first job. It travels over the pipe
// and not as arguments, because it may hold secrets.
type Setup struct {
	Worker     int // number of this worker, from 0
	GOMAXPROCS int
	Engine     string   // Epoll or HTTP
	URLs       []string // base URLs; a session keeps one
	Endpoint   string   // chat, completions, …
	Prompt     string   // tokens or text
	Model      string   // sent name; empty: the line's
	Stream     bool     //
	PinOutput  bool     // ask for exactly the planned output length
	Chunks     bool     // keep the lists per token event
	Header     map[string][]string
	CA         []byte // certificate authorities to trust besides the system's, PEM
	HTTP2      bool   // speak it where the server offers it
	Proxy      bool   // obey the proxies of the environment
	Seed       int64

	ConnectNS, FirstByteNS, IdleNS, TotalNS int64 // timeouts, 0: none

	Timing      string // schedule, strict, think, asap
	Workers     int    // how many there are; what a cap is shared by
	Concurrency int64  // requests in flight over all workers; 0: no cap
	Sessions    int64  // open sessions over all workers; 0: no cap
	RampNS      int64  // the caps grow from 1 over this long; 0: they do not
	Released    bool   // the plan is what was released before it ended, not what was read

	DurationNS int64 // nothing is dispatched at or after this offset; 0: no end
	GraceNS    int64 // how long requests in flight may go on after a stop
	CancelPPM  int64 // share of requests the plan cuts short
	CancelNS   int64 // after this long from dispatch
	Nice       int   // niceness of the process, as far as the system grants it
	SpinNS     int64 // woken this much before each instant, then busy

	TickNS          int64 // between two client rows; 0: a second
	WorkNS, StallNS int64 // put in on purpose, per token event
}

// Start tells the epoch; from it on jobs are dispatched at their instants.
type Start struct{ Epoch run.Epoch }

// Stop ends the dispatching: what was not sent becomes rows with the outcome not_sent
// and Reason, what is in flight may go on for GraceNS.
type Stop struct {
	Reason  string
	GraceNS int64
}

// Dropped lists requests that the plan ended before: they get no row.
type Dropped struct{ IDs []int64 }

// Hello is a worker's first word.
type Hello struct {
	PID    int
	Build  string
	BootID string
}

// Fault says why a request could not be made as planned. The parent ends the run.
type Fault struct {
	Text string
	Hint string
}

// Bye is a worker's last word, after its last row.
type Bye struct {
	Rows      int64
	StartNS   int64 // wall − monotonic when the worker started
	EndNS     int64 // and when it ended
	CPUUserNS int64 // of its whole life
	CPUSysNS  int64
}
