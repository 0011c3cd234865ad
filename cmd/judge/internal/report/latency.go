package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
)

// sides are the columns of the table of latencies.
var sides = [...]string{"user", "wire", "sent"}

// distributions are its rows: what people call them, and the metric of each side.
var distributions = [...]struct {
	name string
	ids  [len(sides)]string
}{
	{"TTFT", [...]string{"ttft_user", "ttft_wire", "ttft_sent"}},
	{"TTFO", [...]string{"ttfo_user", "ttfo_wire", "ttfo_sent"}},
	{"ICL", [...]string{"icl", "icl_wire", ""}},
	{"TPOT", [...]string{"tpot_user", "tpot_wire", ""}},
	{"E2E", [...]string{"e2e_user", "e2e_wire", "e2e_sent"}},
	{"send lag", [...]string{"send_lag", "", ""}},
}

// levels are the percentiles shown, in thousandths.
var levels = [...]int64{500, 900, 990, 999}

// table is the latencies as text, for every format.
type table struct {
	blocks []block
	notes  []string
}

// block is one distribution: a title, then one line per level.
type block struct {
	title string
	lines []levelLine
}

type levelLine struct {
	level     string
	cells     [len(sides)]cell
	neff, tau string // of the first side that has the level
}

// cell is one percentile with its 95 % interval; both are empty where there is none.
type cell struct{ value, interval string }

// latencyTable lays out the distributions. A percentile stands there only with its
// interval and n_eff, and above its sample floor; what is left out is said in a note.
// Gaps of a stream have the error of their sketch in place of an interval.
func latencyTable(v *verdict.Verdict) table {
	var t table
	refused, unsettled, failed, wire := false, false, false, false
	for _, d := range distributions {
		var of [len(sides)]*verdict.Latency
		for i, id := range d.ids {
			if m := find(v, id); m != nil && m.N > 0 {
				of[i] = m
				wire = wire || sides[i] == "wire"
			}
		}
		first := slices.IndexFunc(of[:], func(m *verdict.Latency) bool { return m != nil })
		if first < 0 {
			continue
		}
		unit, scale := unitOf(of[:])
		b := block{title: title(d.name, unit, of[first], v)}
		for _, k := range levels {
			line := levelLine{level: levelName(k)}
			for i, m := range of {
				if m == nil {
					continue
				}
				q := at(m, k)
				switch {
				case q == nil:
				case q.Infinite:
					line.cells[i] = cell{"fail", ""}
					failed = true
				case !q.Value.Valid:
					refused = true
				case m.Weighting == "gap":
					line.cells[i] = cell{rule.Digits(float64(q.Value.V) / scale), "±0.1 %"}
				case !q.Low.Valid || q.Neff == nil:
					unsettled = true
				default:
					line.cells[i] = cell{rule.Digits(float64(q.Value.V) / scale), span(q, scale)}
				}
				if line.neff == "" && line.cells[i].value != "" && q.Neff != nil && q.Tau != nil {
					line.neff, line.tau = rule.Digits(float64(int64(*q.Neff))), short(*q.Tau)
				}
			}
			if line.cells != [len(sides)]cell{} {
				b.lines = append(b.lines, line)
			}
		}
		t.blocks = append(t.blocks, b)
	}
	note := func(when bool, text string) {
		if when {
			t.notes = append(t.notes, text)
		}
	}
	note(refused, "levels with too few requests are not shown: p90 needs 64, p99 662, p99.9 6,636")
	note(unsettled, "levels without an interval are not shown: the values hang together over longer stretches than the run can tell (tau did not settle)")
	note(failed, "fail: that many of the planned requests failed; a failure ranks last")
	note(!wire && len(t.blocks) > 0, "no kernel stamps: the sent side stands in for the wire")
	return t
}

// title names a distribution, its unit and how many requests it rests on.
func title(name, unit string, m *verdict.Latency, v *verdict.Verdict) string {
	s := fmt.Sprintf("%s, %s: n %s", name, unit, rule.Tokens(m.N))
	if m.Weighting == "gap" {
		s += " gaps"
	}
	if m.Nulls > 0 {
		s += ", " + rule.Grouped(m.Nulls) + " without a value"
	}
	if n := number(v, "failure_share"); n != nil && n.Value != nil && m.Population == "planned" {
		s += ", " + rule.Figure(*n.Value, "share") + " failed"
	}
	return s
}

// unitOf is the unit in which the largest of the percentiles has few digits.
func unitOf(of []*verdict.Latency) (string, float64) {
	var most int64
	for _, m := range of {
		if m == nil {
			continue
		}
		for _, p := range m.Percentiles {
			most = max(most, p.Value.Or(0), p.High.Or(0))
		}
	}
	switch {
	case most >= 10e9:
		return "s", 1e9
	case most >= 1e6:
		return "ms", 1e6
	}
	return "µs", 1e3
}

// short prints a tau in four characters.
func short(tau float64) string {
	if tau >= 100 {
		return strconv.FormatFloat(tau, 'f', 0, 64)
	}
	return strconv.FormatFloat(tau, 'g', 3, 64)
}

func levelName(k int64) string {
	return "p" + strings.TrimSuffix(fmt.Sprintf("%d.%d", k/10, k%10), ".0")
}

// span is a 95 % interval; one without an upper end says so.
func span(q *verdict.Percentile, scale float64) string {
	s := rule.Digits(float64(q.Low.V)/scale) + "–"
	if q.High.Valid {
		return s + rule.Digits(float64(q.High.V)/scale)
	}
	return s + "…"
}

// find returns a distribution, over the planned requests where there are two.
func find(v *verdict.Verdict, id string) *verdict.Latency {
	var found *verdict.Latency
	for i := range v.Latencies {
		if l := &v.Latencies[i]; l.ID == id && (found == nil || l.Population == "planned") {
			found = l
		}
	}
	return found
}

func at(m *verdict.Latency, level int64) *verdict.Percentile {
	for i := range m.Percentiles {
		if m.Percentiles[i].Level == level {
			return &m.Percentiles[i]
		}
	}
	return nil
}

// latencies writes the table on 80 columns.
func (p *page) latencies(v *verdict.Verdict) {
	t := latencyTable(v)
	head := pad("Latencies", 8)
	for i, s := range sides {
		at := 8 + 20*i + 6 - size(s)
		head = pad(head, at) + s + " (95 %)"
	}
	p.line(pad(head, 68) + right("n_eff", 7) + right("tau", 5))
	for _, b := range t.blocks {
		p.wrap("", 2, b.title)
		for _, l := range b.lines {
			line := "  " + pad(l.level, 6)
			for _, c := range l.cells {
				line += right(c.value, 6) + " " + pad(c.interval, 13)
			}
			p.line(line + right(l.neff, 7) + right(l.tau, 5))
		}
	}
	for _, n := range t.notes {
		p.wrap("", 2, n)
	}
}
