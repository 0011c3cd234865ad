package summary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// Sums is what a summary without rows has for merging: whole numbers that add, sketches,
// and extremes. Merging is associative and commutative. All offsets are from the epoch of
// the first part.
type Sums struct {
	Window  SumWindow `json:"window"`
	Tallies []Tally   `json:"tallies"` // by id
	Spreads []Spread  `json:"spreads"` // by id and side
	Counts  []Counts  `json:"counts"`  // by id
	Sample  string    `json:"sample"`
	Order   Order     `json:"order"`

	CRC32C int64 `json:"crc32c"` // of all that is added; see Summary.Seal
}

// Seal notes the checksum of what a merge adds: sums, sketches, outcomes and series. A part of
// it that was lost or changed on its way would pass for a smaller count.
func (s *Summary) Seal() {
	if s.Sums != nil {
		s.Sums.CRC32C = s.addedCRC()
	}
}

// added is what a merge adds.
type added struct {
	Sums     Sums      `json:"sums"`
	Sketches []Sketch  `json:"sketches"`
	Outcomes []Outcome `json:"outcomes"`
	Series   []Series  `json:"series"`
}

// addedCRC is the CRC32C of it, written as a summary is: a list that is missing is empty.
func (s *Summary) addedCRC() int64 {
	a := added{*s.Sums, s.Sketches, s.Outcomes, s.Series}
	a.Sums.CRC32C = 0
	var text bytes.Buffer
	if err := (formats.Document[added]{Noun: "sums"}).Write(&text, &a); err != nil {
		panic(err.Error()) // no number of a summary is infinite
	}
	return ipc.CRC32C(text.Bytes())
}

// SumWindow is what the windows of all merged summaries have in common, and how far
// they lie apart.
type SumWindow struct {
	FromLeast int64       `json:"from_least_ns"` // earliest and latest beginning
	FromMost  int64       `json:"from_most_ns"`
	ToLeast   int64       `json:"to_least_ns"` // earliest and latest end
	ToMost    int64       `json:"to_most_ns"`
	Given     string      `json:"given"`        // the window that was asked for, as FROM:TO in ns; "" for the rule
	SpanFrom  formats.Int `json:"span_from_ns"` // first conn_asked_ns of an ok row with tokens
	SpanTo    formats.Int `json:"span_to_ns"`   // its last token
}

// Tally is a pair of totals, most often a numerator and its denominator.
type Tally struct {
	ID string      `json:"id"`
	A  json.Number `json:"a"`
	B  json.Number `json:"b"`
}

// Spread is a distribution in a form that adds.
type Spread struct {
	ID      string      `json:"id"`
	Side    string      `json:"side"`
	N       int64       `json:"n"`
	Nulls   int64       `json:"nulls"`
	Sum     json.Number `json:"sum"`
	Squares json.Number `json:"squares"` // sum of the squares
	Min     formats.Int `json:"min"`
	Max     formats.Int `json:"max"`
	Over    string      `json:"over"`    // sketch of the values from 0 up
	Under   string      `json:"under"`   // of the negative ones, without their sign
	Misses  int64       `json:"misses"`  // rows of population planned that rank as +infinity
	Neutral int64       `json:"neutral"` // rows to which it cannot apply
	Neff    []*float64  `json:"n_eff"`   // of population planned, by level; the least of the summaries
}

// Counts is a whole number per second.
type Counts struct {
	ID     string `json:"id"`
	FromNS int64  `json:"from_ns"` // offset of the first second
	Values string `json:"values"`  // in decimal, separated by blanks
}

// checkSums refuses sums that no run has.
func (s *Summary) checkSums(c *checker) {
	if s.Sums == nil {
		return
	}
	sum := s.addedCRC()
	c.must(s.Sums.CRC32C == sum, "sums.crc32c", s.Sums.CRC32C, "%d, that of sums, sketches, outcomes and series; reduce the run again", sum)
	w := s.Sums.Window
	c.must(w.FromLeast <= w.FromMost && w.FromMost == s.Window.FromNS, "sums.window.from_most_ns", w.FromMost, "%d, as window.from_ns", s.Window.FromNS)
	c.must(w.ToMost >= w.ToLeast && w.ToLeast == s.Window.ToNS, "sums.window.to_least_ns", w.ToLeast, "%d, as window.to_ns", s.Window.ToNS)
	c.must(s.Columns == nil || s.Rows == nil, "sums", "given", "none beside rows, which merge exactly")
	seen := map[string]bool{}
	for _, t := range s.Sums.Tallies {
		c.once(seen, "sums.tallies", t.ID)
	}
	seen = map[string]bool{}
	for i, x := range s.Sums.Spreads {
		at := fmt.Sprintf("sums.spreads[%d].", i)
		c.once(seen, "sums.spreads", x.ID+" "+x.Side)
		c.must(min(x.N, x.Nulls, x.Misses, x.Neutral) >= 0, at+"n", min(x.N, x.Nulls, x.Misses, x.Neutral), "counts of at least 0")
		c.must(x.Min.Or(0) <= x.Max.Or(x.Min.Or(0)), at+"min", x.Min, "at most max, %s", x.Max)
		for _, m := range s.Metrics {
			if m.ID == x.ID && m.Side == x.Side && m.Population != "planned" {
				c.must(m.N == x.N, at+"n", x.N, "%d, as the metric", m.N)
			}
		}
	}
	seen = map[string]bool{}
	for _, x := range s.Sums.Counts {
		c.once(seen, "sums.counts", x.ID)
		c.must(strings.Trim(x.Values, "0123456789 ") == "", "sums.counts", formats.Clip(x.Values), "whole numbers separated by blanks")
	}
}
