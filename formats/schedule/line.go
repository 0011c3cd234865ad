// Package schedule reads and writes the plan of a run: JSON Lines with a header
// line, one line per request and a trailer line that proves the plan is whole.
//
// Open with NewReader and call Next until io.EOF; write with NewWriter, Write and
// Close. Both work on uncompressed bytes: the caller puts a decompressor below the
// reader and a compressor below the writer. A Request that Next returns is valid
// until the next call; Clone keeps one. Chains turns the keep/add form of block
// ids back into whole prompts, and forth.
//
// docs/formats/schedule.md is the contract; Fields is its table of keys.
package schedule

import (
	"encoding/json"

	"hydrant/formats"
)

// Format and Version name what the writer writes. They are wire constants:
// a given version never changes its meaning.
const (
	Format  = "hydrant-schedule"
	Version = 1
)

// Header is the first line, {"schedule":{…}}. It holds only what is known
// before the first request is read; every count is in the Trailer.
type Header struct {
	Format     string      `json:"format"`
	Version    int         `json:"version"`
	Build      string      `json:"build"`
	Args       []string    `json:"args"`
	Sources    []Source    `json:"sources"`
	Seed       int64       `json:"seed"`
	Block      *Block      `json:"block"`      // null when the source has no block ids
	Transforms []Transform `json:"transforms"` // in the order applied
	QuantumNS  int64       `json:"quantum_ns"` // time quantum of the source
	Edited     bool        `json:"edited,omitempty"`
}

// Source says where the requests come from.
type Source struct {
	Name    string `json:"name"`   // base name of the input
	Format  string `json:"format"` // trace format: mooncake, weka, …
	Licence string `json:"licence,omitempty"`
	URL     string `json:"url,omitempty"`
}

// Block says how block ids map to tokens.
type Block struct {
	Tokens int64  `json:"tokens"` // tokens per full block
	Last   string `json:"last"`   // Partial: the last id stands for the rest; Absent: the rest has no id
}

// Values of Block.Last.
const (
	Partial = "partial"
	Absent  = "absent"
)

// Transform is one applied transform with its parameters.
type Transform struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params"`
}

// Context values of a Request.
const (
	Whole = "whole" // the line is the entire prompt
	Delta = "delta" // only the new text: history and live replies are prepended
)

// Request is one planned request.
type Request struct {
	ID           int64           // unique in the file
	AtNS         formats.Int     // offset from schedule zero, ns; null when only dependencies time it
	After        []int64         // ids of earlier lines that must end first
	DelayNS      formats.Int     // wait after the last of them ended, ns; null: only the order is known
	Session      string          // never empty
	Stream       string          // within the session; "0" is the main one
	Turn         int64           // within the stream, from 0
	Last         bool            // no later line has this session: its state may be forgotten
	Context      string          // Whole or Delta
	InputTokens  formats.Int     // as recorded
	OutputTokens formats.Int     // as recorded; 0 is real
	Blocks       *Blocks         // nil when the trace has no ids
	Model        string          // "" is null
	Class        string          // "" is null
	Priority     formats.Int     //
	Recorded     Recorded        // what the trace measured
	Body         json.RawMessage // literal messages, prompt or payload; nil when synthesised
	Extra        json.RawMessage // merged into the body; nil is null
}

// Blocks is the run-length form of a prompt's block ids: the first Keep ids of the
// previous line of the same session and stream, then new ids as runs.
type Blocks struct {
	Scope  string
	Keep   int64
	Add    []Run
	System int64 // leading ids of the prompt that make its system message; ids beyond those of the line count for nothing
}

// Run is a run of consecutive block ids: [first id, count].
type Run = [2]int64

// Recorded holds what the source measured for this request, null when unknown.
type Recorded struct {
	TTFTNS       formats.Int
	E2ENS        formats.Int
	CachedTokens formats.Int
}

// Trailer is the last line, {"end":{…}}.
type Trailer struct {
	Status         string         `json:"status"` // complete, interrupted, failed
	Requests       int64          `json:"requests"`
	Sessions       int64          `json:"sessions"`
	InputTokens    int64          `json:"input_tokens"`
	OutputTokens   int64          `json:"output_tokens"`
	SpanNS         int64          `json:"span_ns"` // largest at_ns
	Blocks         int64          `json:"blocks"`
	DistinctBlocks int64          `json:"distinct_blocks"`
	HitBlocks      int64          `json:"hit_blocks"` // infinite cache, lines in order
	HitTokens      int64          `json:"hit_tokens"`
	BlockHitRatio  *float64       `json:"block_hit_ratio"` // null when there are no blocks
	TokenHitRatio  *float64       `json:"token_hit_ratio"`
	Counts         []Count        `json:"counts"`  // what was repaired, capped, dropped; sorted by name
	Sources        []SourceDigest `json:"sources"` // each source as read
	SHA256         string         `json:"sha256"`  // of all uncompressed lines before this one, with their newlines
}

// Count is one reason and how many records it concerned.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// SourceDigest identifies the bytes a source had, uncompressed.
type SourceDigest struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}
