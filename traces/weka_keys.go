package traces

import (
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// keys finds a repeated key among those that are known, by their number.
type keys uint32

func (k *keys) add(s *jsonl.Scanner, n uint, name string) {
	if *k&(1<<n) != 0 {
		s.Fail("key", name, "each key once")
	}
	*k |= 1 << n
}

func (k keys) has(n uint) bool { return k&(1<<n) != 0 }

const (
	keyID uint = iota
	keyBlockSize
	keyScope
	keyRequests
	keyT
	keyType
	keyModel
	keyIn
	keyOut
	keyHashIDs
	keyAPITime
	keyThinkTime
	keyTTFT
	keyAgentID
	keyAgentType
	keyStatus
	keyDuration
	keyTotals
	keyToolTokens
	keySystemTokens
	keyIgnored // the first of those that are known and not used
)

// ignoredKeys are known: what they say is informative or does not add up.
var ignoredKeys = map[string]uint{"models": 0, "input_types": 1, "output_types": 2, "stop": 3, "total_tokens": 4, "tool_use_count": 5}

// maxSpan caps a time, so that sums of a few stay within 64 bits: 50 years, ns.
const maxSpan = 50 * 365 * 24 * 3600 * 1_000_000_000

const wantSpan = "a time in s between 0 and 50 years"

// wholeNumber reads a whole number of at least least; 12.0 is 12.
func wholeNumber(s *jsonl.Scanner, least int64) int64 {
	if s.Err != nil {
		return 0
	}
	text := s.Number()
	v, ok := whole(text)
	if s.Err == nil && ok && v >= least {
		return v
	}
	want := "a whole number of at least " + strconv.FormatInt(least, 10)
	if s.Err != nil {
		s.Err.Want = want
	} else {
		s.Fail(s.Field, string(text), want)
	}
	return v
}

// nanoseconds reads a time in s, or null, rounded to whole ms.
func nanoseconds(s *jsonl.Scanner) formats.Int {
	if s.Null() {
		return formats.Int{}
	}
	text := s.Number()
	if s.Err != nil {
		s.Err.Want = wantSpan
		return formats.Int{}
	}
	ns, ok := seconds(text, grainMS)
	if !ok || ns < 0 || ns > maxSpan {
		s.Fail(s.Field, string(text), wantSpan)
	}
	return formats.Some(ns)
}
