// Package openmetrics writes a summary in the OpenMetrics text format, which
// Prometheus and its relatives read. Write is the whole of it.
//
// Every figure is a gauge: it is the result of one run, and no counter of a process
// that goes on. A summary's quantiles may not be negative and its sum and count are
// counters, so that type would not hold all metrics. Durations are in seconds, with
// every digit of the ns. A figure that is null is left out, and
// family hydrant_absent says why.
package openmetrics

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hydrant/cmd/reduce/internal/cells"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// ContentType is what an HTTP server calls this format.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Write writes s to w.
func Write(w io.Writer, s *summary.Summary) error {
	out := &writer{w: bufio.NewWriter(w)}
	sets := sets(s)
	out.about(s)
	out.windows(s)
	out.outcomes(sets)
	out.metrics(sets)
	out.scalars(sets)
	out.clients(s)
	out.gpus(s)
	out.absent(s)
	out.w.WriteString("# EOF\n")
	return out.w.Flush() // the first error of any write
}

// set is the whole, or one group of it.
type set struct {
	labels   []cells.Label
	outcomes []summary.Outcome
	metrics  []summary.Metric
	scalars  []summary.Scalar
}

// sets lists the whole first.
func sets(s *summary.Summary) []set {
	return []set{{nil, s.Outcomes, s.Metrics, s.Scalars}}
}

// about carries what describes the run.
func (w *writer) about(s *summary.Summary) {
	w.family("hydrant_summary", "", "1, with the build that made the summary and its version")
	w.sample(label("build", s.Build), label("version", strconv.Itoa(s.Version)), "1")
	w.family("hydrant_part", "", "1 for each part of the run, with what its header says")
	for i, p := range s.Parts {
		var h run.Header
		if json.Unmarshal(p.Header, &h) != nil {
			h = run.Header{}
		}
		w.sample(label("part", strconv.Itoa(i)), label("status", p.End.Status), label("model", h.Model), label("endpoint", h.Endpoint), label("sha256", p.End.SHA256), "1")
	}
}

// windows carries the window and the plan.
func (w *writer) windows(s *summary.Summary) {
	family := ""
	for c := range cells.All(s) {
		if c.Kind != cells.Window && c.Kind != cells.Plan {
			return
		}
		u := unitOf(c.Unit)
		name, help := "hydrant_bound", "bounds of the steady window and of the load, from the epoch of the run"
		if c.Kind == cells.Plan {
			name, help = "hydrant_plan", "what was planned, over the whole run"
		}
		if name != family {
			family = name
			w.family(name+u.suffix, u.name, help)
		}
		if c.Value != "" {
			w.sample(label("of", c.ID), u.scale(c.Value))
		}
	}
}

func (w *writer) outcomes(sets []set) {
	w.family("hydrant_requests", "", "requests by outcome, of the whole run and of the window")
	for _, g := range sets {
		for _, o := range g.outcomes {
			w.sample(g.labels, label("outcome", o.Name), label("of", "run"), strconv.FormatInt(o.N, 10))
			w.sample(g.labels, label("outcome", o.Name), label("of", "window"), strconv.FormatInt(o.InWindow, 10))
		}
	}
}

// metrics writes four families for each id: its percentiles, their intervals, its
// moments, and its counts of values.
func (w *writer) metrics(sets []set) {
	for _, id := range ids(sets[0].metrics) {
		each := func(do func(at []cells.Label, m *summary.Metric)) {
			for _, g := range sets {
				for i := range g.metrics {
					if m := &g.metrics[i]; m.ID == id {
						do(append(slices.Clone(g.labels), cells.Label{Key: "population", Value: m.Population}), m)
					}
				}
			}
		}
		first := slices.IndexFunc(sets[0].metrics, func(m summary.Metric) bool { return m.ID == id })
		u, what := unitOf(sets[0].metrics[first].Unit), sets[0].metrics[first].Definition
		name := "hydrant_" + id
		w.family(name+u.suffix, u.name, "percentiles, nearest rank: "+what+u.say)
		each(func(at []cells.Label, m *summary.Metric) {
			for _, p := range m.Percentiles {
				if p.Value.Valid {
					w.sample(at, quantile(p.Level), u.scale(p.Value.String()))
				}
			}
		})
		w.family(name+"_interval"+u.suffix, u.name, "ends of the 95 % intervals of the percentiles"+u.say)
		each(func(at []cells.Label, m *summary.Metric) {
			for _, p := range m.Percentiles {
				for _, end := range []struct {
					name string
					v    formats.Int
				}{{"low", p.Low}, {"high", p.High}} {
					if end.v.Valid {
						w.sample(at, quantile(p.Level), label("end", end.name), u.scale(end.v.String()))
					}
				}
			}
		})
		w.family(name+"_moment"+u.suffix, u.name, "sum, mean, sample standard deviation, smallest and largest value"+u.say)
		each(func(at []cells.Label, m *summary.Metric) {
			sum := ""
			if m.Sum != nil {
				sum = m.Sum.String()
			}
			for _, f := range []struct{ name, v string }{{"sum", sum}, {"mean", cells.Number(m.Mean)}, {"std", cells.Number(m.Std)}, {"min", digits(m.Min)}, {"max", digits(m.Max)}} {
				if f.v != "" {
					w.sample(at, label("moment", f.name), u.scale(f.v))
				}
			}
		})
		w.family(name+"_n", "", "how many values there are, and how many members of the population have none")
		each(func(at []cells.Label, m *summary.Metric) {
			w.sample(at, label("of", "values"), strconv.FormatInt(m.N, 10))
			w.sample(at, label("of", "nulls"), strconv.FormatInt(m.Nulls, 10))
		})
	}
}

// ids lists the ids of metrics, each once, in their order.
func ids(all []summary.Metric) (out []string) {
	for i := range all {
		if !slices.Contains(out, all[i].ID) {
			out = append(out, all[i].ID)
		}
	}
	return out
}

func (w *writer) scalars(sets []set) {
	for i := range sets[0].scalars {
		v := &sets[0].scalars[i]
		u := unitOf(v.Unit)
		w.family("hydrant_"+bare(v.ID, u)+u.suffix, u.name, v.Definition+u.say)
		for _, g := range sets {
			for j := range g.scalars {
				if x := &g.scalars[j]; x.ID == v.ID && x.Value != nil {
					w.sample(g.labels, u.scale(cells.Number(x.Value)))
				}
			}
		}
	}
}

// bare cuts a unit off an id that another stands for: order_max_ns is in seconds here.
func bare(id string, u unit) string {
	if u.name == "seconds" {
		for _, end := range []string{"_ns", "_s"} {
			if cut, ok := strings.CutSuffix(id, end); ok {
				return cut
			}
		}
	}
	return id
}

// clients writes what the workers measured; the names keep the units of the summary.
func (w *writer) clients(s *summary.Summary) {
	byName(w, "hydrant_client_", "of each worker, over the window", cells.Client, s)
}

// gpus writes what the devices showed; the names keep the units of the summary.
func (w *writer) gpus(s *summary.Summary) {
	byName(w, "hydrant_gpu_", "of each device, over the window", cells.GPU, s)
}

// absent lists what is null and why, so that a gap in a dashboard has an explanation.
func (w *writer) absent(s *summary.Summary) {
	w.family("hydrant_absent", "", "1 for each figure that is null, with the reason")
	for c := range cells.All(s) {
		if c.Value != "" || c.Kind != cells.Metric && c.Kind != cells.Scalar || strings.Contains(c.Statistic, "_") {
			continue
		}
		w.sample(c.Group, label("id", c.ID), label("population", c.Population), label("statistic", c.Statistic), label("reason", c.Reason), "1")
	}
}

func byName(w *writer, prefix, help, kind string, s *summary.Summary) {
	byID := map[string][]cells.Cell{}
	for c := range cells.All(s) {
		if c.Kind == kind && c.Value != "" {
			byID[c.ID] = append(byID[c.ID], c)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		w.family(prefix+id, "", id+" "+help)
		for _, c := range byID[id] {
			w.sample(c.Group, c.Value)
		}
	}
}

// writer puts lines together. Errors stay with w until it is flushed.
type writer struct {
	w    *bufio.Writer
	name string
}

// family starts a metric family.
func (w *writer) family(name, unit, help string) {
	w.name = clean(name)
	fmt.Fprintf(w.w, "# TYPE %s gauge\n", w.name)
	if unit != "" {
		fmt.Fprintf(w.w, "# UNIT %s %s\n", w.name, unit)
	}
	fmt.Fprintf(w.w, "# HELP %s %s\n", w.name, escape(help))
}

// sample writes one line: labels, or lists of them, and the value last.
func (w *writer) sample(parts ...any) {
	w.w.WriteString(w.name)
	open := byte('{')
	write := func(l cells.Label) {
		w.w.WriteByte(open)
		fmt.Fprintf(w.w, `%s="%s"`, clean(l.Key), escape(l.Value))
		open = ','
	}
	for _, p := range parts[:len(parts)-1] {
		switch p := p.(type) {
		case cells.Label:
			write(p)
		case []cells.Label:
			for _, l := range p {
				write(l)
			}
		}
	}
	if open == ',' {
		w.w.WriteByte('}')
	}
	fmt.Fprintf(w.w, " %s\n", parts[len(parts)-1])
}

func label(key, value string) cells.Label { return cells.Label{Key: key, Value: value} }

// quantile labels a percentile by its share, exactly: 999 is 0.999.
func quantile(level int64) cells.Label {
	return label("quantile", strconv.FormatFloat(float64(level)/1000, 'f', -1, 64))
}

// clean makes a name of what may be one.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(s string) string { return escaper.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

func digits(v formats.Int) string {
	if !v.Valid {
		return ""
	}
	return v.String()
}

// unit is how a unit of the summary is written here.
type unit struct {
	name   string // of the UNIT line, "" for none
	suffix string // of the name, which has to end with it
	say    string // what HELP adds where there is no UNIT line
	shift  int    // decimal places from the summary's unit
}

func unitOf(of string) unit {
	switch of {
	case "ns":
		return unit{"seconds", "_seconds", "", 9}
	case "s":
		return unit{"seconds", "_seconds", "", 0}
	case "share", "ratio":
		return unit{"ratio", "_ratio", "", 0}
	case "bytes":
		return unit{"bytes", "_bytes", "", 0}
	case "J":
		return unit{"joules", "_joules", "", 0}
	case "W":
		return unit{"watts", "_watts", "", 0}
	case "0.001 tokens/s":
		return unit{"", "", ", in tokens/s", 3}
	}
	return unit{"", "", ", in " + of, 0}
}

// scale moves the decimal point of a JSON number, so that no digit is lost.
func (u unit) scale(number string) string {
	if u.shift == 0 {
		return number
	}
	v, ok := new(big.Rat).SetString(number)
	if !ok {
		panic("internal error: not a number: " + number)
	}
	v.Quo(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(u.shift)), nil)))
	places, exact := v.FloatPrec()
	if !exact {
		panic("internal error: no decimal number: " + number)
	}
	return v.FloatString(places)
}
