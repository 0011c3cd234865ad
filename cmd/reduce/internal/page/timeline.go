package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hydrant/cmd/reduce/internal/cells"
	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats/summary"
	"hydrant/internal/plot"
	"hydrant/internal/stats"
)

// Sizes of a chart over time, px.
const (
	timeWidth   = 960
	timeHeight  = 150
	emptyHeight = 48
)

// maxSteps is the number of steps up to which a series is drawn as it is; beyond, the
// mean of several steps is drawn.
const maxSteps = 200

// steps is a series made ready to be drawn.
type steps struct {
	x, y []float64 // x: edges, s after the start of the load
	unit string
}

// stepsOf prepares a series; every value of a mean that is null is left out of it.
func (p *Page) stepsOf(s *summary.Series, scale float64) steps {
	k := (len(s.Values) + maxSteps - 1) / maxSteps
	out := steps{unit: s.Unit}
	at := func(i int) float64 { return float64(s.FromNS-p.s.Window.LoadFrom+int64(i)*s.StepNS) / second }
	for i := 0; i < len(s.Values); i += k {
		sum, n := 0.0, 0
		for _, v := range s.Values[i:min(i+k, len(s.Values))] {
			if v != nil {
				sum, n = sum+*v, n+1
			}
		}
		y := math.NaN()
		if n > 0 {
			y = sum / float64(n) * scale
		}
		out.x, out.y = append(out.x, at(i)), append(out.y, y)
	}
	out.x = append(out.x, at(len(s.Values)))
	return out
}

// strand is one series of a chart over time.
type strand struct {
	id, name string
	color    int
	area     bool
}

// over starts a chart over the time of the load.
func (p *Page) over(title, about string) *plot.Chart {
	w := p.s.Window
	length := math.Max(float64(w.LoadTo-w.LoadFrom)/second, 1)
	c := &plot.Chart{Title: title, About: about, Width: timeWidth, Height: timeHeight, X: plot.Axis{Scale: plot.Clock, Max: length}}
	if from := float64(w.FromNS-w.LoadFrom) / second; from > 0 {
		c.Shades = append(c.Shades, plot.Shade{To: from, Text: "not measured"})
	}
	if to := float64(w.ToNS-w.LoadFrom) / second; to < length-1e-6 {
		c.Shades = append(c.Shades, plot.Shade{From: to, To: length, Text: "not measured"})
	}
	return c
}

// lines draws series of equal steps, and what they are at the place pointed at.
func (p *Page) lines(c *plot.Chart, scale float64, show func(float64) string, strands ...strand) {
	var drawn []steps
	var kept []strand
	most := 0.0
	for _, x := range strands {
		s := p.series(x.id)
		if s == nil {
			continue
		}
		st := p.stepsOf(s, scale)
		c.Lines = append(c.Lines, plot.Line{Name: x.name, Color: x.color, X: st.x, Y: st.y, Step: true, Area: x.area})
		drawn, kept = append(drawn, st), append(kept, x)
		for _, y := range st.y {
			if y > most { // NaN is not
				most = y
			}
		}
	}
	if len(drawn) == 0 {
		return
	}
	c.Y = plot.To(most)
	c.Y.Format = show
	first := drawn[0]
	for i := range first.y {
		slot := plot.Slot{From: first.x[i], To: first.x[i+1], Lines: []string{stretch(first.x[i], first.x[i+1])}}
		for j, st := range drawn {
			if i >= len(st.y) {
				continue
			}
			slot.Lines = append(slot.Lines, kept[j].name+" "+show(st.y[i]))
			slot.Dots = append(slot.Dots, plot.Dot{Color: kept[j].color, X: (st.x[i] + st.x[i+1]) / 2, Y: st.y[i]})
		}
		c.Slots = append(c.Slots, slot)
	}
}

// stretch names a part of the time axis.
func stretch(from, to float64) string { return plot.ClockTime(from) + " – " + plot.ClockTime(to) }

// add takes in a chart; one without anything in it says why, in little space.
func (p *Page) add(name string, c *plot.Chart, empty string) {
	if len(c.Lines) == 0 && len(c.Points) == 0 {
		c.Empty, c.Height = empty, emptyHeight
	}
	p.timeline = append(p.timeline, Drawing{Name: name, Chart: c})
}

// sliceNote says how the percentiles over time were taken.
func (p *Page) sliceNote() string {
	if len(p.cohorts) == 0 {
		return ""
	}
	note := "Latencies and lag by slices of " + table.Span(float64(p.width)/second) + " of planned time."
	if p.refused != "" {
		note += " A percentile needs values in its slice: " + p.refused + "."
	}
	return note
}

// drawTimeline makes the charts over time, in the order of the page.
func (p *Page) drawTimeline() {
	const short = "the load is shorter than one step"
	rate := p.over("Requests per second", "planned, sent and ended requests per second over the time of the load")
	p.lines(rate, 1, plot.Number, strand{"planned", "planned", 0, true}, strand{"sent", "sent", 1, false}, strand{"ended", "completed", 3, false})
	if at := p.failures(); len(at) > 0 {
		rate.Rugs = []plot.Rug{{Name: "failed", X: at}}
	}
	p.add("rate", rate, short)
	for j, l := range latencies {
		p.drawLatency(j, l.id, l.title, l.about)
	}
	p.drawLag()
	flight := p.over("Requests in flight", "requests that were asked for and had not ended, over the time of the load")
	p.lines(flight, 1, plot.Number, strand{"in_flight", "in flight", 1, false})
	p.add("in_flight", flight, short)
	p.drawClient()
	p.drawGPUs()
}

// drawLatency draws the user side of a latency: each request where they can be told
// apart, and percentiles by slice.
func (p *Page) drawLatency(j int, id, title, about string) {
	c := p.over(title, title+" of ok requests by planned time, "+about)
	c.Y = plot.Axis{Scale: plot.Log, Format: plot.Duration}
	if p.c == nil {
		p.withoutColumns(c, id)
		return
	}
	least, most := math.Inf(1), 0.0
	points := plot.Points{Name: "one request"}
	column := p.c.Ints[id+"_user_ns"]
	for i, u := range p.c.Ints["u_ns"] {
		if v := column[i]; v.Valid && v.V > 0 && u.Valid && p.c.Strings["outcome"][i] == "ok" {
			y := float64(v.V) / second
			least, most = min(least, y), max(most, y)
			points.X, points.Y = append(points.X, float64(u.V-p.s.Window.LoadFrom)/second), append(points.Y, y)
		}
	}
	if len(points.X) > 0 {
		c.Y = plot.Decades(least, most)
		c.Y.Format = plot.Duration
	}
	if n := len(points.X); n > 0 && n <= maxPoints {
		c.Points = []plot.Points{points}
	}
	var refused []string
	for _, q := range [...]struct {
		level int64
		color int
	}{{500, 1}, {900, 2}, {990, 4}} {
		line := plot.Line{Name: cells.LevelName(q.level), Color: q.color, Step: true}
		any := false
		for i := range p.cohorts {
			v := seconds(rank(p.cohorts[i].of[j], q.level))
			line.X, line.Y = append(line.X, p.at(i)), append(line.Y, v)
			any = any || !math.IsNaN(v)
		}
		line.X = append(line.X, p.at(len(p.cohorts)))
		if any {
			c.Lines = append(c.Lines, line)
		} else if len(points.X) > 0 {
			refused = append(refused, fmt.Sprintf("%s from %s", cells.LevelName(q.level), table.Count(stats.Floor(q.level))))
		}
	}
	for i := range p.cohorts {
		k := &p.cohorts[i]
		slot := plot.Slot{From: p.at(i), To: p.at(i + 1), Lines: []string{stretch(p.at(i), p.at(i+1)), "n " + table.Count(int64(len(k.of[j])))}}
		for _, l := range c.Lines {
			if v := l.Y[i]; !math.IsNaN(v) {
				slot.Lines = append(slot.Lines, l.Name+" "+latency(v))
				slot.Dots = append(slot.Dots, plot.Dot{Color: l.Color, X: (p.at(i) + p.at(i+1)) / 2, Y: v})
			}
		}
		c.Slots = append(c.Slots, slot)
	}
	if len(refused) > 0 {
		p.refused = strings.Join(refused, ", ")
	}
	p.limit(c, id)
	p.add(id, c, "no ok request has a value")
}

// at is where a slice begins, s after the start of the load; the last one ends with it.
func (p *Page) at(i int) float64 {
	return min(float64(int64(i)*p.width), float64(p.s.Window.LoadTo-p.s.Window.LoadFrom)) / second
}

// limit draws the limits of a latency across a chart over time.
func (p *Page) limit(c *plot.Chart, id string) {
	for _, m := range p.misses {
		if m.metric == id && m.flat && m.side == "user" {
			if v := float64(m.baseNS) / second; v >= c.Y.Min && v <= c.Y.Max {
				c.Rules = append(c.Rules, plot.Rule{At: v, Level: true, Text: plot.Duration(v)})
			}
		}
	}
}

// withoutColumns draws what a summary without rows has of a latency.
func (p *Page) withoutColumns(c *plot.Chart, id string) {
	c.Y = plot.Axis{}
	p.lines(c, 1e-9, plot.Duration, strand{id + "_p50", "p50 by first token", 1, false})
	p.add(id, c, "the summary has no per-request columns (--columns on keeps them)")
}

// drawLag draws how late requests were sent.
func (p *Page) drawLag() {
	c := p.over("Lag of sending", "time from the planned instant to the request for a connection, median and maximum by slice")
	c.Y = plot.Axis{Scale: plot.Log, Format: plot.Duration}
	middle, most := plot.Line{Name: "p50", Color: 1, Step: true}, plot.Line{Name: "max", Color: 2, Step: true}
	low, high := math.Inf(1), 0.0
	any := false
	for i := range p.cohorts {
		lag := p.cohorts[i].lag
		half, worst := seconds(rank(lag, 500)), math.NaN()
		if len(lag) > 0 {
			worst, any = float64(lag[len(lag)-1])/second, true
		}
		middle.X, middle.Y = append(middle.X, p.at(i)), append(middle.Y, half)
		most.X, most.Y = append(most.X, p.at(i)), append(most.Y, worst)
		for _, v := range [...]float64{half, worst} {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
		c.Slots = append(c.Slots, plot.Slot{From: p.at(i), To: p.at(i + 1),
			Lines: []string{stretch(p.at(i), p.at(i+1)), "n " + table.Count(int64(len(lag))), "p50 " + latency(half), "max " + latency(worst)},
			Dots:  []plot.Dot{{Color: 1, X: (p.at(i) + p.at(i+1)) / 2, Y: half}, {Color: 2, X: (p.at(i) + p.at(i+1)) / 2, Y: worst}}})
	}
	if any {
		end := p.at(len(p.cohorts))
		middle.X, most.X = append(middle.X, end), append(most.X, end)
		c.Lines = []plot.Line{most, middle}
		c.Y = plot.Decades(low, high)
		c.Y.Format = plot.Duration
	}
	empty := "no request was dispatched"
	if p.c == nil {
		empty = "the summary has no per-request columns (--columns on keeps them)"
	}
	p.add("lag", c, empty)
}

// drawClient draws the CPU of the generator.
func (p *Page) drawClient() {
	c := p.over("Client CPU", "CPU time of the workers over what they may use: mean over workers, and the busiest worker")
	p.lines(c, 1, percent, strand{"client_cpu_max", "busiest worker", 2, false}, strand{"client_cpu", "all workers", 1, false})
	p.add("client_cpu", c, "the run has no client rows with CPU time")
}

// gauges are the series of devices that are drawn.
var gauges = [...]strand{
	{"utilization", "some kernel ran", 0, true}, {"sm_active", "SM active", 1, false}, {"tensor_active", "tensor active", 4, false}, {"dram_active", "DRAM active", 2, false},
}

// drawGPUs draws what the devices did: shares as their mean, power device by device.
func (p *Page) drawGPUs() {
	why := p.s.GPUNote
	if why == "" {
		why = "the gpu streams have no value of this kind"
	}
	busy := p.over("GPU", "shares of time, mean over the devices")
	var mean []strand
	for _, g := range gauges {
		g.id = "gpu_" + g.id
		mean = append(mean, g)
	}
	p.lines(busy, 1, percent, mean...)
	p.add("gpu", busy, why)
	power := p.over("GPU power", "power of each device")
	var each []strand
	for i := range p.s.GPUs {
		each = append(each, strand{fmt.Sprintf("gpu%d_power_w", i), "GPU " + strconv.Itoa(i), 1 + i%(plot.Colors-1), false})
	}
	p.lines(power, 1, func(v float64) string { return plot.Number(v) + " W" }, each...)
	p.add("gpu_power", power, why)
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return table.Percent(v)
}

// latency writes s in ms or s as the tables do.
func latency(s float64) string {
	if math.IsNaN(s) {
		return "–"
	}
	unit, scale := table.Unit("ns", s*second)
	return table.Figure(s*second*scale) + " " + unit
}
