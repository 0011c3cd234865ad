package analyze

import (
	"hydrant/formats"
)

// Format and Version name the JSON document. A version never changes its meaning.
const (
	Format  = "hydrant-analysis"
	Version = 1
)

// Document is how Figures are written and read.
var Document = formats.Document[Figures]{Format: Format, Version: Version, Noun: "workload analysis", MaxSize: 1 << 26}

// Figures are all that is written of an analysis. docs/formats/analysis.md says what each
// means; null is what cannot be known, never 0.
type Figures struct {
	Format        string   `json:"format"`
	Version       int      `json:"version"`
	Build         string   `json:"build"`
	Input         Source   `json:"input"`
	Requests      int64    `json:"requests"`
	DeltaRequests int64    `json:"delta_requests"`
	InputTokens   Dist     `json:"input_tokens"`
	OutputTokens  Dist     `json:"output_tokens"`
	TotalTokens   Dist     `json:"total_tokens"`
	Time          Time     `json:"time"`
	Sessions      Sessions `json:"sessions"`
	Delays        Delays   `json:"delays"`
	Recorded      Recorded `json:"recorded"`
	Reuse         *Reuse   `json:"reuse"`
	Notes         []string `json:"notes"`
}

// Source says what was read.
type Source struct {
	Name   string `json:"name"`
	Format string `json:"format"`
}

// Dist is a distribution of whole numbers.
type Dist struct {
	N     int64       `json:"n"`
	Nulls int64       `json:"nulls"`
	Zeros int64       `json:"zeros"`
	Sum   formats.Int `json:"sum"`
	Mean  *float64    `json:"mean"`
	Min   formats.Int `json:"min"`
	P10   formats.Int `json:"p10"`
	P50   formats.Int `json:"p50"`
	P90   formats.Int `json:"p90"`
	P95   formats.Int `json:"p95"`
	P99   formats.Int `json:"p99"`
	P999  formats.Int `json:"p999"`
	Max   formats.Int `json:"max"`
	Exact bool        `json:"exact"`
}

// Time is how the requests arrive.
type Time struct {
	Timed    int64       `json:"timed"`
	Untimed  int64       `json:"untimed"`
	FirstNS  formats.Int `json:"first_ns"`
	LastNS   formats.Int `json:"last_ns"`
	SpanNS   formats.Int `json:"span_ns"`
	RatePerS *float64    `json:"rate_per_s"`
	Instants int64       `json:"instants"`
	Ties     int64       `json:"ties"`
	GapCV    *float64    `json:"gap_cv"`
	Windows  []Window    `json:"windows"`
	Rate     Rate        `json:"rate"`
}

// Window is the spread of the counts in windows of one width.
type Window struct {
	WidthNS    int64    `json:"width_ns"`
	Windows    int64    `json:"windows"`
	Empty      int64    `json:"empty"`
	Mean       *float64 `json:"mean"`
	Most       int64    `json:"most"`
	PeakToMean *float64 `json:"peak_to_mean"`
	IDC        *float64 `json:"idc"`
}

// Rate is a count per window, from the first request on.
type Rate struct {
	WidthNS int64   `json:"width_ns"`
	Counts  []int64 `json:"counts"`
}

// Sessions are the conversations.
type Sessions struct {
	N           int64 `json:"n"`
	Requests    Dist  `json:"requests"`
	Main        Share `json:"main"`
	Side        Share `json:"side"`
	SideStreams int64 `json:"side_streams"`
	Shrunk      int64 `json:"shrunk"`
}

// Share is a part of the requests.
type Share struct {
	Requests     int64 `json:"requests"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Delays are the waits between requests that depend on others.
type Delays struct {
	Free    int64 `json:"free"`
	Waiting int64 `json:"waiting"`
	Several int64 `json:"several"`
	Entries int64 `json:"entries"`
	DelayNS Dist  `json:"delay_ns"`
}

// Recorded is what the trace measured.
type Recorded struct {
	TTFTNS       Dist `json:"ttft_ns"`
	E2ENS        Dist `json:"e2e_ns"`
	CachedTokens Dist `json:"cached_tokens"`
}

// Reuse is what a prefix cache can do for the workload.
type Reuse struct {
	BlockTokens  int64      `json:"block_tokens"`
	BlockLast    string     `json:"block_last"`
	WithIDs      int64      `json:"with_ids"`
	Blocks       int64      `json:"blocks"`
	Distinct     int64      `json:"distinct"`
	Reused       int64      `json:"reused"`
	ReusedUses   int64      `json:"reused_uses"`
	Scopes       int64      `json:"scopes"`
	ChainBreaks  int64      `json:"chain_breaks"`
	WhollyCached int64      `json:"wholly_cached"`
	Time         Hit        `json:"time"`
	Listed       *Hit       `json:"listed"`
	ListedReason string     `json:"listed_reason"`
	Isolated     Hit        `json:"isolated"`
	Set          Hit        `json:"set"`
	ServerBlocks []BlockHit `json:"server_blocks"`
	Caches       []CacheHit `json:"caches"`
}

// Hit is what is found in a cache.
type Hit struct {
	Blocks     int64    `json:"hit_blocks"`
	Tokens     int64    `json:"hit_tokens"`
	BlockRatio *float64 `json:"block_hit_ratio"`
	TokenRatio *float64 `json:"token_hit_ratio"`
}

// BlockHit is what a server with blocks of another size finds in an infinite cache.
type BlockHit struct {
	BlockTokens int64    `json:"block_tokens"`
	Tokens      int64    `json:"hit_tokens"`
	TokenRatio  *float64 `json:"token_hit_ratio"`
}

// CacheHit is what is found in an LRU cache.
type CacheHit struct {
	CacheTokens  int64    `json:"cache_tokens"`
	CacheBlocks  int64    `json:"cache_blocks"`
	WhollyCached int64    `json:"wholly_cached"`
	Blocks       int64    `json:"hit_blocks"`
	Tokens       int64    `json:"hit_tokens"`
	BlockRatio   *float64 `json:"block_hit_ratio"`
	TokenRatio   *float64 `json:"token_hit_ratio"`
}
