package synth

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"hydrant/internal/arrivals"
)

// YAML prints the description as Parse reads it: the same workload, one way to write it.
func (s *Spec) YAML() []byte {
	var w printer
	w.line(0, "version: %d", Version)
	if s.Seed.Valid {
		w.line(0, "seed: %d", s.Seed.V)
	}
	if s.Scope != "" {
		w.line(0, "scope: %s", strconv.Quote(s.Scope))
	}
	if s.Requests > 0 {
		w.line(0, "requests: %d", s.Requests)
	}
	if s.DurationNS > 0 {
		w.line(0, "duration: %s", time.Duration(s.DurationNS))
	}
	if s.Block == nil {
		w.line(0, "block: none")
	} else {
		w.line(0, "block: {tokens: %d, last: %s}", s.Block.Tokens, s.Block.Last)
	}
	w.line(0, "classes:")
	for i := range s.Classes {
		w.class(&s.Classes[i])
	}
	return []byte(w.String())
}

// printer writes lines of YAML. Lists are broken where a person would.
type printer struct{ strings.Builder }

func (w *printer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// width is where a list of numbers goes on in the next line.
const width = 96

func (w *printer) numbers(depth int, key string, values []float64) {
	indent := strings.Repeat("  ", depth+1)
	w.line(depth, "%s: [", key)
	at := 0
	for i, v := range values {
		text := decimal(v)
		if i < len(values)-1 {
			text += ","
		}
		switch {
		case at == 0:
			w.WriteString(indent + text)
			at = len(indent) + len(text)
		case at+1+len(text) > width:
			w.WriteString("\n" + indent + text)
			at = len(indent) + len(text)
		default:
			w.WriteString(" " + text)
			at += 1 + len(text)
		}
	}
	w.WriteString("]\n")
}

// dist prints a distribution under a key, its quantiles as a list.
func (w *printer) dist(depth int, key string, d Dist) {
	switch {
	case !d.Set():
	case d.points != nil:
		w.line(depth, "%s:", key)
		w.numbers(depth+1, "quantiles", d.points)
	default:
		w.line(depth, "%s: %s", key, d)
	}
}

func (w *printer) class(c *Class) {
	w.line(1, "- name: %s", strconv.Quote(c.Name))
	if c.Model != "" {
		w.line(2, "model: %s", strconv.Quote(c.Model))
	}
	if c.Priority.Valid {
		w.line(2, "priority: %d", c.Priority.V)
	}
	w.line(2, "arrivals: %s", c.Arrivals)
	if every, values, ok := series(c.Rate); ok {
		w.line(2, "rate:")
		w.line(3, "every: %s", every)
		w.numbers(3, "values", values)
	} else {
		w.line(2, "rate: %s", PrintRate(c.Rate))
	}
	if c.GridNS > 0 {
		w.line(2, "grid: %s", time.Duration(c.GridNS))
	}
	w.dist(2, "input", c.Input)
	w.dist(2, "output", c.Output)
	if len(c.Ranks) > 0 {
		w.line(2, "ranks:")
		for _, row := range c.Ranks {
			var b strings.Builder
			for i, v := range row {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString(decimal(v))
			}
			w.line(3, "- [%s]", b.String())
		}
	}
	if p := c.Prefix; p != nil {
		w.line(2, "prefix:")
		w.line(3, "pool: %d", p.Pool)
		w.dist(3, "tokens", p.Tokens)
		w.line(3, "zipf: %s", decimal(p.Zipf))
		w.line(3, "share: %s", decimal(p.Share))
	}
	if r := c.Reuse; r != nil {
		w.line(2, "reuse:")
		w.dists(3, "blocks", r.Blocks)
		w.dists(3, "age", r.Age)
		if r.Share > 0 {
			w.line(3, "share: %s", decimal(r.Share))
		}
	}
	if s := c.Session; s != nil {
		w.line(2, "session:")
		w.dists(3, "turns", s.Turns)
		w.dist(3, "think", s.Think)
		w.dists(3, "new", s.New)
		w.dist(3, "kept", s.Kept)
		if s.MaxContext > 0 {
			w.line(3, "max_context: %d", s.MaxContext)
		}
	}
}

// dists prints one distribution, or a list of them.
func (w *printer) dists(depth int, key string, ds []Dist) {
	if len(ds) == 1 {
		w.dist(depth, key, ds[0])
		return
	}
	w.line(depth, "%s:", key)
	for _, d := range ds {
		w.line(depth+1, "- %s", d)
	}
}

// series tells whether segments are level and of one length, at least three.
func series(segments []arrivals.Segment) (every time.Duration, values []float64, ok bool) {
	if len(segments) < 3 {
		return 0, nil, false
	}
	for _, s := range segments {
		if s.From != s.To || s.Seconds != segments[0].Seconds || math.IsInf(s.Seconds, 1) {
			return 0, nil, false
		}
		values = append(values, s.From)
	}
	return time.Duration(math.Round(segments[0].Seconds * 1e9)), values, true
}
