package run

import "hydrant/formats"

// Outcome values of a request. Every planned request has exactly one.
const (
	OK               = "ok"
	HTTPError        = "http_error"
	StreamError      = "stream_error"
	Malformed        = "malformed"
	Truncated        = "truncated"
	Empty            = "empty"
	TimeoutFirstByte = "timeout_first_byte"
	TimeoutIdle      = "timeout_idle"
	TimeoutTotal     = "timeout_total"
	ConnectError     = "connect_error"
	Cancelled        = "cancelled"
	CancelledPlanned = "cancelled_planned"
	NotSent          = "not_sent"
)

// Outcomes lists all outcome values in the order people read them.
var Outcomes = [...]string{OK, HTTPError, StreamError, Malformed, Truncated, Empty, TimeoutFirstByte,
	TimeoutIdle, TimeoutTotal, ConnectError, Cancelled, CancelledPlanned, NotSent}

// LocalPrefix begins the error of a request that failed for a cause on the
// generator's own host: no port, descriptor, memory or name. A connect_error of
// that kind never left, and counts as not sent.
const LocalPrefix = "local: "

// Token sources, best first.
const (
	UsageChunks = "usage_chunks"
	Usage       = "usage"
	Tokenizer   = "tokenizer"
	Events      = "events"
)

// Request is one row of table requests: one planned request, whatever became of
// it. All NS fields are offsets from the run's epoch on CLOCK_MONOTONIC; null
// (the zero Int, the empty string, a nil slice) means it did not happen or is
// not known. The field order is the column order.
type Request struct {
	// plan
	RequestID            int64
	Pass                 int64
	Session              string
	Stream               string
	Turn                 int64
	After                []int64 // request ids that had to end first; nil: none
	Class                string
	Model                string
	ScheduledNS          formats.Int
	DueNS                formats.Int
	PlannedInputTokens   formats.Int
	PlannedOutputTokens  formats.Int
	ExpectedCachedTokens formats.Int
	// sender
	Worker       formats.Int
	PreparedNS   formats.Int
	CapWaitNS    formats.Int // how long --concurrency and --sessions kept it from its slot
	DispatchedNS formats.Int
	ConnAskedNS  formats.Int
	ConnReadyNS  formats.Int
	ConnReused   formats.Int // bool in the file: 0 or 1
	DNSNS        formats.Int
	ConnectNS    formats.Int
	TLSNS        formats.Int
	ConnID       formats.Int
	RemoteAddr   string
	WriteDoneNS  formats.Int
	// receiver
	HeadersNS           formats.Int
	FirstByteKernelNS   formats.Int
	FirstByteNS         formats.Int
	FirstEventNS        formats.Int
	FirstTokenKernelNS  formats.Int
	FirstTokenNS        formats.Int
	FirstAnswerKernelNS formats.Int
	FirstAnswerNS       formats.Int
	LastTokenKernelNS   formats.Int
	LastTokenNS         formats.Int
	EndNS               formats.Int
	// wire
	BytesSent       formats.Int
	BytesReceived   formats.Int
	Reads           formats.Int
	Events          formats.Int
	MultiEventReads formats.Int
	SegmentsIn      formats.Int
	Retransmits     formats.Int
	RTTUS           formats.Int
	// tokens
	InputTokens      formats.Int
	OutputTokens     formats.Int
	ReasoningTokens  formats.Int
	CachedTokens     formats.Int
	TokenSource      string
	FirstChunkTokens formats.Int
	TokenEvents      formats.Int
	// outcome
	Outcome       string
	HTTPStatus    formats.Int
	FinishReason  string
	EarlyResponse formats.Int // bool in the file: 0 or 1
	Error         string      // first 4 KiB
	// chunks, nil when not kept
	ChunkGapUS   []int64       // n−1 values for n token events
	ChunkDelayUS []formats.Int // n values
	ChunkTokens  []formats.Int // n values, int32 in the file
}

// Client is one row of table client: one worker during the second ending at TNS.
// Counters are the increase over that second, gauges the value at TNS.
type Client struct {
	TNS                   int64
	Worker                int64
	PID                   int64
	IntervalNS            formats.Int // length of the interval the counters cover
	CPUUserNS             formats.Int
	CPUSystemNS           formats.Int
	RunqueueWaitNS        formats.Int // summed over all threads
	Timeslices            formats.Int
	ThrottledNS           formats.Int
	StealPPM              formats.Int // share of host CPU time stolen, parts per million
	PSICPUPPM             formats.Int // share of the interval some task waited for a CPU, parts per million
	RSSBytes              formats.Int
	OpenFDs               formats.Int
	GCPauses              formats.Int
	GCPauseNS             formats.Int
	GCPauseMaxNS          formats.Int
	SchedLatencyP99NS     formats.Int
	HiccupGoroutineP999NS formats.Int
	HiccupThreadP999NS    formats.Int
	Dispatched            formats.Int
	InFlight              formats.Int
	Completed             formats.Int
	TokenEvents           formats.Int
	LagP99NS              formats.Int
	LagMaxNS              formats.Int
	ReadDelayP99NS        formats.Int
	Reads                 formats.Int
	SegmentsIn            formats.Int
	BacklogPrepare        formats.Int // prepared bodies waiting for their instant
	BacklogDispatch       formats.Int // due requests not yet dispatched
	BacklogRows           formats.Int // finished rows not yet written to the parent
}

// RowBacklog is how many finished rows of a worker wait for the encoder at most; a
// worker whose backlog_rows reaches it stands still.
const RowBacklog = 4096

// Status values of End.
const (
	Complete    = "complete"
	Interrupted = "interrupted"
	Failed      = "failed"
)
