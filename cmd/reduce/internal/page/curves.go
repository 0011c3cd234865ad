package page

import (
	"fmt"
	"math"

	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats"
	"hydrant/internal/plot"
	"hydrant/internal/slo"
)

// Sizes of a distribution, px: three stand side by side.
const (
	curveWidth  = 312
	curveHeight = 250
	curveSlots  = 36
)

// side is one curve of a distribution.
type side struct {
	name   string
	color  int
	sorted []float64
	total  int
}

// drawCurves makes the distributions. They are over all requests that were planned in
// the window: one that failed never arrives, so that the distance from the top is what
// an objective misses.
func (p *Page) drawCurves() {
	for _, l := range latencies {
		c := &plot.Chart{Title: l.title, Width: curveWidth, Height: curveHeight, Y: plot.Axis{Max: 1, Format: plot.Percent},
			About: "share of planned requests that had reached this point by then, by user and wire time, on a logarithmic axis"}
		d := Drawing{Name: l.id + "_cdf", Chart: c}
		sides := p.sides(l.id, l.others)
		least, most := math.Inf(1), 0.0
		for _, s := range sides {
			for _, v := range s.sorted {
				if v > 0 {
					least = min(least, v)
					break
				}
			}
			if n := len(s.sorted); n > 0 {
				most = max(most, s.sorted[n-1])
			}
		}
		if !(most > 0) {
			c.Empty = "no request has a value"
			p.curves = append(p.curves, d)
			continue
		}
		for _, m := range p.misses { // a limit nearby belongs into the picture
			if v := float64(m.baseNS) / second; m.metric == l.id && m.flat && v < 5*most && v > least/5 {
				least, most = min(least, v), max(most, v)
			}
		}
		c.X = plot.Decades(least, most)
		c.X.Format = plot.Duration
		for i := len(sides) - 1; i >= 0; i-- { // the user's on top
			s := sides[i]
			line := plot.CDF(s.sorted, s.total, c.X, curveWidth)
			line.Name, line.Color, line.Dash = s.name, s.color, i > 0
			c.Lines = append(c.Lines, line)
		}
		for _, m := range p.misses {
			if m.metric == l.id && m.flat && m.of > 0 {
				c.Rules = append(c.Rules, plot.Rule{At: float64(m.baseNS) / second, Text: table.Percent(m.share()) + " over " + slo.Duration(m.baseNS)})
			}
		}
		c.Slots = curveReadings(c.X, sides)
		d.Note = p.curveNote(sides)
		p.curves = append(p.curves, d)
	}
}

// sides returns the user's values and those of the first other side that has any.
func (p *Page) sides(id string, others []string) (out []side) {
	if p.c == nil {
		return p.knownRanks(id, others)
	}
	sorted, total := p.judged(slo.Limit{Metric: id, Side: slo.User})
	out = append(out, side{slo.User, 1, sorted, total})
	for _, o := range others {
		if sorted, total := p.judged(slo.Limit{Metric: id, Side: o}); len(sorted) > 0 {
			return append(out, side{o, 2, sorted, total})
		}
	}
	return out
}

// knownRanks stands in for the values of a summary without columns: a value for each
// thousandth between the percentiles that it has, the next one that is known.
func (p *Page) knownRanks(id string, others []string) (out []side) {
	for i, name := range append([]string{slo.User}, others...) {
		m := p.metric(id+"_"+name, "planned")
		if m == nil || m.N == 0 || i > 1 && len(out) > 1 {
			continue
		}
		s := side{name: name, color: 1 + min(i, 1), total: 1000}
		for _, q := range m.Percentiles {
			for q.Value.Valid && int64(len(s.sorted)) < q.Level {
				s.sorted = append(s.sorted, float64(q.Value.V)/second)
			}
		}
		if len(s.sorted) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// curveReadings cuts the axis into equal parts that show what was reached in each.
func curveReadings(x plot.Axis, sides []side) (out []plot.Slot) {
	step := math.Pow(x.Max/x.Min, 1.0/curveSlots)
	for i := range curveSlots {
		from := x.Min * math.Pow(step, float64(i))
		at := from * math.Sqrt(step)
		slot := plot.Slot{From: from, To: from * step, Lines: []string{"within " + latency(at)}}
		for _, s := range sides {
			y := plot.Reached(s.sorted, s.total, at)
			slot.Lines = append(slot.Lines, s.name+" "+table.Percent(y))
			slot.Dots = append(slot.Dots, plot.Dot{Color: s.color, X: at, Y: y})
		}
		out = append(out, slot)
	}
	return out
}

// curveNote says what the curves are over.
func (p *Page) curveNote(sides []side) string {
	if p.c == nil {
		return "Drawn from the percentiles of the summary, which has no per-request columns."
	}
	n, total := len(sides[0].sorted), sides[0].total
	if n == total {
		return fmt.Sprintf("%s requests.", table.Count(int64(total)))
	}
	return fmt.Sprintf("%s planned requests; %s failed or have no value and never arrive.", table.Count(int64(total)), table.Count(int64(total-n)))
}

// value is the number behind a nullable one, for a data element.
func value(v formats.Int) string {
	if !v.Valid {
		return ""
	}
	return v.String()
}
