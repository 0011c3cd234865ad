// Package csv writes a summary as comma-separated values, RFC 4180: Long has one row
// per figure, Wide one row per metric or scalar. Both start with a line of names and
// leave a figure that is null empty, with the reason in a column of its own.
package csv

import (
	"encoding/csv"
	"io"
	"strings"

	"hydrant/cmd/reduce/internal/cells"
	"hydrant/formats/summary"
)

// LongColumns are the names of the long form.
var LongColumns = [...]string{"group", "kind", "id", "side", "population", "weighting", "statistic", "unit", "from_ns", "value", "reason"}

// Long writes one row per figure.
func Long(w io.Writer, s *summary.Summary) error {
	out := csv.NewWriter(w)
	_ = out.Write(LongColumns[:]) // errors stay with the writer until Flush
	for c := range cells.All(s) {
		from := ""
		if c.FromNS.Valid {
			from = c.FromNS.String()
		}
		_ = out.Write([]string{cells.GroupText(c.Group), c.Kind, c.ID, c.Side, c.Population, c.Weighting, c.Statistic, c.Unit, from, c.Value, c.Reason})
	}
	out.Flush()
	return out.Error()
}

// wideKey are the columns of the wide form that say what a row is.
var wideKey = [...]string{"group", "kind", "id", "side", "population", "weighting", "unit"}

// wideStatistics are its figures.
var wideStatistics = func() []string {
	names := []string{"value", "n", "in_window", "nulls", "sum", "mean", "std", "min", "max"}
	for _, level := range levels {
		name := cells.LevelName(level)
		names = append(names, name, name+"_low", name+"_high", name+"_tau", name+"_n_eff")
	}
	return names
}()

// levels are the percentiles of version 1 of the summary, in thousandths.
var levels = [...]int64{10, 50, 100, 250, 500, 750, 900, 950, 990, 999}

// WideColumns are the names of the wide form.
var WideColumns = append(append(wideKey[:len(wideKey):len(wideKey)], wideStatistics...), "reasons")

// Wide writes one row per metric, scalar, outcome or value of a worker or device, but
// no series, whose figures differ by time alone. Column reasons lists which figures are
// null and why.
func Wide(w io.Writer, s *summary.Summary) error {
	out := csv.NewWriter(w)
	_ = out.Write(WideColumns)
	at := map[string]int{}
	for i, name := range wideStatistics {
		at[name] = len(wideKey) + i
	}
	var row []string
	var reasons []reason
	flush := func() {
		if row != nil {
			row[len(row)-1] = reasonText(reasons)
			_ = out.Write(row)
		}
		reasons = reasons[:0]
	}
	for c := range cells.All(s) {
		if c.Kind == cells.Series {
			continue
		}
		key := []string{cells.GroupText(c.Group), c.Kind, c.ID, c.Side, c.Population, c.Weighting}
		if row == nil || !equal(row, key) {
			flush()
			row = append(key, make([]string, len(WideColumns)-len(key))...)
		}
		if c.Statistic == "value" || c.Statistic == "mean" || c.Kind == cells.Outcome {
			row[len(wideKey)-1] = c.Unit
		}
		row[at[c.Statistic]] = c.Value
		if c.Value == "" {
			reasons = append(reasons, reason{c.Statistic, c.Reason})
		}
	}
	flush()
	out.Flush()
	return out.Error()
}

func equal(row, key []string) bool {
	for i, k := range key {
		if row[i] != k {
			return false
		}
	}
	return true
}

// reason says why one statistic is null.
type reason struct{ statistic, why string }

// reasonText joins neighbours with one reason: "p99 p99_low: needs 662 values, has 11".
func reasonText(all []reason) string {
	var b strings.Builder
	for i, r := range all {
		if i > 0 && all[i-1].why == r.why {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(r.statistic)
		for _, next := range all[i+1:] {
			if next.why != r.why {
				break
			}
			b.WriteString(" " + next.statistic)
		}
		b.WriteString(": " + r.why)
	}
	return b.String()
}
