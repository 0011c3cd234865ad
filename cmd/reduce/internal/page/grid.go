package page

import (
	"fmt"
	"strconv"
	"strings"

	"hydrant/cmd/reduce/internal/cells"
	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats"
	"hydrant/formats/summary"
)

// cell is one field of a table. With an ID it is a figure: Value is the number as the
// summary has it, "" for null, and Text how it is shown.
type cell struct {
	Text, ID, Value string
	Number          bool
	Why             string // why it is null
}

func text(s string) cell { return cell{Text: s} }

// grid is a table.
type grid struct {
	Caption string
	Head    []string
	Rows    [][]cell
	Notes   []string
	Left    int // columns of words before those of numbers
}

// figureOf is a cell with a number of the summary, shown as scale·v.
func figureOf(id string, v *float64, scale float64, why string) cell {
	c := cell{ID: id, Number: true, Text: "–", Why: why}
	if v != nil {
		c.Text, c.Value, c.Why = table.Figure(*v*scale), strconv.FormatFloat(*v, 'g', -1, 64), ""
	}
	return c
}

// whole is a cell with a whole number that is shown as scale·v.
func whole(id string, v formats.Int, scale float64, why string) cell {
	c := cell{ID: id, Number: true, Text: "–", Value: value(v), Why: why}
	if v.Valid {
		c.Text, c.Why = table.Figure(float64(v.V)*scale), ""
	}
	return c
}

// counted is a cell with a count.
func counted(id string, n int64) cell {
	return cell{ID: id, Number: true, Text: table.Count(n), Value: strconv.FormatInt(n, 10)}
}

// shownMetric names a distribution of the first table.
type shownMetric struct{ label, side, id, population string }

var shownMetrics = [...]shownMetric{
	{"TTFT", "user", "ttft_user", "ok"}, {"", "user, failures as slowest", "ttft_user", "planned"}, {"", "wire", "ttft_wire", "ok"}, {"", "sent", "ttft_sent", "ok"},
	{"TPOT", "user", "tpot_user", "ok"}, {"", "wire", "tpot_wire", "ok"}, {"ICL", "by gap", "icl", "ok, by gap"},
	{"E2E", "user", "e2e_user", "ok"}, {"", "user, failures as slowest", "e2e_user", "planned"}, {"", "wire", "e2e_wire", "ok"}, {"", "sent", "e2e_sent", "ok"},
	{"Lag", "", "send_lag", "dispatched"},
}

// shown says whether a row adds something to those above it.
func (p *Page) shown(r shownMetric, m *summary.Metric) bool {
	switch {
	case m == nil:
		return false
	case r.population == "planned":
		return m.N > 0 && m.Note != ""
	case r.side == "sent":
		wire := p.metric(strings.TrimSuffix(r.id, "_sent")+"_wire", "ok")
		return m.N > 0 && (wire == nil || wire.N == 0)
	case r.side == "wire" || r.id == "icl":
		return m.N > 0
	}
	return true
}

// latencies is the first table of the page.
func (p *Page) latencies() grid {
	levels := p.o.Levels
	bound := levels[len(levels)-1]
	for _, l := range levels {
		if l == 990 {
			bound = l
		}
	}
	g := grid{Caption: "Latencies", Head: []string{"", "", "", "n"}, Left: 3}
	for _, l := range levels {
		g.Head = append(g.Head, cells.LevelName(l))
	}
	g.Head = append(g.Head, "95 % of "+cells.LevelName(bound), "mean")
	for _, r := range shownMetrics {
		m := p.metric(r.id, r.population)
		if !p.shown(r, m) {
			continue
		}
		unit, scale := table.Unit(m.Unit, typical(m))
		row := []cell{text(r.label), text(r.side), text(unit), counted(metricID(m, "n"), m.N)}
		low, high := cell{Text: "–"}, cell{}
		for _, l := range levels {
			c := cell{Text: "–", Number: true}
			for i := range m.Percentiles {
				if q := &m.Percentiles[i]; q.Level == l {
					c = percentileCell(m, q, scale)
					if l == bound && q.Low.Valid {
						low = whole(metricID(m, cells.LevelName(l)+" low"), q.Low, scale, "")
						high = whole(metricID(m, cells.LevelName(l)+" high"), q.High, scale, "")
					}
				}
			}
			row = append(row, c)
		}
		g.Rows = append(g.Rows, append(row, between(low, high), figureOf(metricID(m, "mean"), m.Mean, scale, "")))
	}
	g.Notes = append(g.Notes, "– is a figure that was refused or not measured: point at it for the reason. TPOT is what AIPerf calls ITL.")
	return g
}

// between joins the two ends of an interval into one cell, whose figure is the lower one.
func between(low, high cell) cell {
	if low.ID == "" {
		return cell{Text: "–", Number: true}
	}
	if high.Value == "" {
		low.Text, low.Why = "above "+low.Text, "so few values do not bound the upper end"
		return low
	}
	low.Text += " – " + high.Text
	return low
}

// typical is a value by which the unit of a metric is chosen.
func typical(m *summary.Metric) float64 {
	if m.Mean != nil {
		return *m.Mean
	}
	for _, q := range m.Percentiles {
		if q.Level == 500 {
			return float64(q.Value.Or(0))
		}
	}
	return 0
}

// metricID is the data-id of one figure of a metric.
func metricID(m *summary.Metric, figure string) string {
	return "metric " + m.ID + " " + strings.ReplaceAll(m.Population, " ", "_") + " " + figure
}

func percentileCell(m *summary.Metric, q *summary.Percentile, scale float64) cell {
	c := whole(metricID(m, cells.LevelName(q.Level)), q.Value, scale, q.Reason)
	if q.Infinite {
		c.Text, c.Why = "∞", "that rank falls on a request that failed"
	}
	return c
}

// everyMetric holds all distributions of the summary.
func (p *Page) everyMetric() grid {
	g := grid{Caption: "All distributions", Head: []string{"metric", "over", "unit", "n", "nulls", "min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max", "mean", "std"}, Left: 3}
	for i := range p.s.Metrics {
		m := &p.s.Metrics[i]
		unit, scale := table.Unit(m.Unit, typical(m))
		if unit == "" {
			unit = m.Unit
		}
		row := []cell{text(m.ID), text(m.Population), text(unit), counted(metricID(m, "n"), m.N), counted(metricID(m, "nulls"), m.Nulls), whole(metricID(m, "min"), m.Min, scale, m.Note)}
		for j := range m.Percentiles {
			row = append(row, percentileCell(m, &m.Percentiles[j], scale))
		}
		g.Rows = append(g.Rows, append(row, whole(metricID(m, "max"), m.Max, scale, m.Note), figureOf(metricID(m, "mean"), m.Mean, scale, m.Note), figureOf(metricID(m, "std"), m.Std, scale, m.Note)))
	}
	return g
}

// everyScalar holds all single numbers of the summary.
func (p *Page) everyScalar() grid {
	g := grid{Caption: "All single figures", Head: []string{"figure", "value", "unit", "n", "definition, or why there is none"}, Left: 1}
	for _, v := range p.s.Scalars {
		about := v.Definition
		if v.Value == nil {
			about = v.Reason
		}
		if v.Evidence != "" {
			about += " (" + v.Evidence + ")"
		}
		g.Rows = append(g.Rows, []cell{text(v.ID), figureOf("scalar "+v.ID, v.Value, 1, v.Reason), text(v.Unit), counted("scalar "+v.ID+" n", v.N), text(about)})
	}
	return g
}

// mainScalars are the figures beside the latencies.
var mainScalars = [...]struct {
	id, label, unit string
	scale           float64
}{
	{"planned_rps", "planned", "req/s", 1}, {"sent_rps", "sent", "req/s", 1}, {"ok_rps", "ok", "req/s", 1}, {"ended_rps", "completed", "req/s", 1},
	{"out_tps", "output tokens arrived", "tok/s", 1}, {"in_tps", "input tokens", "tok/s", 1}, {"failure_share", "failed", "%", 100},
	{"attainment", "good of planned", "%", 100}, {"goodput_rps", "good", "req/s", 1}, {"effective_concurrency", "in flight, mean", "requests", 1}, {"in_flight_peak", "in flight, peak", "requests", 1},
	{"cache_planned", "cache hits planned", "% of input tokens", 100}, {"cache_reported", "cache hits reported", "% of input tokens", 100},
	{"cpu_share", "client CPU, p95 of the busiest worker", "%", 100}, {"cpu_per_event", "client CPU per token event", "µs", 1e-3}, {"wait_per_slice", "run-queue wait per timeslice", "µs", 1e-3},
	{"energy", "energy", "kJ", 1e-3}, {"power", "power", "W", 1}, {"j_per_out_token", "energy per output token", "J", 1},
}

// rates is the table of the figures that most readers want.
func (p *Page) rates() grid {
	g := grid{Caption: "Rates, flight, cache, client", Head: []string{"", "value", "unit"}, Left: 1}
	for _, x := range mainScalars {
		v := p.scalar(x.id)
		if v == nil || v.Value == nil && (v.Reason == "no objective given" || strings.HasPrefix(v.Reason, "no gpu")) {
			continue
		}
		g.Rows = append(g.Rows, []cell{text(x.label), figureOf("scalar "+v.ID, v.Value, x.scale, v.Reason), text(x.unit)})
	}
	return g
}

func (p *Page) outcomes() grid {
	g := grid{Caption: "Outcomes", Head: []string{"", "whole run", "measured"}, Left: 1}
	for _, o := range p.s.Outcomes {
		if o.N > 0 || o.Name == "ok" {
			g.Rows = append(g.Rows, []cell{text(o.Name), counted("outcome "+o.Name+" n", o.N), counted("outcome "+o.Name+" in_window", o.InWindow)})
		}
	}
	return g
}

// objectives lists each limit of one request with the share that misses it.
func (p *Page) objectives() grid {
	g := grid{Caption: "Limits of the objectives", Head: []string{"limit", "requests over it, or without a value", "of", "share"}, Left: 1}
	for _, m := range p.misses {
		share := m.share()
		c := figureOf("miss "+m.text+" share", &share, 100, "")
		if m.of == 0 {
			c = figureOf("miss "+m.text+" share", nil, 100, "no request was judged")
		}
		c.Text += " %"
		g.Rows = append(g.Rows, []cell{text(m.text), counted("miss "+m.text+" n", m.n), counted("miss "+m.text+" of", m.of), c})
	}
	if len(p.o.SLO) > 0 {
		var all []string
		for _, o := range p.o.SLO {
			all = append(all, o.Text)
		}
		g.Notes = append(g.Notes, "Objectives: "+strings.Join(all, " · ")+". A failure misses every limit. judge decides; this page only counts.")
		if p.c == nil {
			g.Notes = append(g.Notes, "Not counted: the summary has no per-request columns.")
		}
	}
	return g
}

// steps lists the values of the charts of equal steps.
func (p *Page) steps() (out []grid) {
	for _, s := range p.s.Series {
		if len(s.Values) == 0 {
			continue
		}
		name := s.Unit
		if len(out) == 0 || len(out[len(out)-1].Rows) != len(s.Values) || out[len(out)-1].Caption != stepCaption(&s) {
			g := grid{Caption: stepCaption(&s), Head: []string{"from"}, Left: 1}
			for i := range s.Values {
				at := float64(s.FromNS-p.s.Window.LoadFrom+int64(i)*s.StepNS) / second
				g.Rows = append(g.Rows, []cell{text(fmt.Sprintf("%.4g s", at))})
			}
			out = append(out, g)
		}
		g := &out[len(out)-1]
		unit, scale := table.Unit(s.Unit, 1e6)
		if unit == "" {
			unit = name
		}
		g.Head = append(g.Head, s.ID+" "+unit)
		for i, v := range s.Values {
			g.Rows[i] = append(g.Rows[i], figureOf(fmt.Sprintf("series %s %d", s.ID, i), v, scale, "nothing measured"))
		}
	}
	return out
}

func stepCaption(s *summary.Series) string {
	return fmt.Sprintf("By steps of %s", table.Span(float64(s.StepNS)/second))
}

// slices lists what the latency and lag charts show.
func (p *Page) slices() grid {
	g := grid{Caption: "By slices of " + table.Span(float64(p.width)/second) + " of planned time", Head: []string{"from"}, Left: 1}
	for _, l := range latencies {
		name := strings.ToUpper(l.id)
		g.Head = append(g.Head, name+" n", name+" p50 ms", name+" p90 ms", name+" p99 ms")
	}
	g.Head = append(g.Head, "lag n", "lag p50 ms", "lag max ms")
	for i := range p.cohorts {
		k := &p.cohorts[i]
		row := []cell{text(fmt.Sprintf("%.4g s", p.at(i)))}
		for j, l := range latencies {
			id := fmt.Sprintf("slice %d %s ", i, l.id)
			row = append(row, counted(id+"n", int64(len(k.of[j]))))
			for _, level := range [...]int64{500, 900, 990} {
				row = append(row, whole(id+cells.LevelName(level), rank(k.of[j], level), 1e-6, "too few values in the slice"))
			}
		}
		id := fmt.Sprintf("slice %d lag ", i)
		most := formats.Int{}
		if n := len(k.lag); n > 0 {
			most = formats.Some(k.lag[n-1])
		}
		row = append(row, counted(id+"n", int64(len(k.lag))), whole(id+"p50", rank(k.lag, 500), 1e-6, "too few values in the slice"), whole(id+"max", most, 1e-6, "nothing dispatched"))
		g.Rows = append(g.Rows, row)
	}
	return g
}
