// Package table prints a summary for people: the run in one line, the latencies as
// a table, then what became of the requests, the cache, the client and the devices.
// Write is the whole of it.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hydrant/cmd/reduce/internal/cells"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
	"hydrant/internal/stats"
)

// What a terminal prints in bold.
const (
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
)

// Options say what of a summary is shown, and how.
type Options struct {
	Levels []int64 // percentiles, in thousandths, ascending
	Bold   bool    // the output is a terminal that may be given escapes
}

// Write prints s to w.
func Write(w io.Writer, s *summary.Summary, o Options) error {
	p := &page{s: s, o: o}
	p.all()
	var own []string
	if o.Bold {
		own = []string{bold, plain}
	}
	_, err := io.WriteString(w, cli.Plain(p.b.String(), own...))
	return err
}

// page is the text so far.
type page struct {
	b        strings.Builder
	s        *summary.Summary
	o        Options
	markdown bool
}

func (p *page) all() {
	p.headline()
	p.plan()
	p.latencies()
	p.groups()
	p.facts()
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// line prints text that stands on its own.
func (p *page) line(text string) {
	if p.markdown {
		text = escaped(text) + "  " // the blanks keep the line apart from the next
	}
	p.b.WriteString(text + "\n")
}

// scalar returns a scalar's value, false when it is null.
func (p *page) scalar(id string) (float64, bool) {
	for i := range p.s.Scalars {
		if v := &p.s.Scalars[i]; v.ID == id {
			if v.Value == nil {
				return 0, false
			}
			return *v.Value, true
		}
	}
	return 0, false
}

// shown formats a scalar, "" when it is null.
func (p *page) shown(id string, format func(float64) string) string {
	if v, ok := p.scalar(id); ok {
		return format(v)
	}
	return ""
}

func suffix(text string) func(float64) string {
	return func(v float64) string { return figure(v) + text }
}

func (p *page) headline() {
	if p.s.Partial {
		p.line("PARTIAL: the run was not read to its end; every figure is of what was read")
	}
	s := p.s
	length, _ := p.scalar("window_s")
	failed := ""
	if v, ok := p.scalar("failure_share"); ok {
		n := int64(0)
		for _, o := range s.Outcomes {
			if o.Name != "ok" && o.Name != "cancelled_planned" {
				n += o.InWindow
			}
		}
		failed = fmt.Sprintf("%s failed (%s)", count(n), percent(v))
	}
	text := joined(requests(s.Plan.InWindow), span(length), p.shown("sent_rps", suffix(" req/s")), p.shown("out_tps", suffix(" output tok/s")), failed)
	switch {
	case p.markdown:
		p.b.WriteString("**" + escaped(text) + "**\n\n")
	case p.o.Bold:
		p.b.WriteString(bold + text + plain + "\n")
	default:
		p.b.WriteString(text + "\n")
	}
}

// plan says what was planned, over the whole run, and what part of it is measured.
func (p *page) plan() {
	pl, w := p.s.Plan, p.s.Window
	p.line(fmt.Sprintf("plans %s, %s input and %s output tokens", requests(pl.Requests), count(pl.InputTokens), count(pl.OutputTokens)))
	if pl.InWindow == pl.Rows {
		return
	}
	from, to := float64(w.FromNS-w.LoadFrom)/1e9, float64(w.ToNS-w.LoadFrom)/1e9
	p.line(fmt.Sprintf("window from %s to %s: %s of %s", span(max(0, from)), span(to), count(pl.InWindow), requests(pl.Rows)))
}

// shownRow names a metric for people.
type shownRow struct{ label, side, id, population string }

var shownRows = []shownRow{
	{"TTFT", "user", "ttft_user", "ok"}, {"", "user", "ttft_user", "planned"}, {"", "wire", "ttft_wire", "ok"}, {"", "sent", "ttft_sent", "ok"},
	{"TTFO", "user", "ttfo_user", "ok"},
	{"TPOT", "", "tpot_user", "ok"}, {"ICL", "", "icl", "ok, by gap"}, {"ITL", "even", "itl_even", "ok, by token"},
	{"E2E", "user", "e2e_user", "ok"}, {"", "user", "e2e_user", "planned"}, {"", "wire", "e2e_wire", "ok"}, {"", "sent", "e2e_sent", "ok"},
	{"lag", "", "send_lag", "dispatched"},
}

func (p *page) metric(id, population string) *summary.Metric {
	for i := range p.s.Metrics {
		if m := &p.s.Metrics[i]; m.ID == id && m.Population == population {
			return m
		}
	}
	return nil
}

// wanted says whether a row has something to say that the rows before it have not.
func (p *page) wanted(r shownRow, m *summary.Metric) bool {
	if m == nil {
		return false
	}
	wire := p.metric(strings.TrimSuffix(r.id, "_sent")+"_wire", "ok")
	switch {
	case r.population == "planned": // only where failures move it
		return m.N > 0 && m.Note != ""
	case r.side == "wire", r.id == "itl_even":
		return m.N > 0
	case r.side == "sent": // stands in for the wire
		return m.N > 0 && (wire == nil || wire.N == 0)
	case r.id == "ttfo_user": // equal to TTFT without reasoning
		think := p.metric("think", "ok")
		return m.N > 0 && think != nil && think.Max.Or(0) > 0
	}
	return true
}

func (p *page) latencies() {
	bound := p.o.Levels[len(p.o.Levels)-1]
	if slices.Contains(p.o.Levels, 990) {
		bound = 990
	}
	head := []string{"", "", "n"}
	for _, l := range p.o.Levels {
		head = append(head, cells.LevelName(l))
	}
	head = append(head, "95 % of "+cells.LevelName(bound), "mean")
	rows := [][]string{head}
	var refused []int64
	missed, all, sent := false, false, false
	for _, r := range shownRows {
		m := p.metric(r.id, r.population)
		if !p.wanted(r, m) {
			continue
		}
		row, low, infinite := p.row(r, m, bound)
		rows = append(rows, row)
		missed = missed || infinite
		all = all || r.population == "planned"
		sent = sent || r.side == "sent"
		for _, l := range low {
			if !slices.Contains(refused, l) {
				refused = append(refused, l)
			}
		}
	}
	p.b.WriteString("\n")
	p.grid(rows)
	if len(refused) > 0 {
		slices.Sort(refused)
		var needs []string
		for _, l := range refused {
			needs = append(needs, fmt.Sprintf("%s from %s", cells.LevelName(l), count(stats.Floor(l))))
		}
		p.line(fmt.Sprintf("%s: too few values; needs n: %s", absent, strings.Join(needs, ", ")))
	}
	if missed {
		p.line("∞: that rank falls on a request that failed")
	}
	if all {
		p.line("all: with the requests that failed, as slower than any other")
	}
	if sent {
		p.line("sent: from the written request to the parsed event, as there are no kernel stamps")
	}
	p.line("TPOT: what AIPerf calls ITL")
	p.b.WriteString("\n")
}

// row formats one metric; low lists the levels that were refused for lack of values.
func (p *page) row(r shownRow, m *summary.Metric, bound int64) (cells []string, low []int64, infinite bool) {
	typical := 0.0
	if m.Mean != nil {
		typical = *m.Mean
	} else if v := percentile(m, 500); v != nil && v.Value.Valid {
		typical = float64(v.Value.V)
	}
	u := unitFor(m.Unit, typical)
	side := r.side
	if r.population == "planned" {
		side = "all"
	}
	cells = []string{strings.TrimSpace(r.label), strings.TrimSpace(side + " " + u.name), many(m.N)}
	interval := absent
	for _, l := range p.o.Levels {
		v := percentile(m, l)
		switch {
		case v == nil:
			cells = append(cells, absent)
		case v.Infinite:
			cells = append(cells, "∞")
			infinite = true
		case !v.Value.Valid:
			cells = append(cells, absent)
			if m.N < stats.Floor(l) {
				low = append(low, l)
			}
		default:
			cells = append(cells, figure(float64(v.Value.V)*u.scale))
		}
		if l == bound && v != nil {
			interval = between(m, v, u)
		}
	}
	mean := absent
	if m.Mean != nil {
		mean = figure(*m.Mean * u.scale)
	}
	return append(cells, interval, mean), low, infinite
}

func percentile(m *summary.Metric, level int64) *summary.Percentile {
	for i := range m.Percentiles {
		if m.Percentiles[i].Level == level {
			return &m.Percentiles[i]
		}
	}
	return nil
}

// between formats the 95 % interval of a percentile.
func between(m *summary.Metric, v *summary.Percentile, u unit) string {
	switch {
	case !v.Value.Valid:
		return absent
	case strings.HasPrefix(m.Method, "HdrHistogram"):
		return "sketch ±0.1 %"
	case !v.Low.Valid:
		return absent
	case !v.High.Valid:
		return "above " + figure(float64(v.Low.V)*u.scale)
	}
	return figure(float64(v.Low.V)*u.scale) + " – " + figure(float64(v.High.V)*u.scale)
}

// grid aligns the rows: names to the left, figures to the right.
func (p *page) grid(rows [][]string) {
	if p.markdown {
		p.pipes(rows)
		return
	}
	wide := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(c))
			switch {
			case i == 0:
				line.WriteString(c + pad)
			case i == 1:
				line.WriteString(" " + c + pad)
			default:
				line.WriteString("  " + pad + c)
			}
		}
		p.b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// requests writes how many there are.
func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return count(n) + " requests"
}
